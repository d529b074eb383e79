/**
 * The middle of the bus of one machine: passes messages between the workers of a gateway, and keeps what they share. It runs in the supervisor, which
 * starts the workers, so what it keeps outlives each of them. It does not read payloads.
 */
import { duplexPair, type Duplex } from 'node:stream';
import type { Bus, Journal, KeyValue, OnFault, Watch } from '../bus.ts';
import { BusError } from '../errors.ts';
import { MemoryBus } from '../memory/bus.ts';
import type { Subject } from '../subject.ts';
import { openLocalBus, type LocalBusOptions } from './bus.ts';
import { Frames } from './frames.ts';
import type { FromHub, FromWorker, Question, RequestAddress } from './messages.ts';

/** A process on the bus. */
interface Connection {
  readonly number: number;
  readonly frames: Frames<FromHub, FromWorker>;
  readonly listeners: Map<number, Listener>;
  readonly watches: Map<number, Watch>;
  readonly buckets: Map<string, KeyValue<Uint8Array>>;
  readonly journals: Map<string, Journal<Uint8Array>>;
}

/** The listeners of one process to a subject, or to a queue group of it: it divides messages among them itself. */
interface Listener {
  readonly id: number;
  readonly connection: Connection;
  readonly name: string;
  readonly queue: string | undefined;
}

interface Group {
  members: Listener[];
  next: number;
}

interface Listeners {
  everyone: Listener[];
  readonly groups: Map<string, Group>;
}

export class LocalHub {
  readonly #connections = new Map<number, Connection>();
  readonly #listeners = new Map<string, Listeners>();
  readonly #store: MemoryBus;
  readonly #onFault: OnFault;
  #last = 0;

  constructor(onFault: OnFault) {
    this.#onFault = onFault;
    this.#store = new MemoryBus(onFault);
  }

  /** Serves a process at the other end of a stream until it ends. A process that does not take its messages is cut off. */
  attach(stream: Duplex): void {
    this.#last += 1;
    const number = this.#last;
    const connection: Connection = {
      number,
      frames: new Frames<FromHub, FromWorker>(stream, {
        hear: (head, body) => this.#hear(connection, head, body),
        ended: (problem) => this.#detach(connection, problem),
      }),
      listeners: new Map(),
      watches: new Map(),
      buckets: new Map(),
      journals: new Map(),
    };
    this.#connections.set(number, connection);
  }

  /** A bus for the process of the hub. */
  connect(options: LocalBusOptions): Bus {
    const [near, far] = duplexPair();
    this.attach(far);
    return openLocalBus(near, options);
  }

  /** Closes all connections, after what waits for them. */
  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map(({ frames }) => frames.end()));
    await this.#store.drain();
  }

  #detach(connection: Connection, problem: Error | undefined): void {
    this.#connections.delete(connection.number);
    for (const listener of connection.listeners.values()) this.#unsubscribe(listener);
    for (const watch of connection.watches.values()) watch.close();
    if (problem !== undefined)
      this.#onFault({ kind: 'connection', what: 'the connection to a worker was lost', error: problem });
  }

  #hear(from: Connection, head: FromWorker, body: Buffer): void {
    switch (head.is) {
      case 'publish':
        this.#deliver(from, head, body);
        return;
      case 'request':
        if (!this.#deliver(from, head, body, [from.number, head.request]))
          this.#say(from, { is: 'no-responders', request: head.request });
        return;
      case 'reply':
        this.#sayTo(head.to[0], { is: 'reply', request: head.to[1] }, body);
        return;
      case 'failed': {
        const { to, kind, text, incident } = head;
        this.#sayTo(to[0], { is: 'failed', request: to[1], kind, text, incident });
        return;
      }
      case 'append':
        from.journals.get(head.journal)?.append(named(head.name), Uint8Array.from(body));
        return;
      case 'unwatch':
        from.watches.get(head.watch)?.close();
        from.watches.delete(head.watch);
        return;
      case 'ask':
        void this.#answer(from, head, body);
    }
  }

  /** Passes a message to the listeners in other processes. @returns whether there is one. */
  #deliver(
    { number }: Connection,
    { name, except = [] }: { readonly name: string; readonly except?: readonly string[] },
    body: Buffer,
    from?: RequestAddress,
  ): boolean {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return false;
    const to = listeners.everyone.filter(({ connection }) => connection.number !== number);
    for (const [queue, group] of listeners.groups) {
      if (except.includes(queue)) continue;
      group.next = (group.next + 1) % group.members.length;
      to.push(group.members[group.next] as Listener);
    }
    for (const { connection, id } of to)
      this.#say(connection, { is: 'message', listener: id, ...(from === undefined ? {} : { from }) }, body);
    return to.length > 0;
  }

  /** A reply to a process that has ended is dropped. */
  #sayTo(number: number, head: FromHub, body?: Uint8Array): void {
    const connection = this.#connections.get(number);
    if (connection !== undefined) this.#say(connection, head, body);
  }

  #say({ frames }: Connection, head: FromHub, body?: Uint8Array): void {
    if (frames.isFull) frames.destroy(new BusError('overloaded', 'the worker takes its messages too slowly'));
    else frames.send(head, body);
  }

  async #answer(
    from: Connection,
    { ask, ...question }: { readonly ask: number } & Question,
    body: Buffer,
  ): Promise<void> {
    try {
      const { value, ...found } = await this.#find(from, question, body);
      this.#say(from, { is: 'done', ask, ...found }, value);
    } catch (error) {
      const { kind, message } =
        error instanceof BusError ? error : new BusError('handler-failed', String(error), error);
      if (!(error instanceof BusError))
        this.#onFault({ kind: 'store', what: `a question of a worker failed: ${question.op}`, error });
      this.#say(from, { is: 'refused', ask, kind, text: message });
    }
  }

  async #find(from: Connection, question: Question, body: Buffer): Promise<Found> {
    switch (question.op) {
      case 'ping':
        return {};
      case 'subscribe':
        this.#subscribe({ id: question.listener, connection: from, name: question.name, queue: question.queue });
        return {};
      case 'unsubscribe': {
        const listener = from.listeners.get(question.listener);
        if (listener !== undefined) this.#unsubscribe(listener);
        return {};
      }
      case 'open-bucket':
        from.buckets.set(question.name, await this.#store.keyValue<Uint8Array>(question));
        return {};
      case 'open-journal':
        from.journals.set(question.name, await this.#store.journal<Uint8Array>(question));
        return {};
      case 'follow': {
        const say = (entry: Uint8Array): void => this.#say(from, { is: 'entry', watch: question.watch }, entry);
        this.#keep(
          from,
          question.watch,
          await opened(from.journals, question.journal).follow(named(question.name), say),
        );
        return {};
      }
      default:
        return this.#ofBucket(from, opened(from.buckets, question.bucket), question, body);
    }
  }

  async #ofBucket(
    from: Connection,
    bucket: KeyValue<Uint8Array>,
    question: BucketQuestion,
    body: Buffer,
  ): Promise<Found> {
    switch (question.op) {
      case 'get': {
        const entry = await bucket.get(question.key);
        return entry === undefined ? {} : { revision: entry.revision, value: entry.value };
      }
      case 'was-deleted':
        return { flag: await bucket.wasDeleted(question.key) };
      case 'put':
      case 'create':
      case 'restore':
        return { revision: await bucket[question.op](question.key, Uint8Array.from(body)) };
      case 'update':
        return { revision: await bucket.update(question.key, Uint8Array.from(body), question.revision) };
      case 'delete':
        await bucket.delete(question.key, question.revision);
        return {};
      case 'watch': {
        const { watch } = question;
        const made = await bucket.watch((change) =>
          change.kind === 'put'
            ? this.#say(from, { is: 'change', watch, key: change.key, revision: change.revision }, change.value)
            : this.#say(from, { is: 'change', watch, key: change.key }),
        );
        this.#keep(from, watch, made);
        return {};
      }
    }
  }

  /** Keeps a watch until its process closes it or ends. */
  #keep(from: Connection, id: number, watch: Watch): void {
    if (this.#connections.has(from.number)) from.watches.set(id, watch);
    else watch.close();
  }

  #subscribe(listener: Listener): void {
    const { name, queue, connection, id } = listener;
    connection.listeners.set(id, listener);
    const listeners = this.#listeners.get(name) ?? { everyone: [], groups: new Map<string, Group>() };
    this.#listeners.set(name, listeners);
    if (queue === undefined) {
      listeners.everyone.push(listener);
      return;
    }
    const group = listeners.groups.get(queue) ?? { members: [], next: 0 };
    group.members.push(listener);
    listeners.groups.set(queue, group);
  }

  #unsubscribe(listener: Listener): void {
    const { name, queue, connection, id } = listener;
    connection.listeners.delete(id);
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return;
    listeners.everyone = listeners.everyone.filter((other) => other !== listener);
    const group = listeners.groups.get(queue ?? '');
    if (group !== undefined) group.members = group.members.filter((other) => other !== listener);
    if (group?.members.length === 0) listeners.groups.delete(queue ?? '');
    if (listeners.everyone.length === 0 && listeners.groups.size === 0) this.#listeners.delete(name);
  }
}

type BucketQuestion = Extract<Question, { readonly bucket: string }>;

interface Found {
  readonly revision?: number;
  readonly flag?: boolean;
  readonly value?: Uint8Array;
}

/** A subject by its name alone, which is all that a store uses. */
function named(name: string): Subject<Uint8Array> {
  return { name, family: name };
}

/** @throws {BusError} `refused`: an error of our own, since a worker opens a store before it uses it. */
function opened<Store>(stores: ReadonlyMap<string, Store>, name: string): Store {
  const store = stores.get(name);
  if (store === undefined) throw new BusError('refused', `${name} has not been opened`);
  return store;
}
