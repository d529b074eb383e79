/**
 * The records sessions are revived from, one key a session. A worker writes those of its own sessions only, each write on
 * top of its last: one that fails because another worker wrote says that the session is that one's now. A record that cannot
 * be written, because the store is full or has no leader, is written later; the session goes on meanwhile.
 */
import { BusError, type KeyValue } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { SessionKey, SessionRecord, WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

interface Held {
  /** Undefined before the first write. */
  revision: number | undefined;
  /** What is to be written next. */
  next: SessionRecord | undefined;
  /** Writes of one record follow each other. */
  writing: Promise<void> | undefined;
}

/** As the worker wrote it that held the session then. */
interface Recorded {
  readonly value: SessionRecord;
  readonly revision: number;
}

/** A client does not wait longer than this for its session to be recorded. */
const createMs = 1_000;
const retryMs = 2_000;

export interface SessionRecordsOptions {
  readonly records: KeyValue<SessionRecord>;
  readonly worker: WorkerId;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /** The session is another worker's now. */
  readonly taken: (key: SessionKey) => void;
}

export class SessionRecords {
  readonly #options: SessionRecordsOptions;
  readonly #held = new Map<SessionKey, Held>();

  constructor(options: SessionRecordsOptions) {
    this.#options = options;
  }

  /** Resolves when it is written, or when the client is not to wait longer for that. */
  create(key: SessionKey, record: SessionRecord): Promise<void> {
    const held: Held = { revision: undefined, next: record, writing: undefined };
    this.#held.set(key, held);
    const written = this.#write(key, held);
    return new Promise((resolve) => {
      const limit = this.#options.wheel.schedule(createMs, resolve);
      void written.then(() => {
        limit.cancel();
        resolve();
      });
    });
  }

  save(key: SessionKey, record: SessionRecord): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    held.next = record;
    void this.#write(key, held);
  }

  /** Finds out whether the session is still ours. */
  async verify(key: SessionKey): Promise<void> {
    const held = this.#held.get(key);
    await held?.writing;
    try {
      if (held === undefined || held.revision === undefined || this.#held.get(key) !== held) return;
      await this.#lookUp(key, held);
    } catch (error) {
      this.#options.log.warn({ err: error, session: key }, 'whether a session is still held here could not be found out');
    }
  }

  /** The session has ended. */
  remove(key: SessionKey): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#held.delete(key);
    void (held.writing ?? Promise.resolve()).then(() => this.#options.records.delete(key)).catch((error: unknown) => this.#options.log.error({ err: error, session: key }, 'the record of an ended session could not be removed'));
  }

  /** The session goes on elsewhere. Resolves when what can be written is. */
  async release(key: SessionKey): Promise<void> {
    const held = this.#held.get(key);
    await held?.writing;
    this.#held.delete(key);
  }

  /** What is recorded of a session, and by whom; undefined when there is no such session. */
  read(key: SessionKey): Promise<Recorded | undefined> {
    return this.#options.records.get(key);
  }

  /**
   * Takes over a session.
   * @param recorded what is on record of it.
   * @returns false when another worker was faster.
   */
  async adopt(key: SessionKey, { value, revision }: Recorded): Promise<boolean> {
    const { records, worker } = this.#options;
    try {
      this.#held.set(key, { revision: await records.update(key, { ...value, worker }, revision), next: undefined, writing: undefined });
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  #write(key: SessionKey, held: Held): Promise<void> {
    held.writing ??= this.#writeAll(key, held).finally(() => {
      held.writing = undefined;
    });
    return held.writing;
  }

  async #writeAll(key: SessionKey, held: Held): Promise<void> {
    const { records, wheel, log } = this.#options;
    while (held.next !== undefined && this.#held.get(key) === held) {
      const record = held.next;
      held.next = undefined;
      try {
        held.revision = held.revision === undefined ? await records.create(key, record) : await records.update(key, record, held.revision);
      } catch (error) {
        held.next ??= record;
        if (isConflict(error) && await this.#isOurs(key, held)) continue;
        if (this.#held.get(key) !== held) return;
        log.error({ err: error, session: key }, 'a session could not be recorded; until it is, it will not outlive this worker');
        wheel.schedule(retryMs, () => void this.#write(key, held));
        return;
      }
    }
  }

  /** A write that was given up may have been done all the same. */
  async #isOurs(key: SessionKey, held: Held): Promise<boolean> {
    try {
      return await this.#lookUp(key, held);
    } catch {
      return false; // The write is tried again later, and so is this.
    }
  }

  async #lookUp(key: SessionKey, held: Held): Promise<boolean> {
    const entry = await this.#options.records.get(key);
    if (this.#held.get(key) !== held) return false;
    if (entry?.value.worker === this.#options.worker) {
      held.revision = entry.revision;
      return true;
    }
    this.#held.delete(key);
    this.#options.taken(key);
    return false;
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof BusError && error.kind === 'revision-conflict';
}
