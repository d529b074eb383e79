import type { DatabaseSync } from 'node:sqlite';
import type { Bucket, Bus, Journal, JournalDefinition, OnFault } from '../bus.ts';
import { decode, encode } from '../codec.ts';
import type { BusStore, StoredBucket, StoredEntry } from '../memory/bus-store.ts';
import { FolderJournal } from './journal.ts';
import { openFile, writingError } from './open.ts';

/** Milliseconds that a start waits for a process that is just ending. */
const endingMs = 3_000;

/** The store of a gateway of one process, in a folder of its user. */
export class FolderStore implements BusStore {
  readonly #file: DatabaseSync;
  readonly #onFault: OnFault;
  readonly #journals: FolderJournal<unknown>[] = [];

  /**
   * @param busyMs milliseconds to wait for another process that has the file.
   * @throws {BusError} `refused`, in words for the operator.
   */
  static async open(folder: string, onFault: OnFault, busyMs = endingMs): Promise<FolderStore> {
    return new FolderStore(await openFile(folder, busyMs), onFault);
  }

  private constructor(file: DatabaseSync, onFault: OnFault) {
    this.#file = file;
    this.#onFault = onFault;
  }

  bucket<Value>(bucket: Bucket<Value>): StoredBucket<Value> | undefined {
    return bucket.isRewritten === true ? undefined : new FolderBucket(this.#file, bucket, this.#onFault);
  }

  journal<Entry>(bus: Bus, definition: JournalDefinition<Entry>): Journal<Entry> {
    const journal = new FolderJournal(this.#file, { bus, definition, onFault: this.#onFault });
    this.#journals.push(journal as FolderJournal<unknown>);
    return journal;
  }

  close(): void {
    for (const journal of this.#journals) journal.close();
    if (this.#file.isOpen) this.#file.close();
  }
}

class FolderBucket<Value> implements StoredBucket<Value> {
  readonly #bucket: Bucket<Value>;
  readonly #file: DatabaseSync;
  readonly #onFault: OnFault;
  readonly #write: ReturnType<DatabaseSync['prepare']>;
  readonly #remove: ReturnType<DatabaseSync['prepare']>;

  constructor(file: DatabaseSync, bucket: Bucket<Value>, onFault: OnFault) {
    this.#file = file;
    this.#bucket = bucket;
    this.#onFault = onFault;
    this.#write = file.prepare(
      'insert or replace into entries (bucket, key, revision, until, value) values (?, ?, ?, ?, ?)',
    );
    this.#remove = file.prepare('delete from entries where bucket = ? and key = ?');
  }

  load(): readonly StoredEntry<Value>[] {
    const { name, maxAgeMs = Infinity } = this.#bucket;
    const now = Date.now();
    this.#file.prepare('delete from entries where bucket = ? and until < ?').run(name, now);
    return this.#file
      .prepare('select key, revision, until, value from entries where bucket = ? order by until, revision')
      .all(name)
      .flatMap(({ key, revision, until, value }) => {
        const read = this.#read(String(key), value);
        // A clock that was set back lengthens no life.
        const leftMs = until === null ? Infinity : Math.min(Number(until) - now, maxAgeMs);
        return read === undefined ? [] : [{ key: String(key), revision: Number(revision), leftMs, value: read.value }];
      });
  }

  /** @returns undefined for a value that this version cannot read; it counts as missing. */
  #read(key: string, stored: unknown): { readonly value: Value } | undefined {
    const { name, shape } = this.#bucket;
    try {
      const value = decode(stored as Uint8Array);
      if (shape === undefined || shape(value) === 'fits') return { value: value as Value };
      this.#onFault({ kind: 'format', what: `the stored value ${key} of ${name} has another form`, family: name });
    } catch (error) {
      this.#onFault({ kind: 'store', what: `the stored value ${key} of ${name} is not readable`, family: name, error });
    }
    return undefined;
  }

  write({ key, revision, leftMs, value }: StoredEntry<Value>): void {
    const until = leftMs === Infinity ? null : Date.now() + leftMs;
    try {
      this.#write.run(this.#bucket.name, key, revision, until, encode(value));
    } catch (error) {
      throw writingError(error);
    }
  }

  remove(key: string): void {
    try {
      this.#remove.run(this.#bucket.name, key);
    } catch (error) {
      throw writingError(error);
    }
  }
}
