import { Link, Ring } from '@omnibus/collections';
import { BusError } from '../errors.ts';
import type { Bucket, Bus, Handler, Journal, JournalDefinition, KeyValue, OnFault, PendingRequest, ReplyObserver, Subscription } from '../bus.ts';
import type { Subject } from '../subject.ts';
import { MemoryJournal } from './journal.ts';
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

type Delivery = () => void;

/** Beyond this many undelivered messages a sender is refused: handlers that only feed each other would never end. */
const maxUndelivered = 1_000_000;

/** The bus of one process: by reference, delivered in a microtask, in the order of sending. */
export class MemoryBus implements Bus {
  readonly #listeners = new Map<string, Listeners>();
  readonly #buckets = new Map<string, MemoryKeyValue<unknown>>();
  readonly #journals = new Map<string, MemoryJournal<unknown>>();
  readonly #requests = new Ring<MemoryRequest>();
  readonly #onFault: OnFault;
  /** Messages sent and not yet handled; drained by one microtask at a time. */
  #queue: Delivery[] = [];
  #scheduled = false;
  #closed = false;

  constructor(onFault: OnFault) {
    this.#onFault = onFault;
  }

  get connected(): boolean {
    return !this.#closed;
  }

  publish<Request>(to: Subject<Request, unknown>, payload: Request): void {
    this.#assertOpen();
    const listeners = this.#listeners.get(to.name);
    if (listeners !== undefined) this.#send(to.name, listeners, payload, ignoreReply);
  }

  request<Request, Reply>(to: Subject<Request, Reply>, payload: Request, observer: ReplyObserver<Reply>): PendingRequest {
    this.#assertOpen();
    const request = new MemoryRequest(this.#requests, observer);
    const listeners = this.#listeners.get(to.name);
    if (listeners === undefined) {
      this.#enqueue(() => request.fail(new BusError('no-responders', `nobody listens on ${to.name}`)));
    } else {
      this.#send(to.name, listeners, payload, (reply) => this.#enqueue(() => request.reply(reply)));
    }
    return request;
  }

  subscribe<Request, Reply = never>(
    to: Subject<Request, Reply>, handler: Handler<Request, Reply>, options: { readonly queue?: string } = {},
  ): Promise<Subscription> {
    this.#assertOpen();
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

  roundTrip(): Promise<number> {
    return Promise.resolve(0);
  }

  clockSkew(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  readonly reconnects = 0;
  readonly isShared = false;

  keyValue<Value>(bucket: Bucket<Value>): Promise<KeyValue<Value>> {
    const existing = this.#buckets.get(bucket.name) ?? new MemoryKeyValue<unknown>((delivery) => this.#enqueue(delivery));
    this.#buckets.set(bucket.name, existing);
    return Promise.resolve(existing as unknown as KeyValue<Value>);
  }

  journal<Entry>(definition: JournalDefinition<Entry>): Promise<Journal<Entry>> {
    const existing = this.#journals.get(definition.name) ?? new MemoryJournal<unknown>(this, definition);
    this.#journals.set(definition.name, existing);
    return Promise.resolve(existing as unknown as Journal<Entry>);
  }

  async drain(): Promise<void> {
    while (this.#queue.length > 0) await Promise.resolve();
    this.#closed = true;
    for (const request of this.#requests.toArray()) request.fail(new BusError('closed', 'the bus is closed'));
    this.#listeners.clear();
  }

  #assertOpen(): void {
    if (this.#closed) throw new BusError('closed', 'the bus is closed');
  }

  #send(name: string, listeners: Listeners, payload: unknown, reply: (payload: unknown) => void): void {
    for (const member of listeners.everyone) this.#deliver(name, member, payload, reply);
    for (const group of listeners.groups.values()) {
      group.next = (group.next + 1) % group.members.length;
      this.#deliver(name, group.members[group.next] as Member, payload, reply);
    }
  }

  #deliver(name: string, member: Member, payload: unknown, reply: (payload: unknown) => void): void {
    this.#enqueue(() => {
      if (!member.open) return;
      try {
        member.handler(payload, reply);
      } catch (error) {
        this.#onFault(`the handler of ${name} threw`, error); // B6
      }
    });
  }

  #enqueue(delivery: Delivery): void {
    if (this.#queue.length >= maxUndelivered) throw new BusError('overloaded', `${maxUndelivered} messages wait for delivery`);
    this.#queue.push(delivery);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#deliverAll()); // B3
  }

  #deliverAll(): void {
    for (let index = 0; index < this.#queue.length; index += 1) {
      try {
        (this.#queue[index] as Delivery)();
      } catch (error) {
        this.#onFault('a bus observer threw', error); // B6
      }
    }
    this.#queue = [];
    this.#scheduled = false;
  }

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

function ignoreReply(): void {
  // A publish has nobody to answer to.
}

class MemoryRequest extends Link implements PendingRequest {
  readonly #open: Ring<MemoryRequest>;
  readonly #observer: ReplyObserver<unknown>;

  constructor(open: Ring<MemoryRequest>, observer: ReplyObserver<unknown>) {
    super();
    this.#open = open;
    this.#observer = observer;
    open.add(this);
  }

  reply(payload: unknown): void {
    if (this.#open.has(this)) this.#observer.reply(payload); // B5
  }

  fail(error: BusError): void {
    if (this.#open.remove(this)) this.#observer.failed(error);
  }

  close(): void {
    this.#open.remove(this);
  }
}
