import type { DatabaseSync } from 'node:sqlite';
import type { Bus, Journal, JournalDefinition, OnFault, Watch } from '../bus.ts';
import { decode, encode } from '../codec.ts';
import type { Subject } from '../subject.ts';

/** Milliseconds between two removals of expired entries. */
const sweepMs = 60_000;
/** Entries that are removed at a time when there are too many bytes. */
const removedAtOnce = 100;

export interface FolderJournalOptions<Entry> {
  readonly bus: Bus;
  readonly definition: JournalDefinition<Entry>;
  readonly onFault: OnFault;
}

/** A journal in the file of a gateway of one process. Nothing of it is in memory. */
export class FolderJournal<Entry> implements Journal<Entry> {
  readonly #options: FolderJournalOptions<Entry>;
  readonly #statements: ReturnType<typeof statementsOf>;
  readonly #sweeping: NodeJS.Timeout;
  #bytes: number;
  /** Whether the last entry could not be stored: only the first of several failures is reported. */
  #hasFailed = false;

  constructor(file: DatabaseSync, options: FolderJournalOptions<Entry>) {
    this.#options = options;
    this.#statements = statementsOf(file);
    const { name } = options.definition;
    this.#expire();
    this.#bytes = Number(this.#statements.bytes.get(name)?.['bytes'] ?? 0);
    this.#sweeping = setInterval(() => this.#attempt(() => this.#expire()), sweepMs);
    this.#sweeping.unref();
  }

  close(): void {
    clearInterval(this.#sweeping);
    this.#attempt(() => this.#expire());
  }

  append(to: Subject<Entry>, entry: Entry): void {
    this.#attempt(() => this.#store(to, encode(entry)));
    this.#options.bus.publish(to, entry);
  }

  async follow(subject: Subject<Entry>, observer: (entry: Entry) => void): Promise<Watch> {
    const { bus, definition } = this.#options;
    const subscription = await bus.subscribe(subject, observer);
    for (const { entry } of this.#statements.of.all(definition.name, subject.name, this.#oldest)) {
      const read = this.#read(entry as Uint8Array);
      if (read !== undefined) observer(read.entry);
    }
    return subscription;
  }

  get #oldest(): number {
    return Date.now() - this.#options.definition.maxAgeMs;
  }

  #read(stored: Uint8Array): { readonly entry: Entry } | undefined {
    const { name, shape } = this.#options.definition;
    try {
      const entry = decode(stored);
      if (shape === undefined || shape(entry) === 'fits') return { entry: entry as Entry };
    } catch (error) {
      this.#options.onFault({ kind: 'store', what: `an entry of ${name} is not readable`, family: name, error });
    }
    return undefined;
  }

  #store({ name: subject }: Subject<Entry>, entry: Uint8Array): void {
    const { name, maxEntries, maxBytes } = this.#options.definition;
    const { add, over, first } = this.#statements;
    add.run(name, subject, Date.now(), entry.length, entry);
    this.#bytes += entry.length;
    this.#freed(over.all(name, subject, maxEntries));
    while (this.#bytes > maxBytes) {
      const removed = first.all(name, removedAtOnce);
      if (removed.length === 0) return;
      this.#freed(removed);
    }
  }

  #expire(): void {
    this.#freed(this.#statements.expired.all(this.#options.definition.name, this.#oldest));
  }

  #freed(removed: readonly Readonly<Record<string, unknown>>[]): void {
    for (const { bytes } of removed) this.#bytes -= Number(bytes);
  }

  #attempt(work: () => void): void {
    try {
      work();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed)
        this.#options.onFault({
          kind: 'store',
          what: 'messages of streams cannot be stored: after a restart, clients get "outcome unknown" for open calls',
          family: this.#options.definition.name,
          error,
        });
      this.#hasFailed = true;
    }
  }
}

function statementsOf(file: DatabaseSync) {
  return {
    bytes: file.prepare('select sum(bytes) as bytes from streams where journal = ?'),
    add: file.prepare('insert into streams (journal, subject, at, bytes, entry) values (?, ?, ?, ?, ?)'),
    of: file.prepare('select entry from streams where journal = ? and subject = ? and at >= ? order by id'),
    over: file.prepare(
      `delete from streams where id in
       (select id from streams where journal = ? and subject = ? order by id desc limit -1 offset ?) returning bytes`,
    ),
    first: file.prepare(
      `delete from streams where id in (select id from streams where journal = ? order by id limit ?) returning bytes`,
    ),
    expired: file.prepare('delete from streams where journal = ? and at < ? returning bytes'),
  };
}
