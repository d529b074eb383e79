/**
 * The bus: the only way services talk. Three implementations keep one contract (`testing/contract.ts`).
 *
 * Invariants
 *  B1  Payloads are immutable: in one process they travel by reference.
 *  B2  Messages from one sender to one subscription arrive in the order they were sent.
 *  B3  A handler never runs inside the call that sent to it.
 *  B4  A request without a listener fails at once with `no-responders`.
 *  B5  After its failure or `close()`, a request's observer hears nothing more; it fails once.
 *  B6  A handler that throws, or whose promise is rejected, hurts no other: the error goes to `onFault`, and the request
 *      fails with `handler-failed`, unless its subject is for everyone: there the others may still answer. An observer that
 *      throws gets an error.
 */
import type { Shape } from './shapes/shape.ts';
import type { Subject } from './subject.ts';
import type { BusError } from './errors.ts';

/** Receives the answers to one request. */
export interface ReplyObserver<Reply> {
  reply(payload: Reply): void;
  failed(error: BusError): void;
  /** Whether it takes a large result whose bytes are still at another process (`ResultBytes.away`). Others get it when the bytes have come. */
  readonly takesAway?: boolean | undefined;
}

/** A request that waits for replies. It must be closed after the last one; an open request is kept without end. */
export interface PendingRequest {
  close(): void;
  /** Whether a large reply is on its way: its sender has answered. */
  readonly isArriving?: boolean;
}

/** Receives the messages of a subject. If it throws, or its promise is rejected, the request ends (B6). */
export type Handler<Request, Reply> = (payload: Request, reply: (payload: Reply) => void) => void | Promise<void>;

export interface Watch {
  /** Stops receiving. */
  close(): void;
}

export interface Subscription extends Watch {
  /** Accepts no new messages: their senders get `no-responders`. Resolves when messages in transit have been handled. */
  drain(): Promise<void>;
}

export interface Bus {
  publish<Request>(to: Subject<Request, unknown>, payload: Request): void;

  /** Sends one message and receives any number of replies. Errors: `no-responders`, `handler-failed`, `lost`, `closed`, `payload-too-large`. */
  request<Request, Reply>(
    to: Subject<Request, Reply>,
    payload: Request,
    observer: ReplyObserver<Reply>,
  ): PendingRequest;

  /**
   * Subscribes to a subject. With `queue`, each message goes to one member of the group.
   * Resolves once messages that others send from now on will arrive.
   */
  subscribe<Request, Reply = never>(
    to: Subject<Request, Reply>,
    handler: Handler<Request, Reply>,
    options?: { readonly queue?: string },
  ): Promise<Subscription>;

  keyValue<Value>(bucket: Bucket<Value>): Promise<KeyValue<Value>>;

  journal<Entry>(definition: JournalDefinition<Entry>): Promise<Journal<Entry>>;

  ledger(definition: LedgerDefinition): Promise<Ledger>;

  /** False while the bus cannot deliver, and from the moment it is drained. It reconnects. */
  readonly connected: boolean;

  /** How often the connection was lost and found again; messages sent in between may be lost. */
  readonly reconnects: number;

  /** Calls a function after each loss of the connection, as soon as messages arrive again. */
  afterReconnect(run: () => void): Watch;

  /** Streams that are missing at NATS until the set-up has run. */
  readonly missing: readonly string[];

  /** Measures the milliseconds of a message to the bus and back. */
  roundTrip(): Promise<number>;

  /** The region of this process, for an installation that spans several; undefined where the configuration names none. */
  readonly region?: string | undefined;

  /** Whether other processes are on the bus too. */
  readonly isShared: boolean;

  /** Whether stored values and journals outlive this process; always so on a shared bus. */
  readonly outlives: boolean;

  /** Whether stored values outlive all processes of the gateway; if not, values that must last belong into files. */
  readonly isDurable: boolean;

  /** Names this process among those of a gateway with several workers on one machine, which prefer their own parts; undefined elsewhere. */
  readonly process?: string | undefined;

  /** Delivers sent messages, then closes. Open requests fail with `closed`. */
  drain(): Promise<void>;
}

declare const value: unique symbol;

export interface Bucket<Value> {
  readonly name: string;
  /** The shape that a value from NATS must have; a value of another shape counts as missing. */
  readonly shape?: Shape<Value>;
  /** Whether all values fit into one message, so that none is stored in parts. */
  readonly isSmall?: boolean;
  /** Milliseconds after its last change at which a key expires; without it, never. */
  readonly maxAgeMs?: number;
  /** Bound on the bytes of all values together, as stored; a write beyond it fails with `overloaded`. For buckets into which strangers can cause writes. */
  readonly maxBytes?: number;
  /** Milliseconds after which it is forgotten that a key was deleted; without it, that is known until the age of the bucket. For buckets with ever new keys. */
  readonly forgetsMs?: number;
  /** Whether a process writes its values again when the store was lost. For values about the process itself. */
  readonly isRewritten?: boolean;
  readonly [value]?: Value;
}

export interface KeyValueEntry<Value> {
  readonly key: string;
  readonly value: Value;
  /** Grows with every change of the bucket. */
  readonly revision: number;
}

export type KeyValueChange<Value> =
  | ({ readonly kind: 'put' } & KeyValueEntry<Value>)
  | { readonly kind: 'delete'; readonly key: string };

export interface KeyValue<Value> {
  /** @throws {BusError} `newer-format` for a value that a newer version has written and this one cannot read. */
  get(key: string): Promise<KeyValueEntry<Value> | undefined>;
  /** Whether the key was deleted, and neither expired nor was lost with the store. That is forgotten in time, as entries are. */
  wasDeleted(key: string): Promise<boolean>;
  put(key: string, value: Value): Promise<number>;
  /** @throws {BusError} `revision-conflict` when the key exists. */
  create(key: string, value: Value): Promise<number>;
  /** @throws {BusError} `revision-conflict` when the key has another revision. */
  update(key: string, value: Value, revision: number): Promise<number>;
  /**
   * Writes a key that has expired or was lost with the store. A key that was deleted stays deleted.
   * @throws {BusError} `revision-conflict` when the key exists or was deleted.
   */
  restore(key: string, value: Value): Promise<number>;
  /**
   * @param revision that is deleted; without it, any.
   * @throws {BusError} `revision-conflict` when the key has another revision.
   */
  delete(key: string, revision?: number): Promise<void>;
  /** Calls back with every present value, and then with every change. Resolves when the present values have been passed on. */
  watch(observer: (change: KeyValueChange<Value>) => void): Promise<Watch>;
}

/** A journal keeps the latest messages on some subjects, within bounds; the oldest entry is dropped first. */
export interface JournalDefinition<Entry> {
  readonly name: string;
  /** Family of the subjects; each subject has `tokens` more tokens. */
  readonly family: string;
  readonly tokens: number;
  readonly maxAgeMs: number;
  /** Bytes of all subjects together. */
  readonly maxBytes: number;
  /** Entries of one subject. */
  readonly maxEntries: number;
  /** The shape that an entry from NATS must have; an entry of another shape is passed over. */
  readonly shape?: Shape<Entry>;
  readonly [value]?: Entry;
}

export interface Journal<Entry> {
  /** Appends an entry without waiting. If it cannot be stored, followers miss it. */
  append(to: Subject<Entry>, entry: Entry): void;
  /**
   * Calls back with the stored entries of a subject, oldest first, and with those that are appended from now on; an entry that is appended at this moment
   * may come twice.
   * Resolves when the stored entries have been passed on.
   */
  follow(subject: Subject<Entry>, observer: (entry: Entry) => void): Promise<Watch>;
}

/** A ledger keeps texts of several writers that are added and never changed; none is removed before its time. */
export interface LedgerDefinition {
  readonly name: string;
  /** Family of the subjects, of which each writer has one. */
  readonly family: string;
  readonly maxAgeMs: number;
  /** Bytes of all writers together; beyond it, texts are refused. */
  readonly maxBytes: number;
}

export interface LedgerEntry {
  readonly writer: string;
  readonly text: string;
  /** Grows from entry to entry, over all writers. */
  readonly number: number;
}

export interface Ledger {
  /**
   * Keeps a text after what this writer has added before.
   * @param writer a name that no other process has.
   * @returns the number of the entry, once it is stored.
   * @throws {BusError} `revision-conflict` when another process has written under this name: nothing can be added under it any more.
   *   `overloaded` when there is no room. `timeout` when the result is unknown: the caller adds the same text again, and it is stored once.
   */
  append(writer: string, text: string): Promise<number>;
  /** All stored texts, oldest first. @param writer only its texts. @param after only texts with a larger number. */
  read(writer?: string, after?: number): AsyncIterable<LedgerEntry>;
  /** All stored texts, latest first. @param before only texts with a smaller number. */
  readBack(before?: number): AsyncIterable<LedgerEntry>;
}

/** A failure that no caller can learn of, or not in detail. */
export interface BusFault {
  /**
   * `handler` and `observer` are bugs in our own code; `message` is an incoming message that cannot be read; `format` is something that a version too far
   * from ours has sent or stored; `connection` and `store` concern the bus itself.
   */
  readonly kind: 'handler' | 'observer' | 'message' | 'format' | 'connection' | 'store';
  readonly what: string;
  /** Family of the subjects of a `message` or `format`, or name of the bucket or journal. */
  readonly family?: string;
  readonly error?: unknown;
  /** Id that the caller's answer has too, so that the log line can be found by it. */
  readonly incident?: string;
}

/** Where an implementation reports faults. */
export type OnFault = (fault: BusFault) => void;
