/** Buckets and journals of the hub, as a worker uses them. */
import { SlotTable } from '@omnibus/collections';
import { decode, encode } from '../codec.ts';
import { BusError } from '../errors.ts';
import type {
  Bucket,
  Journal,
  JournalDefinition,
  KeyValue,
  KeyValueChange,
  KeyValueEntry,
  OnFault,
  Watch,
} from '../bus.ts';
import type { Shape } from '../shapes/shape.ts';
import type { Subject } from '../subject.ts';
import type { FromHub, FromWorker, Question } from './messages.ts';

type Say = (head: FromWorker, body?: Uint8Array) => void;

interface Answer {
  readonly revision: number | undefined;
  readonly flag: boolean | undefined;
  readonly value: Uint8Array;
}

type StoreMessage = Extract<FromHub, { readonly is: 'done' | 'refused' | 'change' | 'entry' }>;
type WatchMessage = Extract<FromHub, { readonly is: 'change' | 'entry' }>;
type OfWatch = (head: WatchMessage, body: Buffer) => void;

export class Store {
  readonly #say: Say;
  readonly #isOpen: () => boolean;
  readonly #onFault: OnFault;
  readonly #asked = new SlotTable<PromiseWithResolvers<Answer>>();
  readonly #watches = new Map<number, OfWatch>();
  #last = 0;

  /** @param isOpen whether the hub can be reached. */
  constructor(say: Say, isOpen: () => boolean, onFault: OnFault) {
    this.#say = say;
    this.#isOpen = isOpen;
    this.#onFault = onFault;
  }

  /** @throws {BusError} of the hub; `closed` if the connection ends before the answer. */
  async ask(question: Question, body?: Uint8Array): Promise<Answer> {
    const waiting = Promise.withResolvers<Answer>();
    const ask = this.#asked.add(waiting);
    try {
      this.#say({ is: 'ask', ask, ...question }, body);
    } catch (error) {
      this.#asked.take(ask);
      throw error;
    }
    return waiting.promise;
  }

  hear(head: StoreMessage, body: Buffer): void {
    switch (head.is) {
      case 'done':
        this.#asked.take(head.ask)?.resolve({ revision: head.revision, flag: head.flag, value: body });
        return;
      case 'refused':
        this.#asked.take(head.ask)?.reject(new BusError(head.kind, head.text));
        return;
      case 'change':
      case 'entry':
        this.#watches.get(head.watch)?.(head, body);
    }
  }

  /** Ends all questions. */
  fail(error: BusError): void {
    for (const [ask] of this.#asked.toArray()) this.#asked.take(ask)?.reject(error);
    this.#watches.clear();
  }

  async keyValue<Value>({ name, shape, maxAgeMs, maxBytes }: Bucket<Value>): Promise<KeyValue<Value>> {
    await this.ask({
      op: 'open-bucket',
      name,
      ...(maxAgeMs === undefined ? {} : { maxAgeMs }),
      ...(maxBytes === undefined ? {} : { maxBytes }),
    });
    return new LocalKeyValue<Value>(this, name, (bytes) => this.read(name, shape, bytes));
  }

  async journal<Entry>(definition: JournalDefinition<Entry>): Promise<Journal<Entry>> {
    const { shape, name, family, tokens, maxAgeMs, maxBytes, maxEntries } = definition;
    await this.ask({ op: 'open-journal', name, family, tokens, maxAgeMs, maxBytes, maxEntries });
    return {
      append: (to: Subject<Entry>, entry: Entry) =>
        this.#say({ is: 'append', journal: name, name: to.name }, encode(entry)),
      follow: (of: Subject<Entry>, observer: (entry: Entry) => void) =>
        this.watch(
          (watch) => ({ op: 'follow', journal: name, name: of.name, watch }),
          (_head, body) => {
            const entry = this.read(name, shape, body);
            if (entry !== undefined) observer(entry);
          },
          `the journal ${name}`,
        ),
    };
  }

  /** @param what names the watched object in faults. */
  async watch(question: (watch: number) => Question, observer: OfWatch, what: string): Promise<Watch> {
    this.#last += 1;
    const watch = this.#last;
    this.#watches.set(watch, (head, body) => {
      try {
        observer(head, body);
      } catch (error) {
        this.#onFault({ kind: 'observer', what: `a watcher of ${what} threw`, error }); // B6
      }
    });
    await this.ask(question(watch));
    return {
      close: () => {
        if (this.#watches.delete(watch) && this.#isOpen()) this.#say({ is: 'unwatch', watch });
      },
    };
  }

  /** @returns undefined for a value that does not have its shape, which is reported. */
  read<Value>(name: string, shape: Shape<Value> | undefined, bytes: Uint8Array): Value | undefined {
    try {
      const value = decode(bytes);
      const verdict = shape?.(value) ?? 'fits';
      if (verdict !== 'fits') throw new BusError('undecodable', 'the value does not have the shape of its bucket');
      return value as Value;
    } catch (error) {
      this.#onFault({ kind: 'message', what: `a value in ${name} could not be read`, family: name, error });
      return undefined;
    }
  }
}

class LocalKeyValue<Value> implements KeyValue<Value> {
  readonly #store: Store;
  readonly #name: string;
  readonly #read: (bytes: Uint8Array) => Value | undefined;

  constructor(store: Store, name: string, read: (bytes: Uint8Array) => Value | undefined) {
    this.#store = store;
    this.#name = name;
    this.#read = read;
  }

  async get(key: string): Promise<KeyValueEntry<Value> | undefined> {
    const { revision, value: bytes } = await this.#store.ask({ op: 'get', bucket: this.#name, key });
    if (revision === undefined) return undefined;
    const value = this.#read(bytes);
    return value === undefined ? undefined : { key, value, revision };
  }

  async wasDeleted(key: string): Promise<boolean> {
    return (await this.#store.ask({ op: 'was-deleted', bucket: this.#name, key })).flag === true;
  }

  put(key: string, value: Value): Promise<number> {
    return this.#write({ op: 'put', bucket: this.#name, key }, value);
  }

  create(key: string, value: Value): Promise<number> {
    return this.#write({ op: 'create', bucket: this.#name, key }, value);
  }

  restore(key: string, value: Value): Promise<number> {
    return this.#write({ op: 'restore', bucket: this.#name, key }, value);
  }

  update(key: string, value: Value, revision: number): Promise<number> {
    return this.#write({ op: 'update', bucket: this.#name, key, revision }, value);
  }

  async delete(key: string, revision?: number): Promise<void> {
    await this.#store.ask({ op: 'delete', bucket: this.#name, key, revision });
  }

  watch(observer: (change: KeyValueChange<Value>) => void): Promise<Watch> {
    return this.#store.watch(
      (watch) => ({ op: 'watch', bucket: this.#name, watch }),
      (head, body) => {
        if (head.is !== 'change') return;
        const { key, revision } = head;
        if (revision === undefined) return observer({ kind: 'delete', key });
        const value = this.#read(body);
        if (value !== undefined) observer({ kind: 'put', key, value, revision });
      },
      this.#name,
    );
  }

  async #write(question: Question, value: Value): Promise<number> {
    return (await this.#store.ask(question, encode(value))).revision ?? 0;
  }
}
