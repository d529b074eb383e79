/**
 * The records from which sessions are restored, one key per session. A worker writes only those of its own sessions, each by compare-and-set on its
 * last write: a conflict means that another worker holds the session now. A record that cannot be written, because the store is full or has no
 * leader, is written later; the session goes on meanwhile.
 *
 * A missing record alone proves nothing. A deleted one was deleted by the worker that held the session at that time; one that has
 * expired, because it reached the bucket's age or the store was lost, is written again.
 */
import { isConflict, type KeyValue } from '@omnibus/bus';
import { backoffMs, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';
import type { SessionKey, SessionRecord, WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

interface Held {
  /** Revision of the last write; undefined before the first. */
  revision: number | undefined;
  /** The record that is to be written next. */
  next: SessionRecord | undefined;
  /** The record that was written last, or is being written; it is written again if the store has lost it. */
  latest: SessionRecord;
  /** When `latest` was written. */
  writtenAt: number;
  /** Whether it must be checked that this worker still holds the session. */
  isDoubtful: boolean;
  /** The work on this record; further work waits for it. */
  working: Promise<void> | undefined;
  /** The next attempt after a failed one. */
  retry: Deadline | undefined;
  failures: number;
  /** Set when the session has ended and its record must be removed. */
  isEnded: boolean;
}

/** A record, as the worker that held the session wrote it. */
export interface Recorded {
  readonly value: SessionRecord;
  readonly revision: number;
}

/** A takeover, and the search for a worker that holds the session. The first one to end decides, and sets this. */
export interface Contest {
  isDecided: boolean;
}

/** Milliseconds after which a takeover is written again while the store does not answer: at first, and at most. NATS may have lost it with a node. */
const takeAgainMs = { first: 100, most: 500 };
/**
 * Milliseconds that a client waits for its session to be recorded; after that it is recorded later, and until then it ends with its worker. A store of several
 * nodes has no leader for some seconds when it loses one. A store that is known to fail is not waited for so long.
 */
const createMs = { working: 5_000, failing: 1_000 };
/** Pauses between two attempts while the store fails. */
const retryMs = { minMs: 1_000, maxMs: 30_000 };
/** Part of the bucket's age after which a record is written again, long before it expires; records are checked twice as often. */
const refreshAt = 1 / 4;
/** Records that are written again at a time, so that old sessions are spread out. */
const refreshedAtOnce = 50;

export interface SessionRecordsOptions {
  readonly records: KeyValue<SessionRecord>;
  readonly worker: WorkerId;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /** Age at which the bucket drops a record; undefined where it drops none. */
  readonly maxAgeMs: number | undefined;
  /** Called when another worker holds the session now, or has ended it. */
  readonly taken: (key: SessionKey) => void;
}

export class SessionRecords {
  readonly #options: SessionRecordsOptions;
  readonly #held = new Map<SessionKey, Held>();
  #refresh: Deadline | undefined;
  /** Whether the last attempt of a record failed. */
  #isFailing = false;

  constructor(options: SessionRecordsOptions) {
    this.#options = options;
    this.#refreshLater();
  }

  stop(): void {
    this.#refresh?.cancel();
  }

  /** Records a new session. Resolves when it is written, or after `createMs`. */
  create(key: SessionKey, record: SessionRecord): Promise<void> {
    const held = this.#hold(key, record, undefined);
    held.next = record;
    const written = this.#work(key, held);
    return new Promise((resolve) => {
      const limit = this.#options.wheel.schedule(this.#isFailing ? createMs.failing : createMs.working, resolve);
      void written.then(() => {
        limit.cancel();
        resolve();
      });
    });
  }

  save(key: SessionKey, record: SessionRecord): void {
    const held = this.#held.get(key);
    if (held === undefined || held.isEnded) return;
    held.next = record;
    // While the store fails, one attempt at a time is enough.
    if (held.retry === undefined) void this.#work(key, held);
  }

  /** Checks whether this worker still holds the session, and repeats that until it is known. Resolves after the first attempt. */
  verify(key: SessionKey): Promise<void> {
    const held = this.#held.get(key);
    if (held === undefined || held.isEnded) return Promise.resolve();
    held.isDoubtful = true;
    return this.#work(key, held);
  }

  /** Whether another worker may hold the session, which is not found out yet. */
  isDoubtful(key: SessionKey): boolean {
    return this.#held.get(key)?.isDoubtful === true;
  }

  /** Whether the store has all of a session, so that another worker can continue it. */
  isWritten(key: SessionKey): boolean {
    const held = this.#held.get(key);
    return held?.revision !== undefined && held.working === undefined && held.retry === undefined;
  }

  /** Removes the record of a session that has ended, unless another worker holds the session by now. */
  remove(key: SessionKey): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    held.isEnded = true;
    if (held.retry === undefined) void this.#work(key, held);
  }

  /** Gives up a session that goes on at another worker. Resolves when its record is written, as far as that is possible. */
  async release(key: SessionKey): Promise<void> {
    const held = this.#held.get(key);
    await held?.working;
    held?.retry?.cancel();
    this.#held.delete(key);
  }

  /** The record of a session; undefined when there is none. */
  read(key: SessionKey): Promise<Recorded | undefined> {
    return this.#options.records.get(key);
  }

  /** Whether a session has ended: the worker that held it has removed its record. */
  hasEnded(key: SessionKey): Promise<boolean> {
    return this.#options.records.wasDeleted(key);
  }

  /**
   * Takes over a session.
   * @param recorded its record, as it was read.
   * @param contest if it is decided before the store answers, the record is written as it was.
   * @returns false when another worker was faster.
   */
  async adopt(
    key: SessionKey,
    { value, revision }: Recorded,
    contest: Contest = { isDecided: false },
  ): Promise<boolean> {
    const { records, worker } = this.#options;
    const record = { ...value, worker };
    const taken = await this.#take(key, record, revision, contest);
    if (taken === undefined) return false;
    if (contest.isDecided) {
      await records.update(key, value, taken);
      return false;
    }
    contest.isDecided = true;
    this.#hold(key, record, taken);
    return true;
  }

  /**
   * Writes the record of a session that this worker takes over, again and again until the store answers. Only one of these writes can succeed.
   * @returns the revision; undefined when another worker was faster.
   */
  async #take(key: SessionKey, record: SessionRecord, from: number, contest: Contest): Promise<number | undefined> {
    const { records, worker, wheel } = this.#options;
    const sent: Promise<number | undefined>[] = [];
    const send = async (earlier: Promise<number | undefined> | undefined): Promise<number | undefined> => {
      try {
        return await records.update(key, record, from);
      } catch (error) {
        if (!isConflict(error)) throw error;
        const now = await records.get(key);
        // The store has an earlier one, and is still copying it to its nodes.
        if (now?.revision === from) return earlier;
        return now?.value.worker === worker ? now.revision : undefined;
      }
    };
    for (let waitMs = takeAgainMs.first; ; waitMs = Math.min(2 * waitMs, takeAgainMs.most)) {
      if (sent.length === 0 || !contest.isDecided) sent.push(send(sent[0]));
      const answer = Promise.race(sent);
      if (await wheel.isDoneWithin(waitMs, answer)) return answer;
    }
  }

  #hold(key: SessionKey, latest: SessionRecord, revision: number | undefined): Held {
    this.#held.get(key)?.retry?.cancel();
    const held: Held = {
      revision,
      next: undefined,
      latest,
      writtenAt: performance.now(),
      isDoubtful: false,
      working: undefined,
      retry: undefined,
      failures: 0,
      isEnded: false,
    };
    this.#held.set(key, held);
    return held;
  }

  #work(key: SessionKey, held: Held): Promise<void> {
    held.working ??= this.#workOff(key, held);
    return held.working;
  }

  /** Does all pending work on a record, or schedules it for later. */
  async #workOff(key: SessionKey, held: Held): Promise<void> {
    await Promise.resolve(); // `working` must be set before this can end.
    held.retry?.cancel();
    held.retry = undefined;
    try {
      while (this.#held.get(key) === held) {
        if (held.isEnded) await this.#delete(key, held);
        else if (held.isDoubtful) await this.#lookUp(key, held);
        else if (held.next !== undefined) await this.#write(key, held, held.next);
        else return;
        held.failures = 0;
        this.#isFailing = false;
      }
    } catch (error) {
      this.#isFailing = true;
      if (this.#held.get(key) !== held) return;
      const { log, wheel } = this.#options;
      const what = held.isEnded
        ? 'the record of an ended session could not be removed'
        : held.isDoubtful
          ? 'whether a session is still held here could not be found out'
          : 'a session could not be recorded; until it is, it will not outlive this worker';
      log.error({ err: error, session: key, failures: held.failures }, what);
      held.retry = wheel.schedule(backoffMs(held.failures, retryMs, Math.random()), () => void this.#work(key, held));
      held.failures += 1;
    } finally {
      held.working = undefined;
    }
  }

  async #write(key: SessionKey, held: Held, record: SessionRecord): Promise<void> {
    const { records } = this.#options;
    held.next = undefined;
    held.latest = record;
    held.writtenAt = performance.now();
    try {
      held.revision =
        held.revision === undefined
          ? await records.create(key, record)
          : await records.update(key, record, held.revision);
    } catch (error) {
      held.next ??= record;
      // Another worker's, a forgotten one, or one of a write that timed out and succeeded.
      if (!isConflict(error)) throw error;
      held.isDoubtful = true;
    }
  }

  async #delete(key: SessionKey, held: Held): Promise<void> {
    try {
      if (held.revision !== undefined) await this.#options.records.delete(key, held.revision);
      this.#held.delete(key);
    } catch (error) {
      if (!isConflict(error)) throw error;
      const entry = await this.#options.records.get(key);
      // Only its own worker removes it.
      if (entry?.value.worker === this.#options.worker) held.revision = entry.revision;
      else this.#held.delete(key);
    }
  }

  async #lookUp(key: SessionKey, held: Held): Promise<void> {
    const { records, worker, taken } = this.#options;
    const entry = await records.get(key);
    if (this.#held.get(key) !== held) return;
    let isOurs = entry?.value.worker === worker;
    if (entry !== undefined) held.revision = entry.revision;
    else if (held.revision === undefined) isOurs = true; // No record was written yet.
    else isOurs = await this.#restore(key, held);
    if (this.#held.get(key) !== held) return;
    held.isDoubtful = false;
    if (isOurs) return;
    this.#held.delete(key);
    taken(key);
  }

  /** Writes a missing record again. @returns false when it was deleted: another worker held the session meanwhile, and ended it. */
  async #restore(key: SessionKey, held: Held): Promise<boolean> {
    try {
      held.revision = await this.#options.records.restore(key, held.next ?? held.latest);
      held.writtenAt = performance.now();
      held.next = undefined;
      return true;
    } catch (error) {
      if (!isConflict(error)) throw error;
      // Deleted, or being written by another worker.
      const entry = await this.#options.records.get(key);
      if (entry?.value.worker !== this.#options.worker) return false;
      held.revision = entry.revision;
      return true;
    }
  }

  /** Schedules the next check for old records. A record that expires would be missing when its worker goes, and the session be lost. */
  #refreshLater(): void {
    const { maxAgeMs, wheel } = this.#options;
    if (maxAgeMs === undefined) return;
    this.#refresh = wheel.schedule((maxAgeMs * refreshAt) / 2, () => {
      void this.#refreshAll(performance.now() - maxAgeMs * refreshAt).finally(() => this.#refreshLater());
    });
  }

  async #refreshAll(writtenBefore: number): Promise<void> {
    const old = [...this.#held].filter(([, { writtenAt, isEnded }]) => !isEnded && writtenAt < writtenBefore);
    for (let start = 0; start < old.length; start += refreshedAtOnce) {
      await Promise.all(
        old.slice(start, start + refreshedAtOnce).map(async ([key, held]) => {
          held.next ??= held.latest;
          if (held.retry === undefined) await this.#work(key, held);
        }),
      );
    }
  }
}
