/**
 * The bus: the only way services talk. Two implementations keep one contract (`testing/contract.ts`).
 *
 * Invariants
 *  B1  Payloads are immutable: in one process they travel by reference.
 *  B2  Messages from one sender to one subscription arrive in the order they were sent.
 *  B3  A handler never runs inside the call that sent to it.
 *  B4  A request nobody listens to fails at once with `no-responders`.
 *  B5  After its failure or `close()`, a request's observer hears nothing more; it fails once.
 *  B6  A handler that throws, or whose promise is rejected, hurts nobody else: the error goes to `onFault`, and the request
 *      fails with `handler-failed`, unless its subject is for everyone: there the others may still answer. An observer that
 *      throws is told that its request failed.
 */
import type { Shape } from './shapes/shape.ts';
import type { Subject } from './subject.ts';
import type { BusError } from './errors.ts';

/** Hears the answers to one request. */
export interface ReplyObserver<Reply> {
  reply(payload: Reply): void;
  failed(error: BusError): void;
}

/** A request that waits for replies. Close it when the last one has come; an open one is held for ever. */
export interface PendingRequest {
  close(): void;
}

/** Hears what is sent to a subject. What it throws, and what its promise is rejected with, ends the request (B6). */
export type Handler<Request, Reply> = (payload: Request, reply: (payload: Reply) => void) => void | Promise<void>;

export interface Watch {
  /** Hears nothing more. */
  close(): void;
}

export interface Subscription extends Watch {
  /** Takes no new message: who sends one is told that nobody listens. Resolves when those on their way have been handled. */
  drain(): Promise<void>;
}

export interface Bus {
  publish<Request>(to: Subject<Request, unknown>, payload: Request): void;

  /** Sends one message and hears any number of replies. Errors: `no-responders`, `handler-failed`, `lost`, `closed`, `payload-too-large`. */
  request<Request, Reply>(to: Subject<Request, Reply>, payload: Request, observer: ReplyObserver<Reply>): PendingRequest;

  /**
   * Hears a subject. With `queue`, each message goes to one member of the group.
   * Resolves once messages sent by others from now on will arrive.
   */
  subscribe<Request, Reply = never>(to: Subject<Request, Reply>, handler: Handler<Request, Reply>, options?: { readonly queue?: string }): Promise<Subscription>;

  keyValue<Value>(bucket: Bucket<Value>): Promise<KeyValue<Value>>;

  journal<Entry>(definition: JournalDefinition<Entry>): Promise<Journal<Entry>>;

  ledger(definition: LedgerDefinition): Promise<Ledger>;

  /** `connected` is false while the bus cannot deliver; it reconnects by itself. */
  readonly connected: boolean;

  /** How often it had lost its connection and found it again: messages of that time may be lost. */
  readonly reconnects: number;

  /** Milliseconds to the bus and back. */
  roundTrip(): Promise<number>;

  /** The region this process runs in, where ways between regions are long; undefined where the configuration names none. */
  readonly region?: string | undefined;

  /** Whether other processes are on the bus too, and what is stored outlives this one. */
  readonly isShared: boolean;

  /** Delivers what was sent, then closes. Open requests fail with `closed`. */
  drain(): Promise<void>;
}

declare const value: unique symbol;

export interface Bucket<Value> {
  readonly name: string;
  /** The shape a value from NATS must have; a value of another shape counts as missing. */
  readonly shape?: Shape<Value>;
  /** Values fit into one message: nothing is stored in parts. */
  readonly isSmall?: boolean;
  /** Milliseconds after its last change at which a key is forgotten; never, when left out. */
  readonly maxAgeMs?: number;
  /** Bytes of all values together, as they are stored; a write beyond them fails with `overloaded`. For buckets that strangers can make us write to. */
  readonly maxBytes?: number;
  /** Whoever reads sees what anybody has written before: no replica that lags answers. Dearer over NATS. */
  readonly isCurrent?: boolean;
  readonly [value]?: Value;
}

export interface KeyValueEntry<Value> {
  readonly key: string;
  readonly value: Value;
  /** Grows with every change of the bucket. */
  readonly revision: number;
}

export type KeyValueChange<Value> = ({ readonly kind: 'put' } & KeyValueEntry<Value>) | { readonly kind: 'delete'; readonly key: string };

export interface KeyValue<Value> {
  /** @throws {BusError} `newer-format` for what a newer version has written and this one cannot read: it is there all the same. */
  get(key: string): Promise<KeyValueEntry<Value> | undefined>;
  put(key: string, value: Value): Promise<number>;
  /** @throws {BusError} `revision-conflict` when the key exists. */
  create(key: string, value: Value): Promise<number>;
  /** @throws {BusError} `revision-conflict` when the key has another revision. */
  update(key: string, value: Value, revision: number): Promise<number>;
  /**
   * Writes a key that is forgotten, as when it has reached the bucket's age or the store was lost: one that was deleted stays deleted.
   * @throws {BusError} `revision-conflict` when the key exists or was deleted.
   */
  restore(key: string, value: Value): Promise<number>;
  /**
   * @param revision of what is deleted; whatever there is, when left out.
   * @throws {BusError} `revision-conflict` when the key has another revision.
   */
  delete(key: string, revision?: number): Promise<void>;
  /** Hears every present value, then every change. Resolves when the present ones have been heard. */
  watch(observer: (change: KeyValueChange<Value>) => void): Promise<Watch>;
}

/** Keeps what was said last on some subjects, within bounds; the oldest entry goes first. */
export interface JournalDefinition<Entry> {
  readonly name: string;
  /** Family of the subjects; `tokens` tokens follow it in each. */
  readonly family: string;
  readonly tokens: number;
  readonly maxAgeMs: number;
  /** Bytes of all subjects together. */
  readonly maxBytes: number;
  /** Entries of one subject. */
  readonly maxEntries: number;
  /** What an entry from NATS has to look like; one that does not is passed over. */
  readonly shape?: Shape<Entry>;
  readonly [value]?: Entry;
}

export interface Journal<Entry> {
  /** Appends an entry, and does not wait: one that cannot be kept is missed by whoever follows. */
  append(to: Subject<Entry>, entry: Entry): void;
  /**
   * Hears what is kept of a subject, oldest first, and what is appended from now on: an entry of this moment may be heard twice.
   * Resolves when what is kept has been heard.
   */
  follow(subject: Subject<Entry>, observer: (entry: Entry) => void): Promise<Watch>;
}

/** Texts that are added and never changed, of several writers; nothing goes before its time. */
export interface LedgerDefinition {
  readonly name: string;
  /** Of the subjects, one for each writer. */
  readonly family: string;
  readonly maxAgeMs: number;
  /** Of all writers together; more is refused. */
  readonly maxBytes: number;
}

export interface LedgerEntry {
  readonly writer: string;
  readonly text: string;
}

export interface Ledger {
  /**
   * Resolves when the text is kept, after what this writer has added before.
   * @param writer a name that no other process has.
   * @param id of the text: one that comes a second time is kept once.
   * @throws {BusError} `revision-conflict` when somebody else has written under this name, `overloaded` when there is no room, `timeout`
   *   when it is not known whether it is kept: then the same is to be added again.
   */
  append(writer: string, id: string, text: string): Promise<void>;
  /** All that is kept, oldest first. */
  read(): AsyncIterable<LedgerEntry>;
}

/** Something that went wrong, of which no caller can be told, or not in detail. */
export interface BusFault {
  /**
   * `handler` and `observer` are bugs in our own code; `message` is one that came in and cannot be read, `format` what a version has said or stored
   * that is too far from ours; `connection` and `store` are of the bus itself.
   */
  readonly kind: 'handler' | 'observer' | 'message' | 'format' | 'connection' | 'store';
  readonly what: string;
  /** Family of the subjects that a `message` or `format` came on, or name of the bucket or journal. */
  readonly family?: string;
  readonly error?: unknown;
  /** Stands in what the caller is answered, so that one finds the other. */
  readonly incident?: string;
}

/** Where an implementation reports faults. */
export type OnFault = (fault: BusFault) => void;
