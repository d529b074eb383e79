/**
 * The bus of a worker of a gateway with several workers on one machine. Messages between parts of this process are passed by reference and never leave it,
 * so a member of a queue group in this process is preferred. All others go through the hub of the supervisor (`hub.ts`).
 */
import type { Duplex } from 'node:stream';
import { SlotTable } from '@omnibus/collections';
import { decodeReply, encode, encodeReply } from '../codec.ts';
import { BusError, newIncident } from '../errors.ts';
import type {
  Bucket,
  Bus,
  Handler,
  Journal,
  JournalDefinition,
  KeyValue,
  Ledger,
  OnFault,
  PendingRequest,
  ReplyObserver,
  Subscription,
  Watch,
} from '../bus.ts';
import { failureKind, failureText, notFitting, readRequest } from '../failure.ts';
import { MemoryBus, type Answered } from '../memory/bus.ts';
import { failObserver, tellFailure } from '../observers.ts';
import type { Subject } from '../subject.ts';
import { Frames } from './frames.ts';
import type { FromHub, FromWorker, RequestAddress } from './messages.ts';
import { Store } from './store.ts';

export interface LocalBusOptions {
  /** Names this worker among those of the gateway. Undefined in the supervisor. */
  readonly worker?: string | undefined;
  readonly onFault: OnFault;
  /** Called after the report, if the connection ends before the bus is drained. It does not come back. */
  readonly lost?: () => void;
}

/** @param stream connection to the hub. */
export function openLocalBus(stream: Duplex, options: LocalBusOptions): Bus {
  return new LocalBus(stream, options);
}

/** The listeners of this process to a subject, or to a queue group of it. The hub knows them as one. */
interface Listening {
  readonly id: number;
  readonly to: Subject<unknown, unknown>;
  readonly queue: string | undefined;
  count: number;
  /** Resolves when the hub passes messages on. */
  readonly begun: Promise<unknown>;
}

/** A request that other processes answer. */
interface Waiting {
  readonly observer: ReplyObserver<unknown>;
  readonly to: Subject<unknown, unknown>;
  /** Whether listeners of this process answer too. */
  readonly isHere: boolean;
}

class LocalBus implements Bus {
  readonly isShared = true;
  readonly outlives = true;
  readonly isDurable = false;
  readonly reconnects = 0;
  readonly missing: readonly string[] = [];
  readonly process: string | undefined;
  readonly #onFault: OnFault;
  readonly #lost: (() => void) | undefined;
  readonly #here: MemoryBus;
  readonly #frames: Frames<FromWorker, FromHub>;
  readonly #store: Store;
  readonly #waiting = new SlotTable<Waiting>();
  /** By subject and queue. */
  readonly #listening = new Map<string, Listening>();
  readonly #byId = new Map<number, Listening>();
  #last = 0;

  constructor(stream: Duplex, { worker, onFault, lost }: LocalBusOptions) {
    this.process = worker;
    this.#onFault = onFault;
    this.#lost = lost;
    this.#here = new MemoryBus(onFault);
    this.#frames = new Frames<FromWorker, FromHub>(stream, {
      hear: (head, body) => this.#hear(head, body),
      ended: (problem) => this.#ended(problem),
    });
    this.#store = new Store(
      (head, body) => this.#say(head, body),
      () => this.connected,
      onFault,
    );
  }

  get connected(): boolean {
    return !this.#frames.isEnding && this.#here.connected;
  }

  /** A worker that loses the hub ends. */
  afterReconnect(run: () => void): Watch {
    return this.#here.afterReconnect(run);
  }

  publish<Request>(to: Subject<Request, unknown>, payload: Request): void {
    const bytes = encode(payload);
    const groups = this.#here.groupsOf(to.name);
    this.#say({ is: 'publish', name: to.name, ...(groups.length === 0 ? {} : { except: groups }) }, bytes);
    this.#here.publish(to, payload);
  }

  /** A request that any one listener answers stays in this process if it has one. */
  request<Request, Reply>(
    to: Subject<Request, Reply>,
    payload: Request,
    observer: ReplyObserver<Reply>,
  ): PendingRequest {
    const isHere = this.#here.hasListener(to.name);
    return isHere && to.isForEveryone !== true
      ? this.#here.request(to, payload, observer)
      : this.#requestElsewhere(to, payload, observer as ReplyObserver<unknown>, isHere);
  }

  #requestElsewhere<Request>(
    to: Subject<Request, unknown>,
    payload: Request,
    observer: ReplyObserver<unknown>,
    isHere: boolean,
  ): PendingRequest {
    const open: PendingRequest[] = [];
    const close = (): void => {
      for (const each of open) each.close();
    };
    const both: ReplyObserver<unknown> = {
      reply: (reply) => observer.reply(reply),
      failed(error) {
        close();
        observer.failed(error);
      },
    };
    const bytes = encode(payload);
    const groups = isHere ? this.#here.groupsOf(to.name) : [];
    const waiting = { observer: isHere ? both : observer, to: to as Subject<unknown, unknown>, isHere };
    const request = this.#waiting.add(waiting);
    open.push({ close: () => void this.#waiting.take(request) });
    try {
      this.#say({ is: 'request', name: to.name, request, ...(groups.length === 0 ? {} : { except: groups }) }, bytes);
      if (isHere) open.push(this.#here.request(to, payload, both));
    } catch (error) {
      close();
      throw error;
    }
    return { close };
  }

  async subscribe<Request, Reply = never>(
    to: Subject<Request, Reply>,
    handler: Handler<Request, Reply>,
    options: { readonly queue?: string } = {},
  ): Promise<Subscription> {
    this.#assertOpen();
    const here = await this.#here.subscribe(to, handler, options);
    const listening = this.#listen(to as Subject<unknown, unknown>, options.queue);
    await listening.begun.catch((error: unknown) => {
      here.close();
      throw error;
    });
    let isOpen = true;
    const leave = (): Promise<unknown> => {
      if (!isOpen) return Promise.resolve();
      isOpen = false;
      return this.#leave(listening);
    };
    return {
      close: () => {
        here.close();
        void leave();
      },
      drain: async () => {
        await leave();
        await here.drain();
      },
    };
  }

  #listen(to: Subject<unknown, unknown>, queue: string | undefined): Listening {
    const key = keyOf(to, queue);
    const known = this.#listening.get(key);
    if (known !== undefined) {
      known.count += 1;
      return known;
    }
    this.#last += 1;
    const id = this.#last;
    const begun = this.#store.ask({ op: 'subscribe', listener: id, name: to.name, queue });
    const listening: Listening = { id, to, queue, count: 1, begun };
    this.#listening.set(key, listening);
    this.#byId.set(id, listening);
    return listening;
  }

  /** Resolves when all messages of others have come for which the hub has chosen these listeners. Never rejects. */
  async #leave(listening: Listening): Promise<void> {
    listening.count -= 1;
    if (listening.count > 0) return;
    this.#listening.delete(keyOf(listening.to, listening.queue));
    try {
      await this.#store.ask({ op: 'unsubscribe', listener: listening.id });
    } catch {
      // The connection has ended, so no more messages come.
    }
    this.#byId.delete(listening.id);
  }

  async roundTrip(): Promise<number> {
    const startedAt = performance.now();
    await this.#store.ask({ op: 'ping' });
    return performance.now() - startedAt;
  }

  keyValue<Value>(bucket: Bucket<Value>): Promise<KeyValue<Value>> {
    return this.#store.keyValue(bucket);
  }

  journal<Entry>(definition: JournalDefinition<Entry>): Promise<Journal<Entry>> {
    return this.#store.journal(definition);
  }

  /** A ledger keeps its entries for months, which the memory of a process cannot. */
  ledger(): Promise<Ledger> {
    return Promise.reject(new BusError('refused', 'a ledger needs NATS: workers keep what they share in memory'));
  }

  async drain(): Promise<void> {
    const here = this.#here.drain();
    await this.#frames.end();
    await here;
    this.#fail(() => new BusError('closed', 'the bus is closed'));
  }

  #assertOpen(): void {
    if (!this.connected) throw new BusError('closed', 'the bus is closed');
  }

  /**
   * Only payloads are refused while too many bytes wait: a failure or the end of a watch must not be lost, and is small.
   * @throws {BusError} `closed`, `overloaded`, `payload-too-large`
   */
  #say(head: FromWorker, body?: Uint8Array): void {
    this.#assertOpen();
    if (body !== undefined && this.#frames.isFull)
      throw new BusError('overloaded', 'too many bytes wait for the supervisor of the workers');
    this.#frames.send(head, body);
  }

  #hear(head: FromHub, body: Buffer): void {
    switch (head.is) {
      case 'message':
        this.#take(head.listener, head.from, body);
        return;
      case 'reply':
        this.#reply(head.request, body);
        return;
      case 'failed': {
        const { request, kind, text, incident } = head;
        this.#failOne(request, new BusError(kind, text, undefined, incident));
        return;
      }
      case 'no-responders': {
        const { request } = head;
        if (this.#waiting.get(request)?.isHere === false)
          this.#failOne(request, new BusError('no-responders', 'no process listens'));
        return;
      }
      default:
        this.#store.hear(head, body);
    }
  }

  /** A message of another process. Its sender gets an error if it cannot be read, or if the listener has just left. */
  #take(listener: number, from: RequestAddress | undefined, body: Buffer): void {
    const listening = this.#byId.get(listener);
    const { to, queue } = listening ?? { to: undefined, queue: undefined };
    try {
      if (to === undefined) return this.#refuse(from, new BusError('no-responders', 'no process listens any more'));
      const payload = readRequest(to, body, this.#onFault);
      const isTaken = this.#here.passOn(to, queue, payload, from === undefined ? undefined : this.#answers(to, from));
      if (!isTaken && to.isForEveryone !== true)
        this.#refuse(from, new BusError('no-responders', 'no process listens any more'));
    } catch (error) {
      if (to !== undefined) this.#unreadable(to, from, error);
    }
  }

  /** Sends the answers of a listener to another process. */
  #answers(to: Subject<unknown, unknown>, from: RequestAddress): Answered {
    return {
      reply: (payload) => {
        if (!this.connected) return;
        try {
          this.#say({ is: 'reply', to: from }, encodeReply(payload));
        } catch (error) {
          this.#unreadable(to, from, error);
        }
      },
      fail: (error) => this.#refuse(from, error),
    };
  }

  #unreadable(to: Subject<unknown, unknown>, from: RequestAddress | undefined, error: unknown): void {
    const [kind, incident] = [failureKind(error), newIncident()];
    const what = `a message on ${to.family} could not be read or answered`;
    this.#onFault({ kind: 'message', what, family: to.family, error, incident });
    if (to.isForEveryone !== true) this.#refuse(from, new BusError(kind, failureText(kind, incident), error, incident));
  }

  #refuse(to: RequestAddress | undefined, { kind, message, incident }: BusError): void {
    if (to !== undefined && this.connected) this.#say({ is: 'failed', to, kind, text: message, incident });
  }

  #reply(request: number, body: Buffer): void {
    const waiting = this.#waiting.get(request);
    if (waiting === undefined) return; // B5
    const { observer, to } = waiting;
    let payload: unknown;
    try {
      payload = decodeReply(body);
      // As over NATS, the observer passes over a kind that only a newer version knows: more replies may follow.
      if (to.shapes?.reply?.(payload) === 'junk') throw notFitting('junk');
    } catch (error) {
      const incident = newIncident();
      const what = `a reply on ${to.family} could not be read`;
      this.#onFault({ kind: 'message', what, family: to.family, error, incident });
      this.#failOne(request, new BusError('undecodable', `${what} (incident ${incident})`, error, incident));
      return;
    }
    try {
      observer.reply(payload);
    } catch (error) {
      this.#waiting.take(request);
      failObserver(observer, error, this.#onFault);
    }
  }

  #failOne(request: number, error: BusError): void {
    const waiting = this.#waiting.take(request);
    if (waiting !== undefined) tellFailure(waiting.observer, error, this.#onFault);
  }

  #fail(error: () => BusError): void {
    for (const [request] of this.#waiting.toArray()) this.#failOne(request, error());
    this.#store.fail(error());
  }

  #ended(problem: Error | undefined): void {
    const isExpected = !this.#here.connected;
    if (!isExpected)
      this.#onFault({
        kind: 'connection',
        what: 'the connection to the supervisor of the workers is lost',
        error: problem,
      });
    this.#fail(
      () => new BusError('closed', isExpected ? 'the bus is closed' : 'the supervisor of the workers is gone'),
    );
    if (!isExpected) this.#lost?.();
  }
}

function keyOf({ name }: Subject<unknown, unknown>, queue: string | undefined): string {
  return queue === undefined ? name : `${name} ${queue}`;
}
