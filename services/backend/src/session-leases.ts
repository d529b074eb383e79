/**
 * Finds sessions that have ended without a report, so that adapters of this process release their state (programs, log levels, subscriptions).
 * A session reports its end, but not after the death of its worker. Then this class finds out which sessions still exist or can
 * still be taken over.
 *
 * A session is released when its record names a worker that has been proven gone for as long as a session may be idle; or when it has no record and every
 * worker has said twice that it does not hold it, or is proven gone. Silence proves nothing.
 */
import {
  askWorker,
  askWorkers,
  BusError,
  PresenceWatch,
  sessionsBucket,
  subjects,
  type Bus,
  type KeyValue,
} from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  askerOf,
  type CallCommand,
  type Presence,
  type SessionKey,
  type SessionRecord,
  type WorkerId,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

/** A call that waits for its place or connection. */
export interface WaitingCall {
  /** The session worker that made it, if another one may continue it. */
  readonly owner: WorkerId | undefined;
  readonly command: Pick<CallCommand, 'exchange' | 'context'>;
}

export interface SessionLeasesOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /** Milliseconds for which a session may be idle, and so another worker may take it over. */
  readonly idleSessionMs: () => number;
  /** Sessions with state. */
  readonly kept: () => ReadonlySet<SessionKey>;
  readonly forget: (session: SessionKey) => void;
  /** Called when a session worker gives its first sign of life. */
  readonly joined: () => void;
}

/** Time between two checks of sessions of dead workers. */
export const lookMs = 60_000;
/** Records that are read at the same time. */
const atOnce = 50;

/** Whether a worker holds a session; `unknown` while a worker that may hold it has neither answered nor is proven gone. */
type Holding = 'held' | 'nobody' | 'unknown';

export class SessionLeases {
  readonly #options: SessionLeasesOptions;
  readonly #workers: PresenceWatch<Presence>;
  #records: KeyValue<SessionRecord> | undefined;
  /** Sessions that may have ended, and since when, on the clock of `performance.now()`. */
  readonly #suspects = new Map<SessionKey, number>();
  #next: Deadline | undefined;
  #isLooking = false;
  /** Whether something has changed that a running look may have passed already. */
  #isDue = false;
  #isStopped = false;

  constructor(options: SessionLeasesOptions) {
    this.#options = options;
    this.#workers = new PresenceWatch<Presence>({
      bus: options.bus,
      clock: options.wheel,
      subject: subjects.presence,
      joined: options.joined,
      gone: () => void this.#look(),
      disturbed: () => void this.#look(),
    });
  }

  async start(): Promise<void> {
    this.#records = await this.#options.bus.keyValue(sessionsBucket);
    await this.#workers.start();
  }

  /** Session workers that are there, or may be. */
  get workers(): readonly WorkerId[] {
    return this.#workers.expected;
  }

  /** Session workers that are gone without having said that they leave. */
  get vanished(): readonly WorkerId[] {
    return this.#workers.vanished;
  }

  /**
   * Whether the session worker that made a call is still there. If it is gone or does not answer, the client gets an unknown outcome, and the call
   * must not be sent any more.
   */
  async isWaitedFor({ owner, command: { exchange, context } }: WaitingCall): Promise<boolean> {
    const worker = owner ?? askerOf(exchange);
    if (worker === undefined) return true;
    const { bus, wheel } = this.#options;
    const asking = { bus, clock: wheel, workers: this.#workers };
    const answer = await askWorker(asking, worker, subjects.sessionFindAt(worker), { key: context.session });
    return answer !== undefined && answer !== 'silence';
  }

  stop(): void {
    this.#isStopped = true;
    this.#workers.stop();
    this.#next?.cancel();
  }

  async #look(): Promise<void> {
    this.#isDue = this.#isLooking;
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { kept, log, wheel } = this.#options;
    const known = kept();
    const sessions = [...known];
    for (const suspect of this.#suspects.keys()) if (!known.has(suspect)) this.#suspects.delete(suspect);
    let isUnsure = false;
    try {
      for (let start = 0; start < sessions.length; start += atOnce) {
        const found = await Promise.all(sessions.slice(start, start + atOnce).map((session) => this.#check(session)));
        isUnsure ||= found.includes('unknown');
      }
    } catch (error) {
      isUnsure = true;
      log.warn({ err: error }, 'whether sessions are still there could not be found out; it is tried again');
    }
    this.#isLooking = false;
    this.#next?.cancel();
    if (this.#isStopped) return;
    if (this.#isDue) void this.#look();
    else if (isUnsure || this.#suspects.size > 0) this.#next = wheel.schedule(lookMs, () => void this.#look());
  }

  async #check(session: SessionKey): Promise<Holding> {
    const record = await this.#records?.get(session).catch(keptByNewer);
    if (record === 'newer') return 'unknown';
    const holding = record === undefined ? await this.#askFor(session) : this.#holdingOf(record.value.worker);
    if (holding === 'held') this.#suspects.delete(session);
    if (holding !== 'nobody') return holding;
    const since = this.#suspects.get(session);
    if (since === undefined) {
      this.#suspects.set(session, performance.now());
    } else if (record === undefined || performance.now() - since >= this.#options.idleSessionMs()) {
      this.#suspects.delete(session);
      this.#options.log.info(
        { session },
        'what was kept for a session is given up: its worker is gone, and nobody has taken it over',
      );
      this.#options.forget(session);
    }
    return holding;
  }

  #holdingOf(worker: WorkerId): Holding {
    const state = this.#workers.state(worker);
    return state === 'alive' ? 'held' : state === 'lost' ? 'nobody' : 'unknown';
  }

  /** Asks the workers about a session without a record, or a subscription of a client without sessions: only its worker knows of it. */
  async #askFor(key: SessionKey): Promise<Holding> {
    const { bus, wheel } = this.#options;
    const asking = { bus, clock: wheel, workers: this.#workers };
    const workers = this.#workers.expected;
    const found = await Promise.all([
      askWorkers(asking, workers, subjects.sessionFindAt, { key }, ({ isHeld }) => isHeld),
      askWorkers(
        asking,
        workers,
        (worker) => subjects.modernHolds(worker),
        { keys: [key] },
        ({ keys }) => keys.includes(key),
      ),
    ]);
    if (found.some((worker) => worker !== undefined && worker !== 'silence')) return 'held';
    return found.includes('silence') || !this.#workers.isSettled ? 'unknown' : 'nobody';
  }
}

/** A record of a newer version cannot be read, but it shows that the session exists. */
function keptByNewer(error: unknown): 'newer' {
  if (error instanceof BusError && error.kind === 'newer-format') return 'newer';
  throw error;
}
