import { Link, Ring } from '@omnibus/collections';
import { BusError, newIncident } from '../errors.ts';
import type {
  Bucket,
  Bus,
  Handler,
  Journal,
  JournalDefinition,
  KeyValue,
  Ledger,
  LedgerDefinition,
  OnFault,
  PendingRequest,
  ReplyObserver,
  Subscription,
  Watch,
} from '../bus.ts';
import { failureText } from '../failure.ts';
import type { Subject } from '../subject.ts';
import { failObserver, tellFailure } from '../observers.ts';
import type { BusStore } from './bus-store.ts';
import { MemoryJournal } from './journal.ts';
import { MemoryLedger } from './ledger.ts';
import { MemoryKeyValue } from './key-value.ts';

interface Member {
  readonly handler: Handler<unknown, unknown>;
  open: boolean;
}

interface Group {
  members: Member[];
  next: number;
}

interface Listeners {
  everyone: Member[];
  readonly groups: Map<string, Group>;
}

/** Where the answers to a message go. */
export interface Answered {
  reply(payload: unknown): void;
  fail(error: BusError): void;
}

/** A message to one handler. */
interface Message {
  readonly to: Subject<unknown, unknown>;
  readonly member: Member;
  readonly payload: unknown;
  readonly request: Answered | undefined;
}

/** An answer of a handler. */
interface Answer {
  readonly request: Answered;
  readonly answer: unknown;
}

type Undelivered = Message | Answer | (() => void);

/** Bound on undelivered messages; beyond it sends are refused, since handlers that send to each other in a circle would never end. */
const maxUndelivered = 1_000_000;

/** The bus of one process: payloads are passed by reference and delivered in a microtask, in the order of sending. */
export class MemoryBus implements Bus {
  readonly #listeners = new Map<string, Listeners>();
  readonly #buckets = new Map<string, MemoryKeyValue<unknown>>();
  readonly #journals = new Map<string, Journal<unknown>>();
  readonly #ledgers = new Map<string, MemoryLedger>();
  readonly #requests = new Ring<MemoryRequest>();
  readonly #onFault: OnFault;
  readonly #store: BusStore | undefined;
  /** Messages that were sent and not handled yet; one microtask at a time drains them. */
  #queue: Undelivered[] = [];
  #scheduled = false;
  #closed = false;
  #isDraining = false;

  /** @param store where values and journals outlive the process; the bus closes it. Without it, they end with the process. */
  constructor(onFault: OnFault, store?: BusStore) {
    this.#onFault = onFault;
    this.#store = store;
    this.outlives = store !== undefined;
  }

  get connected(): boolean {
    return !this.#isDraining;
  }

  publish<Request>(to: Subject<Request, unknown>, payload: Request): void {
    if (this.#closed) throw closed();
    const listeners = this.#listeners.get(to.name);
    if (listeners !== undefined) this.#send(to, listeners, payload, undefined);
  }

  request<Request, Reply>(
    to: Subject<Request, Reply>,
    payload: Request,
    observer: ReplyObserver<Reply>,
  ): PendingRequest {
    if (this.#closed) throw closed();
    const request = new MemoryRequest(this.#requests, observer, this.#onFault);
    const listeners = this.#listeners.get(to.name);
    if (listeners === undefined) {
      this.#enqueue(() => request.fail(new BusError('no-responders', `no process listens on ${to.name}`)));
    } else {
      this.#send(to, listeners, payload, request);
    }
    return request;
  }

  subscribe<Request, Reply = never>(
    to: Subject<Request, Reply>,
    handler: Handler<Request, Reply>,
    options: { readonly queue?: string } = {},
  ): Promise<Subscription> {
    if (this.#closed) throw closed();
    const listeners = this.#listeners.get(to.name) ?? { everyone: [], groups: new Map<string, Group>() };
    this.#listeners.set(to.name, listeners);
    const member: Member = { handler: handler as Handler<unknown, unknown>, open: true };
    if (options.queue === undefined) {
      listeners.everyone = [...listeners.everyone, member];
    } else {
      const group = listeners.groups.get(options.queue) ?? { members: [], next: 0 };
      group.members = [...group.members, member];
      listeners.groups.set(options.queue, group);
    }
    return Promise.resolve({
      close: () => {
        member.open = false;
        this.#unsubscribe(to.name, listeners, member);
      },
      drain: async () => {
        this.#unsubscribe(to.name, listeners, member);
        await new Promise<void>((resolve) => this.#enqueue(resolve));
        member.open = false;
      },
    });
  }

  /** Whether a subject has a listener. */
  hasListener(name: string): boolean {
    return this.#listeners.has(name);
  }

  /** The queue groups of a subject. */
  groupsOf(name: string): readonly string[] {
    return [...(this.#listeners.get(name)?.groups.keys() ?? [])];
  }

  /**
   * Passes on a message of another process.
   * @param queue the group of which one member gets it; undefined for the listeners without a group.
   * @returns false if there is none, and no answer comes.
   */
  passOn(to: Subject<unknown, unknown>, queue: string | undefined, payload: unknown, request?: Answered): boolean {
    const listeners = this.#listeners.get(to.name);
    const group = queue === undefined ? undefined : listeners?.groups.get(queue);
    const members = queue === undefined ? (listeners?.everyone ?? []) : group === undefined ? [] : [nextOf(group)];
    for (const member of members) this.#enqueue({ to, member, payload, request });
    return members.length > 0;
  }

  roundTrip(): Promise<number> {
    return Promise.resolve(0);
  }

  readonly reconnects: number = 0;

  /** There is no connection to lose. */
  afterReconnect(_run: () => void): Watch {
    return { close: () => undefined };
  }

  readonly isShared: boolean = false;
  readonly outlives: boolean;
  readonly isDurable: boolean = false;
  readonly missing: readonly string[] = [];

  keyValue<Value>(bucket: Bucket<Value>): Promise<KeyValue<Value>> {
    const existing = this.#buckets.get(bucket.name) ?? this.#open(bucket);
    this.#buckets.set(bucket.name, existing);
    return Promise.resolve(existing as unknown as KeyValue<Value>);
  }

  #open<Value>(bucket: Bucket<Value>): MemoryKeyValue<unknown> {
    const { maxAgeMs, maxBytes } = bucket;
    const stored = this.#store?.bucket<unknown>(bucket as Bucket<unknown>);
    return new MemoryKeyValue<unknown>({ deliver: (delivery) => this.#enqueue(delivery), maxAgeMs, maxBytes, stored });
  }

  ledger(definition: LedgerDefinition): Promise<Ledger> {
    const existing = this.#ledgers.get(definition.name) ?? new MemoryLedger(definition);
    this.#ledgers.set(definition.name, existing);
    return Promise.resolve(existing);
  }

  journal<Entry>(definition: JournalDefinition<Entry>): Promise<Journal<Entry>> {
    const existing =
      this.#journals.get(definition.name) ??
      this.#store?.journal<unknown>(this, definition) ??
      new MemoryJournal<unknown>(this, definition);
    this.#journals.set(definition.name, existing);
    return Promise.resolve(existing as unknown as Journal<Entry>);
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#queue.length > 0) await Promise.resolve();
    this.#closed = true;
    for (const request of this.#requests.toArray()) request.fail(closed());
    this.#listeners.clear();
    this.#store?.close();
  }

  #send(
    to: Subject<unknown, unknown>,
    listeners: Listeners,
    payload: unknown,
    request: MemoryRequest | undefined,
  ): void {
    for (const member of listeners.everyone) this.#enqueue({ to, member, payload, request });
    for (const group of listeners.groups.values()) {
      group.next = (group.next + 1) % group.members.length;
      this.#enqueue({ to, member: group.members[group.next] as Member, payload, request });
    }
  }

  /** The replies of a handler must not hold the payload, since handlers keep it as long as a stream lasts. */
  #hand(message: Message): void {
    const { to, member, request } = message;
    if (!member.open) return;
    try {
      const done = member.handler(
        message.payload,
        request === undefined ? ignoreReply : (answer) => this.#enqueue({ request, answer }),
      );
      if (done instanceof Promise) done.catch((error: unknown) => this.#handlerFailed(to, request, error));
    } catch (error) {
      this.#handlerFailed(to, request, error);
    }
  }

  /** B6. Runs in a further microtask, after the replies that the handler has sent. */
  #handlerFailed(
    { name, isForEveryone }: Subject<unknown, unknown>,
    request: Answered | undefined,
    error: unknown,
  ): void {
    const incident = newIncident();
    this.#onFault({ kind: 'handler', what: `the handler of ${name} failed`, error, incident });
    if (request === undefined || isForEveryone === true) return;
    queueMicrotask(() =>
      request.fail(new BusError('handler-failed', failureText('handler-failed', incident), error, incident)),
    );
  }

  #enqueue(undelivered: Undelivered): void {
    if (this.#queue.length >= maxUndelivered)
      throw new BusError('overloaded', `${maxUndelivered} messages wait for delivery`);
    this.#queue.push(undelivered);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(this.#deliverAll); // B3
  }

  readonly #deliverAll = (): void => {
    for (let index = 0; index < this.#queue.length; index += 1) {
      const next = this.#queue[index] as Undelivered;
      try {
        if (typeof next === 'function') next();
        else if ('member' in next) this.#hand(next);
        else next.request.reply(next.answer);
      } catch (error) {
        this.#onFault({ kind: 'observer', what: 'a watcher of the bus threw', error }); // B6
      }
    }
    this.#queue = [];
    this.#scheduled = false;
  };

  #unsubscribe(name: string, listeners: Listeners, member: Member): void {
    listeners.everyone = listeners.everyone.filter((other) => other !== member);
    for (const [queue, group] of listeners.groups) {
      group.members = group.members.filter((other) => other !== member);
      if (group.members.length === 0) listeners.groups.delete(queue);
    }
    if (listeners.everyone.length === 0 && listeners.groups.size === 0 && this.#listeners.get(name) === listeners) {
      this.#listeners.delete(name);
    }
  }
}

function nextOf(group: Group): Member {
  group.next = (group.next + 1) % group.members.length;
  return group.members[group.next] as Member;
}

function closed(): BusError {
  return new BusError('closed', 'the bus is closed');
}

function ignoreReply(): void {
  // A published message has no sender to answer.
}

class MemoryRequest extends Link implements PendingRequest, Answered {
  readonly #open: Ring<MemoryRequest>;
  readonly #observer: ReplyObserver<unknown>;
  readonly #onFault: OnFault;

  constructor(open: Ring<MemoryRequest>, observer: ReplyObserver<unknown>, onFault: OnFault) {
    super();
    this.#open = open;
    this.#observer = observer;
    this.#onFault = onFault;
    open.add(this);
  }

  reply(payload: unknown): void {
    if (!this.#open.has(this)) return; // B5
    try {
      this.#observer.reply(payload);
    } catch (error) {
      this.#open.remove(this);
      failObserver(this.#observer, error, this.#onFault);
    }
  }

  fail(error: BusError): void {
    if (this.#open.remove(this)) tellFailure(this.#observer, error, this.#onFault);
  }

  close(): void {
    this.#open.remove(this);
  }
}
