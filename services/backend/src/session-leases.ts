/**
 * Sessions for which adapters of this process keep something: a program, a log level, subscriptions. They say when they end; one whose worker
 * died cannot. When session workers go, it is found out which of the sessions still are somebody's, or may still be taken over.
 *
 * A session is forgotten when its record names a worker that has not been there for as long as a session may be idle, or when there is no
 * record of it and nobody says to hold it, twice. Silence alone proves nothing.
 */
import { PresenceWatch, sessionsBucket, subjects, type Bus, type KeyValue } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { Presence, SessionKey, SessionRecord } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

export interface SessionLeasesOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /** Milliseconds a session may be idle: so long another worker may take it over. */
  readonly idleSessionMs: () => number;
  /** Sessions for which something is kept. */
  readonly kept: () => ReadonlySet<SessionKey>;
  readonly forget: (session: SessionKey) => void;
}

/** Between two looks at sessions of workers that are gone. */
export const lookMs = 60_000;
/** Whoever holds a session has this long to say so; it is asked again before anything follows from silence. */
const answerMs = 2_000;
/** Records read at once. */
const atOnce = 50;

export class SessionLeases {
  readonly #options: SessionLeasesOptions;
  readonly #workers: PresenceWatch<Presence>;
  #records: KeyValue<SessionRecord> | undefined;
  /** Sessions that may be nobody's any more, and since when, on the clock of `performance.now()`. */
  readonly #suspects = new Map<SessionKey, number>();
  #next: Deadline | undefined;
  #isLooking = false;

  constructor(options: SessionLeasesOptions) {
    this.#options = options;
    this.#workers = new PresenceWatch<Presence>({
      bus: options.bus, clock: options.wheel, subject: subjects.presence,
      joined: () => undefined,
      gone: () => void this.#look(),
      disturbed: () => void this.#look(),
    });
  }

  async start(): Promise<void> {
    this.#records = await this.#options.bus.keyValue(sessionsBucket);
    await this.#workers.start();
  }

  stop(): void {
    this.#workers.stop();
    this.#next?.cancel();
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { kept, log, wheel } = this.#options;
    const sessions = [...kept()];
    for (const suspect of this.#suspects.keys()) if (!sessions.includes(suspect)) this.#suspects.delete(suspect);
    try {
      for (let start = 0; start < sessions.length; start += atOnce) await Promise.all(sessions.slice(start, start + atOnce).map((session) => this.#check(session)));
    } catch (error) {
      log.warn({ err: error }, 'whether sessions are still there could not be found out; it is tried again');
    }
    this.#isLooking = false;
    this.#next?.cancel();
    if (this.#suspects.size > 0) this.#next = wheel.schedule(lookMs, () => void this.#look());
  }

  async #check(session: SessionKey): Promise<void> {
    const record = await this.#records?.get(session);
    const isHeld = record === undefined ? await this.#isHeld(session) : this.#workers.alive.includes(record.value.worker);
    if (isHeld) {
      this.#suspects.delete(session);
      return;
    }
    const since = this.#suspects.get(session);
    if (since === undefined) {
      this.#suspects.set(session, performance.now());
    } else if (record === undefined || performance.now() - since >= this.#options.idleSessionMs()) {
      this.#suspects.delete(session);
      this.#options.log.info({ session }, 'what was kept for a session is given up: its worker is gone, and nobody has taken it over');
      this.#options.forget(session);
    }
  }

  /** A session that could not be recorded, or a subscription of a client without sessions: only its worker knows of it. */
  #isHeld(key: SessionKey): Promise<boolean> {
    const { bus, wheel } = this.#options;
    return new Promise((resolve) => {
      const finish = (isHeld: boolean): void => {
        limit.cancel();
        for (const request of pending) request.close();
        resolve(isHeld);
      };
      const limit = wheel.schedule(answerMs, () => finish(false));
      const pending = [
        bus.request(subjects.sessionFind, { key }, { reply: () => finish(true), failed: () => undefined }),
        bus.request(subjects.modernHolds(undefined), { keys: [key] }, { reply: ({ keys }) => (keys.includes(key) ? finish(true) : undefined), failed: () => undefined }),
      ];
    });
  }
}
