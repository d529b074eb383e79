/**
 * The bus between processes. All replies of a process come in over one inbox subscription and are told apart by a token,
 * which costs half of a subscription per request; a request to nobody comes back as NATS' own 503 on that inbox.
 */
import { SlotTable } from '@omnibus/collections';
import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { decode, encode } from '../codec.ts';
import { BusError, newIncident } from '../errors.ts';
import { failObserver, tellFailure } from '../observers.ts';
import type { Bucket, Bus, Handler, Journal, JournalDefinition, KeyValue, OnFault, PendingRequest, ReplyObserver, Subscription } from '../bus.ts';
import type { Subject } from '../subject.ts';
import { Blobs } from './blobs.ts';
import { connectNats, type NatsOptions } from './connect.ts';
import { failureKind, failureOf, failureReply } from './failure.ts';
import { openJournal } from './journal.ts';
import { openKeyValue, readClockSkew } from './key-value.ts';

const noResponders = 503;

export async function openNatsBus(options: NatsOptions, onFault: OnFault): Promise<Bus> {
  const connection = await connectNats(options);
  return new NatsBus(connection, onFault);
}

/** Keeps a large message, which takes a while to fetch, from being overtaken by those sent after it. */
interface Lane {
  tail: Promise<void> | undefined;
}

interface Waiting extends Lane {
  readonly observer: ReplyObserver<unknown>;
  readonly to: Subject<never, unknown>;
}

class NatsBus implements Bus {
  readonly #connection: NatsConnection;
  readonly #onFault: OnFault;
  readonly #blobs: Blobs;
  readonly #inbox: string;
  readonly #waiting = new SlotTable<Waiting>();
  #connected = true;
  #reconnects = 0;

  constructor(connection: NatsConnection, onFault: OnFault) {
    this.#connection = connection;
    this.#onFault = onFault;
    this.#blobs = new Blobs(connection, `omnibus.v1.blob.${randomBytes(12).toString('base64url')}`);
    this.#inbox = `${createInbox()}.`;
    connection.subscribe(`${this.#inbox}*`, { callback: (error, message) => this.#guard('inbox', () => this.#hearReply(error, message)) });
    void this.#followStatus();
  }

  get connected(): boolean {
    return this.#connected && !this.#connection.isClosed();
  }

  publish<Request>(to: Subject<Request, unknown>, payload: Request): void {
    this.#send(to.name, payload, undefined, true);
  }

  request<Request, Reply>(to: Subject<Request, Reply>, payload: Request, observer: ReplyObserver<Reply>): PendingRequest {
    const handle = this.#waiting.add({ observer: observer as ReplyObserver<unknown>, to: to as Subject<never, unknown>, tail: undefined });
    try {
      this.#send(to.name, payload, this.#inbox + handle.toString(36), false);
    } catch (error) {
      this.#waiting.take(handle);
      throw error;
    }
    return { close: () => void this.#waiting.take(handle) };
  }

  async subscribe<Request, Reply = never>(
    to: Subject<Request, Reply>, handler: Handler<Request, Reply>, options: { readonly queue?: string } = {},
  ): Promise<Subscription> {
    this.#assertOpen();
    const lane: Lane = { tail: undefined };
    const hear = (message: Msg): void => {
      const reply = (payload: Reply): void => {
        if (message.reply === undefined || message.reply === '') return;
        try {
          this.#send(message.reply, payload, undefined, false);
        } catch (error) {
          this.#handlerFailed(to, message, error);
        }
      };
      const failed = (error: unknown): void => this.#handlerFailed(to, message, error);
      const handle = (bytes: Uint8Array): void => {
        const payload = decode(bytes);
        // A kind that only a newer version knows is refused like junk: whoever asks must not wait for what nobody does.
        const verdict = to.shapes?.request(payload) ?? 'fits';
        if (verdict !== 'fits') throw notFitting(verdict);
        const done = handler(payload as Request, reply);
        if (done instanceof Promise) done.catch(failed);
      };
      this.#receive(message, lane, handle, failed);
    };
    const subscription = this.#connection.subscribe(to.name, {
      ...(options.queue === undefined ? {} : { queue: options.queue }),
      callback: (error, message) => {
        if (error) this.#onFault({ kind: 'connection', what: `the subscription ${to.family} failed`, error });
        else this.#guard(to.family, () => hear(message));
      },
    });
    await this.#connection.flush();
    return {
      close: () => {
        if (!subscription.isClosed()) subscription.unsubscribe();
      },
      drain: async () => {
        // A connection that is gone brings nothing more, and would be waited for.
        if (!this.connected) subscription.unsubscribe();
        else if (!subscription.isClosed()) await subscription.drain().catch(() => undefined);
        await lane.tail;
      },
    };
  }

  get reconnects(): number {
    return this.#reconnects;
  }

  async roundTrip(): Promise<number> {
    const startedAt = performance.now();
    await this.#connection.flush();
    return performance.now() - startedAt;
  }

  clockSkew(): Promise<number> {
    return readClockSkew(this.#connection);
  }

  readonly isShared = true;

  keyValue<Value>(bucket: Bucket<Value>): Promise<KeyValue<Value>> {
    return openKeyValue<Value>(this.#connection, bucket, this.#onFault);
  }

  journal<Entry>(definition: JournalDefinition<Entry>): Promise<Journal<Entry>> {
    return openJournal<Entry>(this.#connection, this, definition, this.#onFault);
  }

  async drain(): Promise<void> {
    // Without a server there is nothing to drain to, and a drain would fail.
    if (this.connected) await this.#connection.drain();
    else await this.#connection.close();
    for (const [handle, waiting] of this.#waiting.toArray()) {
      this.#waiting.take(handle);
      tellFailure(waiting.observer, new BusError('closed', 'the bus is closed'), this.#onFault);
    }
  }

  get #isClosed(): boolean {
    return this.#connection.isClosed() || this.#connection.isDraining();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new BusError('closed', 'the bus is closed');
  }

  #send(name: string, payload: unknown, reply: string | undefined, shared: boolean): void {
    this.#assertOpen();
    const bytes = encode(payload);
    const replyTo = reply === undefined ? {} : { reply };
    if (this.#blobs.needsClaim(bytes)) {
      this.#connection.publish(name, '', { ...replyTo, headers: this.#blobs.keep(bytes, shared) });
    } else {
      this.#connection.publish(name, bytes, replyTo);
    }
  }

  /** B6. What could not be read, or be sent in answer, is not the handler's fault, but whoever asked is told all the same. */
  #handlerFailed(to: Subject<unknown, unknown>, message: Msg, error: unknown): void {
    const kind = failureKind(error);
    const incident = newIncident();
    if (kind === 'handler-failed') this.#onFault({ kind: 'handler', what: `the handler of ${to.name} failed`, error, incident });
    else this.#onFault({ kind: 'message', what: `a message on ${to.family} could not be read or answered`, family: to.family, error, incident });
    if (message.reply === undefined || message.reply === '' || to.isForEveryone === true || this.#isClosed) return;
    this.#connection.publish(message.reply, '', { headers: failureReply(kind, incident) });
  }

  /** What throws into the client ends the connection with it: headers that are none, for one, which anybody can send. */
  #guard(family: string, hear: () => void): void {
    try {
      hear();
    } catch (error) {
      this.#onFault({ kind: 'message', what: `a message on ${family} could not be taken`, family, error });
    }
  }

  #hearReply(error: Error | null, message: Msg): void {
    if (error) {
      this.#onFault({ kind: 'connection', what: 'the inbox failed', error });
      return;
    }
    const handle = Number.parseInt(message.subject.slice(this.#inbox.length), 36);
    const waiting = this.#waiting.get(handle);
    if (waiting === undefined) return;
    const fail = (failure: BusError): void => {
      if (this.#waiting.get(handle) !== waiting) return; // B5
      this.#waiting.take(handle);
      tellFailure(waiting.observer, failure, this.#onFault);
    };
    if (message.data.length === 0 && message.headers?.code === noResponders) {
      fail(new BusError('no-responders', 'nobody listens on that subject')); // B4
      return;
    }
    const hear = (bytes: Uint8Array): void => {
      if (this.#waiting.get(handle) !== waiting) return; // B5
      const failure = failureOf(message);
      if (failure !== undefined) {
        fail(failure);
        return;
      }
      const payload = decode(bytes);
      // A reply of a kind that only a newer version knows is for the observer to pass over: more may follow.
      if (waiting.to.shapes?.reply?.(payload) === 'junk') throw notFitting('junk');
      this.#tell(handle, waiting, payload);
    };
    const unread = (problem: unknown): void => {
      const { family } = waiting.to;
      this.#onFault({ kind: 'message', what: `a reply from ${family} could not be read`, family, error: problem });
      fail(problem instanceof BusError ? problem : new BusError('lost', 'a reply could not be read', problem));
    };
    this.#receive(message, waiting, hear, unread);
  }

  #tell(handle: number, waiting: Waiting, payload: unknown): void {
    try {
      waiting.observer.reply(payload);
    } catch (error) {
      this.#waiting.take(handle);
      failObserver(waiting.observer, error, this.#onFault); // B6
    }
  }

  /** Handles one message in the order of its lane, once all of it is there. */
  #receive(message: Msg, lane: Lane, handle: (bytes: Uint8Array) => void, failed: (error: unknown) => void): void {
    const claim = this.#blobs.claimOf(message);
    if (claim === undefined && lane.tail === undefined) {
      try {
        handle(message.data);
      } catch (error) {
        failed(error);
      }
      return;
    }
    const step: Promise<void> = (lane.tail ?? Promise.resolve())
      .then(async () => handle(claim === undefined ? message.data : await this.#blobs.fetch(claim)))
      .catch(failed)
      .finally(() => {
        if (lane.tail === step) lane.tail = undefined;
      });
    lane.tail = step; // B2
  }

  async #followStatus(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'disconnect') {
        this.#connected = false;
        this.#onFault({ kind: 'connection', what: 'the connection to NATS is lost; reconnecting' });
      } else if (status.type === 'reconnect') {
        this.#connected = true;
        this.#reconnects += 1;
        this.#onFault({ kind: 'connection', what: 'reconnected to NATS' });
      }
    }
  }
}

function notFitting(verdict: 'junk' | 'unknown'): BusError {
  return new BusError('undecodable', verdict === 'junk' ? 'the payload does not have the shape of its subject' : 'the payload is of a kind that this version does not know');
}
