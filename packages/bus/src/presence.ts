/**
 * Who is alive. Workers give a sign every `presenceMs`; one whose signs stay out is gone, and so is one that says that it
 * leaves. Who was cut off itself hears nobody, which says nothing about the others. One that speaks another format is not sent anything, and not
 * taken for gone either: what it holds is its own.
 *
 *            missed signs             as many again
 *   alive -----------------> silent ----------------> lost
 *      ^         a sign         |
 *      +------------------------+
 */
import { canTalk, ownFormats, presenceMs, type Formats, type WorkerId } from '@omnibus/protocol';
import type { Bus, Subscription } from './bus.ts';
import type { Subject } from './subject.ts';

export interface Sign {
  readonly worker: WorkerId;
  /** What it speaks; left out before 0.2.0. `Heartbeat` puts it there. */
  readonly formats?: Formats;
  /** Where it runs; `Heartbeat` puts it there. */
  readonly region?: string;
  /** This is the worker's last sign. */
  readonly isLeaving: boolean;
  /** How often its bus was gone: what it sent or was sent meanwhile may be lost. */
  readonly reconnects: number;
}

/** What runs things later; a `DeadlineWheel`. */
interface Clock {
  schedule(delayMs: number, run: () => void): { cancel(): void };
}

interface PresenceOptions<S extends Sign> {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly subject: Subject<S>;
}

/** `silent`: what is sent to it may be lost. `lost`: others may take over what it held. */
type WorkerState = 'alive' | 'silent' | 'lost';

/** A worker that was not heard of for so many signs is gone. */
const missedSigns = 4;
const silenceMs = presenceMs * missedSigns;
/** What a worker held that was silent for so long may be taken over, whatever NATS says of it. */
const lostMs = 2 * silenceMs;
/** How long it is remembered that one was there. */
const missingMs = 60_000;

export interface PresenceWatchOptions<S extends Sign> extends PresenceOptions<S> {
  readonly joined: (sign: S) => void;
  /** Each sign, with the one before it. */
  readonly heard?: (sign: S, before: S | undefined) => void;
  /** Workers left in order, or were not heard of any more. */
  readonly gone: (signs: readonly S[], how: 'left' | 'lost') => void;
  /** Again and again while they are remembered: what was sent to one that is silent has vanished. */
  readonly missing?: (signs: readonly S[]) => void;
  /** The bus of this process or of a worker was gone, and is back: what was on its way meanwhile may be lost with it. */
  readonly disturbed: () => void;
}

export class PresenceWatch<S extends Sign> {
  readonly #options: PresenceWatchOptions<S>;
  readonly #workers = new Map<WorkerId, { readonly sign: S; heardAt: number }>();
  /** Workers that did not say that they leave. */
  readonly #missing = new Map<WorkerId, { readonly sign: S; heardAt: number }>();
  /** Workers that are there and speak something else, and when they were heard of last. */
  readonly #foreign = new Map<WorkerId, number>();
  /** Workers that are there. */
  #alive: readonly WorkerId[] = [];
  /** Those of `#alive` that are in this region; undefined when that has to be found out anew. */
  #near: readonly WorkerId[] | undefined;
  #startedAt: number | undefined;
  /** When any sign of anybody was heard last. */
  #lastHeardAt = -Infinity;
  #subscription: Subscription | undefined;
  #sweep: { cancel(): void } | undefined;
  #reconnects = 0;
  /** Who waits for one of this region. */
  readonly #waiting = new Set<() => void>();

  constructor(options: PresenceWatchOptions<S>) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#reconnects = this.#options.bus.reconnects;
    this.#startedAt = performance.now();
    this.#subscription = await this.#options.bus.subscribe(this.#options.subject, (sign) => this.#hear(sign));
    this.#sweepLater();
  }

  stop(): void {
    this.#subscription?.close();
    this.#sweep?.cancel();
  }

  /** The latest sign of each worker that is there. */
  get signs(): readonly S[] {
    return [...this.#workers.values()].map(({ sign }) => sign);
  }

  /** Who is there; nobody where no signs are watched. */
  get alive(): readonly WorkerId[] {
    return this.#alive;
  }

  /** Of the workers that are there, those of this region; all of them when there is none in it, or the configuration names no region. */
  get near(): readonly WorkerId[] {
    this.#near ??= this.nearest(this.#alive);
    return this.#near;
  }

  /**
   * Resolves when one of this region is there, or after the time of two signs. Right after the start only workers of other regions may have been heard
   * of, and what is begun at one of those stays there. Without a region there is nothing to wait for.
   */
  async heardNear(): Promise<void> {
    const { bus: { region }, clock } = this.#options;
    if (region === undefined || this.#alive.some((worker) => this.#isNear(worker))) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const limit = clock.schedule(2 * presenceMs, resolve);
    await promise;
    limit.cancel();
    this.#waiting.delete(resolve);
  }

  #isNear(worker: WorkerId): boolean {
    return this.#workers.get(worker)?.sign.region === this.#options.bus.region;
  }

  /** Of these workers, those of this region; all of them when there is none in it, or the configuration names no region. */
  nearest(workers: readonly WorkerId[]): readonly WorkerId[] {
    const { region } = this.#options.bus;
    if (region === undefined) return workers;
    const near = workers.filter((worker) => this.#isNear(worker));
    return near.length === 0 ? workers : near;
  }

  /** Who is there or may be: silence of less than `lostMs` proves nothing. */
  get expected(): readonly WorkerId[] {
    const now = performance.now();
    const unsure = [...[...this.#missing].map(([worker, { heardAt }]) => [worker, heardAt] as const), ...this.#foreign];
    return [...this.#alive, ...unsure.filter(([, heardAt]) => now - heardAt <= lostMs).map(([worker]) => worker)];
  }

  /** Whoever is there was heard of: nobody is expected besides those that `expected` names. */
  get isSettled(): boolean {
    const now = performance.now();
    return this.#startedAt !== undefined && now - this.#startedAt > lostMs && this.#options.bus.connected && !this.isBehind && !this.#isDeaf(now);
  }

  /** Where no signs are watched, everybody is there. */
  state(worker: WorkerId): WorkerState {
    if (this.#startedAt === undefined || this.#workers.has(worker)) return 'alive';
    const now = performance.now();
    if (!this.#options.bus.connected || this.#isDeaf(now)) return 'silent';
    const heardAt = this.#missing.get(worker)?.heardAt ?? this.#foreign.get(worker);
    if (heardAt !== undefined) return now - heardAt > lostMs ? 'lost' : 'silent';
    // It left, or was never heard of: right after the start that says nothing.
    return now - this.#startedAt > lostMs ? 'lost' : 'silent';
  }

  /** Nobody is heard of. It may be us who is cut off. */
  #isDeaf(now: number): boolean {
    return now - this.#lastHeardAt > silenceMs;
  }

  /** The bus was gone, and nobody was told of it yet. */
  get isBehind(): boolean {
    return this.#options.bus.reconnects !== this.#reconnects;
  }

  #hear(sign: S): void {
    const now = performance.now();
    if (this.#isDeaf(now)) for (const heard of [...this.#workers.values(), ...this.#missing.values()]) heard.heardAt = now;
    this.#lastHeardAt = now;
    if (!canTalk(sign.formats)) {
      if (sign.isLeaving) this.#foreign.delete(sign.worker);
      else this.#foreign.set(sign.worker, now);
      return;
    }
    const wasMissing = this.#missing.delete(sign.worker);
    const before = this.#workers.get(sign.worker);
    const isKnown = this.#workers.delete(sign.worker);
    if (!sign.isLeaving) this.#workers.set(sign.worker, { sign, heardAt: now });
    this.#options.heard?.(sign, before?.sign);
    if (isKnown === sign.isLeaving) this.#setAlive();
    if (sign.isLeaving && isKnown) this.#options.gone([sign], 'left');
    else if (!sign.isLeaving && !isKnown) this.#options.joined(sign);
    if (wasMissing || (before !== undefined && before.sign.reconnects !== sign.reconnects)) this.#options.disturbed();
  }

  #setAlive(): void {
    this.#alive = [...this.#workers.keys()];
    this.#near = undefined;
    if (this.#waiting.size > 0 && this.#alive.some((worker) => this.#isNear(worker))) for (const heard of this.#waiting) heard();
  }

  #sweepLater(): void {
    const { bus, clock, gone, missing, disturbed } = this.#options;
    this.#sweep = clock.schedule(presenceMs, () => {
      const now = performance.now();
      if (!bus.connected) for (const known of this.#workers.values()) known.heardAt = now;
      if (this.isBehind) {
        this.#reconnects = bus.reconnects;
        disturbed();
      }
      const silent = [...this.#workers.values()].filter(({ heardAt }) => now - heardAt > silenceMs);
      for (const { sign, heardAt } of silent) {
        this.#workers.delete(sign.worker);
        this.#missing.set(sign.worker, { sign, heardAt });
      }
      if (silent.length > 0) this.#setAlive();
      for (const [worker, { heardAt }] of this.#missing) if (now - heardAt > missingMs) this.#missing.delete(worker);
      for (const [worker, heardAt] of this.#foreign) if (now - heardAt > missingMs) this.#foreign.delete(worker);
      if (silent.length > 0) gone(silent.map(({ sign }) => sign), 'lost');
      else if (this.#missing.size > 0) missing?.([...this.#missing.values()].map(({ sign }) => sign));
      this.#sweepLater();
    });
  }
}

export interface HeartbeatOptions<S extends Sign> extends PresenceOptions<S> {
  readonly sign: (isLeaving: boolean) => S;
  /** Others may have taken this worker for gone meanwhile: it was cut off, or did not run. */
  readonly returned?: () => void;
}

/** A worker's signs of life. It subscribes to its own: a gap in them means that this worker was cut off or did not run. */
export class Heartbeat<S extends Sign> {
  readonly #options: HeartbeatOptions<S>;
  #subscription: Subscription | undefined;
  #next: { cancel(): void } | undefined;
  #heardAt = 0;
  #reconnects = 0;

  constructor(options: HeartbeatOptions<S>) {
    this.#options = options;
  }

  /** In one process nobody dies alone, and no sign is given. */
  async start(): Promise<void> {
    const { bus, subject, sign, returned } = this.#options;
    if (!bus.isShared) return;
    const { worker } = sign(false);
    this.#heardAt = performance.now();
    this.#subscription = await bus.subscribe(subject, (heard) => {
      if (heard.worker !== worker) return;
      const silentMs = performance.now() - this.#heardAt;
      this.#heardAt = performance.now();
      const wasAway = silentMs > silenceMs || bus.reconnects !== this.#reconnects;
      this.#reconnects = bus.reconnects;
      if (wasAway) returned?.();
    });
    this.#beat();
  }

  /** The last sign. */
  stop(): void {
    const { bus, subject, sign } = this.#options;
    this.#next?.cancel();
    this.#subscription?.close();
    if (bus.isShared && bus.connected) bus.publish(subject, spoken(sign(true), bus));
  }

  #beat(): void {
    const { bus, clock, subject, sign } = this.#options;
    if (bus.connected) bus.publish(subject, spoken(sign(false), bus));
    this.#next = clock.schedule(presenceMs, () => this.#beat());
  }
}

function spoken<S extends Sign>(sign: S, { region }: Bus): S {
  return { ...sign, formats: ownFormats, ...(region === undefined ? {} : { region }) };
}
