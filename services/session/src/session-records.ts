/**
 * The records sessions are revived from, one key a session. A worker writes those of its own sessions only, each write on
 * top of its last: one that fails because somebody else wrote says that the session is another worker's now.
 */
import { BusError, type KeyValue } from '@omnibus/bus';
import type { SessionKey, SessionRecord, WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

interface Held {
  revision: number;
  /** Writes of one record follow each other. */
  writing: Promise<void>;
}

export class SessionRecords {
  readonly #records: KeyValue<SessionRecord>;
  readonly #log: Logger;
  readonly #held = new Map<SessionKey, Held>();
  readonly #onTaken: (key: SessionKey) => void;

  /** @param onTaken the session is another worker's now. */
  constructor(records: KeyValue<SessionRecord>, log: Logger, onTaken: (key: SessionKey) => void) {
    this.#records = records;
    this.#log = log;
    this.#onTaken = onTaken;
  }

  /** A session without a record lives as long as its worker; that is said, and no reason to refuse it. */
  async create(key: SessionKey, record: SessionRecord): Promise<void> {
    try {
      this.#held.set(key, { revision: await this.#records.create(key, record), writing: Promise.resolve() });
    } catch (error) {
      this.#log.error({ err: error, session: key }, 'a session could not be recorded; it will not outlive this worker');
    }
  }

  save(key: SessionKey, record: SessionRecord): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    held.writing = held.writing.then(async () => {
      if (this.#held.get(key) !== held) return;
      held.revision = await this.#records.update(key, record, held.revision);
    }).catch((error: unknown) => {
      if (error instanceof BusError && error.kind === 'revision-conflict') {
        this.#held.delete(key);
        this.#onTaken(key);
      } else {
        this.#log.error({ err: error, session: key }, 'a session could not be recorded');
      }
    });
  }

  /** Finds out whether the session is still ours. */
  async verify(key: SessionKey): Promise<void> {
    const held = this.#held.get(key);
    await held?.writing;
    try {
      const entry = held === undefined ? undefined : await this.#records.get(key);
      if (held === undefined || this.#held.get(key) !== held || entry?.revision === held.revision) return;
      this.#held.delete(key);
      this.#onTaken(key);
    } catch (error) {
      this.#log.warn({ err: error, session: key }, 'whether a session is still held here could not be found out');
    }
  }

  /** The session has ended. */
  remove(key: SessionKey): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#held.delete(key);
    void held.writing.then(() => this.#records.delete(key)).catch((error: unknown) => this.#log.error({ err: error, session: key }, 'the record of an ended session could not be removed'));
  }

  /** The session goes on elsewhere. Resolves when everything about it is written. */
  async release(key: SessionKey): Promise<void> {
    const held = this.#held.get(key);
    this.#held.delete(key);
    await held?.writing;
  }

  /**
   * Takes over a session nobody holds.
   * @returns the record as the worker wrote it that held the session; `unknown` when there is no such session, `taken` when another worker was faster.
   */
  async adopt(key: SessionKey, worker: WorkerId): Promise<SessionRecord | 'unknown' | 'taken'> {
    const entry = await this.#records.get(key);
    if (entry === undefined) return 'unknown';
    try {
      this.#held.set(key, { revision: await this.#records.update(key, { ...entry.value, worker }, entry.revision), writing: Promise.resolve() });
      return entry.value;
    } catch (error) {
      if (error instanceof BusError && error.kind === 'revision-conflict') return 'taken';
      throw error;
    }
  }
}
