/** Delivers requests from this edge to session workers: it knows the live workers, the owner of each session, and the requests in flight. */
import { Heartbeat, PresenceWatch, subjects, type Bus, type Subscription } from '@omnibus/bus';
import { DeadlineWheel, Drain, type Deadline } from '@omnibus/lifecycle';
import {
  newWorkerId,
  type BackendPresence,
  type OpenCommand,
  type OpenReply,
  type Presence,
  type WorkerId,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { EdgeWatcher } from '../requests/edge-watcher.ts';
import { Connection } from './connection.ts';
import { firstLookMs } from './in-flight.ts';
import { openSession } from './open-session.ts';
import { doubtMs, Pulse, recentLookMs } from './pulse.ts';
import { SessionDelivery } from './session-delivery.ts';
import { StatelessDelivery } from './stateless-delivery.ts';

/**
 * Milliseconds of one tick of the clock by which the edge notices that a worker is gone, and finds the next one.
 * A tick of the common clock is as long as the waits here, and would double each of them.
 */
const tickMs = 5;

export interface DeliveryOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly watcher?: EdgeWatcher | undefined;
}

export class Delivery {
  /** Delivery of requests that belong to a session. */
  readonly sessions: SessionDelivery;
  /** Delivery of requests without a session (2026-07-28). */
  readonly stateless: StatelessDelivery;
  readonly #options: DeliveryOptions;
  readonly #workers: PresenceWatch<Presence>;
  readonly #backends: PresenceWatch<BackendPresence>;
  readonly #pulse: Pulse;
  readonly #soon: DeadlineWheel;
  readonly #connection: Connection;
  /** The next look after open commands; undefined while there are none. */
  #look: Deadline | undefined;
  /** Whether that look is the one that a new command needs. */
  #looksSoon = false;
  #lookedAt = performance.now();
  /** Name by which session workers know this edge: when it is gone, they detach the streams that it reads. */
  readonly self = newWorkerId('edge');
  readonly #heartbeat: Heartbeat<object>;
  readonly #drain: Drain;
  #readers: Subscription | undefined;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    const { bus, wheel, log } = options;
    this.#soon = new DeadlineWheel({ tickMs, onFault: (error) => log.error({ err: error }, 'a look failed') });
    this.#drain = new Drain(wheel);
    const drain = this.#drain;
    this.#workers = new PresenceWatch({
      bus,
      clock: wheel,
      subject: subjects.presence,
      joined: () => undefined,
      gone: (signs, how) => {
        const workers = new Set(signs.map(({ worker }) => worker));
        if (how === 'lost') log.warn({ workers: [...workers] }, 'session workers are gone');
        this.sessions.gone(workers);
        this.stateless.lookAfter(({ sentTo }) => sentTo === undefined || workers.has(sentTo));
      },
      disturbed: (worker) => this.#lookAfter(worker),
    });
    const nothing = (): void => undefined;
    this.#backends = new PresenceWatch({
      bus,
      clock: wheel,
      subject: subjects.backendPresence,
      joined: nothing,
      gone: nothing,
      disturbed: nothing,
    });
    const connection = new Connection(bus, this.#workers);
    this.#connection = connection;
    const shared = { connection, soon: this.#soon, drain, workers: this.#workers, backends: this.#backends };
    const parts = { ...options, ...shared, accepted: bus.isShared ? () => this.#lookSoon() : undefined };
    this.sessions = new SessionDelivery({ ...parts, edge: bus.isShared ? this.self : undefined });
    this.stateless = new StatelessDelivery(parts);
    this.#pulse = new Pulse({
      bus,
      wheel: this.#soon,
      connection,
      acceptedSince: (since) => [...this.sessions.acceptedSince(since), ...this.stateless.acceptedSince(since)],
      gone: (worker) => {
        log.info({ worker }, 'a session worker does not listen at NATS any more: its commands go to the next one');
        this.sessions.unheard(worker);
        this.stateless.unheard(worker);
      },
    });
    this.#heartbeat = new Heartbeat<object>({
      bus,
      clock: wheel,
      subject: subjects.edgePresence,
      sign: (isLeaving) => ({ worker: this.self, isLeaving, reconnects: bus.reconnects }),
      // Workers may have detached the streams that are read here.
      returned: () => this.#lookAfter(undefined),
    });
  }

  /** @param worker whose messages may be lost; undefined: those of all. */
  #lookAfter(worker: WorkerId | undefined): void {
    this.sessions.disturbed(worker);
    this.stateless.lookAfter(({ sentTo }) => worker === undefined || sentTo === undefined || sentTo === worker);
  }

  async start(): Promise<void> {
    const { bus } = this.#options;
    // In one process no part dies alone.
    if (!bus.isShared) return;
    this.#readers = await bus.subscribe(subjects.edgeReaders(this.self), ({ readers }, reply) => {
      const read = this.sessions.streams;
      reply({ readers: readers.filter((reader) => read.has(reader)) });
    });
    await this.#workers.start();
    await this.#backends.start();
    await this.#heartbeat.start();
    await this.#workers.heardNear();
  }

  /** A killed worker is known to NATS at once, and by missing signs of life only after seconds: so requests that wait are asked after. */
  #lookSoon(): void {
    if (!this.#looksSoon) this.#lookAfterMs(doubtMs);
  }

  #lookAfterMs(delayMs: number): void {
    this.#look?.cancel();
    this.#looksSoon = delayMs !== firstLookMs;
    this.#look = this.#soon.schedule(delayMs, () => this.#lookNow());
  }

  /**
   * Looks after open commands, and looks again: often while one is recent, seldom while requests wait.
   * While clients only read streams of sessions, no look is due.
   */
  #lookNow(): void {
    this.#look = undefined;
    this.#looksSoon = false;
    let isRecent = false;
    try {
      isRecent = this.#pulse.look();
      if (performance.now() - this.#lookedAt >= firstLookMs) {
        this.#lookedAt = performance.now();
        this.sessions.look();
        this.stateless.look();
      }
    } finally {
      // A look that fails is not the last one.
      if (isRecent) this.#lookAfterMs(recentLookMs);
      else if (!this.#looksSoon && this.sessions.asked + this.stateless.waiting > 0) this.#lookAfterMs(firstLookMs);
    }
  }

  stop(): void {
    this.#look?.cancel();
    this.#connection.close();
    this.#backends.stop();
    this.#workers.stop();
    this.#heartbeat.stop();
    this.#readers?.close();
  }

  /** Workers that are there or may be. */
  get sessionWorkers(): readonly WorkerId[] {
    return this.#workers.expected;
  }

  /** Number of open commands and requests. */
  get waiting(): number {
    return this.sessions.waiting + this.stateless.waiting;
  }

  /** Number of requests that wait for their answer, not counting streams, which stay open. */
  get asked(): number {
    return this.sessions.asked + this.stateless.asked;
  }

  /** Resolves when no request waits for its answer, or after the limit. @param limitMs milliseconds. */
  drained(limitMs: number): Promise<void> {
    return this.#drain.until(() => this.asked === 0, limitMs);
  }

  /** Opens a session at any worker. */
  open(command: OpenCommand, answer: (reply: OpenReply) => void): void {
    const shared = { soon: this.#soon, workers: this.#workers, connection: this.#connection };
    openSession({ ...this.#options, ...shared }, command, answer);
  }
}
