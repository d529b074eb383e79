/** The bus between processes: sends messages and passes incoming ones to handlers. Replies come in through `inbox.ts`, large messages through `blobs.ts` and `claims.ts`. */
import { PermissionViolationError, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { isObject, type JsonObject, type MayBeBytes } from '@omnibus/protocol';
import { encode, encodeReply } from '../codec.ts';
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
import type { Subject } from '../subject.ts';
import { withoutBytes } from './away.ts';
import { awayHeaders, Blobs, minPayloadBytes, orderOf } from './blobs.ts';
import { Fetches } from './claims.ts';
import { connectNats, type NatsOptions } from './connect.ts';
import { failureKind, readRequest } from '../failure.ts';
import { failureReply } from './failure.ts';
import { Inbox, takesTextBeside } from './inbox.ts';
import { Streams } from './jetstream.ts';
import { openJournal } from './journal.ts';
import { openKeyValue } from './key-value.ts';
import { Lanes } from './lanes.ts';
import { openLedger } from './ledger.ts';
import { Outbox } from './outbox.ts';
import { nameAt, repliesAt, usualPlace, type NatsPlace } from './place.ts';

export async function openNatsBus(options: NatsOptions, onFault: OnFault): Promise<Bus> {
  const connection = await connectNats(options);
  const { max_payload: maxPayload = 0 } = connection.info ?? {};
  if (maxPayload < minPayloadBytes) {
    await connection.close();
    throw new BusError(
      'payload-too-large',
      `NATS takes messages of ${maxPayload} bytes at most; at least ${minPayloadBytes} are needed: raise max_payload`,
    );
  }
  return new NatsBus(connection, options, onFault);
}

const empty = new Uint8Array(0);

/** The client of NATS refuses a message that it was given: the server now takes smaller ones only. */
const untaken = (error: unknown): BusError =>
  new BusError('payload-too-large', `NATS does not take a message: ${String(error)}`, error);

class NatsBus implements Bus {
  readonly #connection: NatsConnection;
  readonly #outbox: Outbox;
  readonly #place: NatsPlace;
  readonly #onFault: OnFault;
  readonly #blobs: Blobs;
  readonly #lanes: Lanes;
  readonly #inbox: Inbox;
  readonly #streams: Streams;
  /** The beginning of the subjects that replies may be sent to. */
  readonly #replies: string;
  readonly #afterReconnect = new Set<() => void>();
  #connected = true;
  #reconnects = 0;

  constructor(
    connection: NatsConnection,
    { inboxPrefix, place = usualPlace, connectTimeoutMs }: NatsOptions,
    onFault: OnFault,
  ) {
    this.#connection = connection;
    this.#outbox = new Outbox(connection);
    this.#place = place;
    this.#onFault = onFault;
    this.#replies = repliesAt(place, inboxPrefix);
    this.#streams = new Streams(connection, place, onFault, connectTimeoutMs);
    this.#blobs = new Blobs(connection, place, this.#replies);
    const fetches = new Fetches(connection, place);
    this.#lanes = new Lanes(fetches);
    this.#inbox = new Inbox(inboxPrefix === undefined ? undefined : nameAt(place, inboxPrefix), fetches, onFault);
    connection.subscribe(this.#inbox.subject, {
      callback: (error, message) => this.#guard('inbox', () => this.#inbox.hear(error, message)),
    });
    void this.#followStatus();
  }

  get connected(): boolean {
    return this.#connected && !this.#isClosed;
  }

  publish<Request>(to: Subject<Request, unknown>, payload: Request): void {
    this.#send(nameAt(this.#place, to.name), encode(payload), undefined, true, (error) => this.#untaken(to, error));
  }

  request<Request, Reply>(
    to: Subject<Request, Reply>,
    payload: Request,
    observer: ReplyObserver<Reply>,
  ): PendingRequest {
    const pending = this.#inbox.open(to, observer);
    try {
      this.#send(nameAt(this.#place, to.name), encode(payload), pending.replyTo, false, (error) =>
        this.#inbox.refuse(pending.replyTo, untaken(error)),
      );
    } catch (error) {
      pending.close();
      throw error;
    }
    return pending;
  }

  async subscribe<Request, Reply = never>(
    to: Subject<Request, Reply>,
    handler: Handler<Request, Reply>,
    options: { readonly queue?: string } = {},
  ): Promise<Subscription> {
    this.#assertOpen();
    /** Messages that wait for large ones. */
    const waiting = new Set<Promise<void>>();
    let refused: Error | undefined;
    const hear = (message: Msg): void => {
      this.#checkReply(message);
      const { reply: replyTo } = message;
      const reply = this.#replier(to, replyTo);
      const failed = (error: unknown): void => this.#handlerFailed(to, replyTo, error);
      const handle = (bytes: Uint8Array): void => {
        const done = handler(readRequest(to, bytes, this.#onFault) as Request, reply);
        if (done instanceof Promise) done.catch(failed);
      };
      const order = orderOf(message);
      try {
        const later =
          order === undefined ? handle(message.data) : this.#lanes.receive(order, message.data, handle, failed);
        if (later === undefined) return;
        waiting.add(later);
        void later.then(() => waiting.delete(later));
      } catch (error) {
        failed(error);
      }
    };
    const subscription = this.#connection.subscribe(nameAt(this.#place, to.name), {
      ...(options.queue === undefined ? {} : { queue: options.queue }),
      callback: (error, message) => {
        if (error) {
          refused = error;
          this.#onFault({ kind: 'connection', what: `the subscription ${to.family} failed`, error });
        } else this.#guard(to.family, () => hear(message));
      },
    });
    await this.#flush();
    if (refused !== undefined) throw new BusError('closed', `NATS does not let this process hear ${to.name}`, refused);
    return {
      close: () => {
        if (!subscription.isClosed()) subscription.unsubscribe();
      },
      drain: async () => {
        // A connection that is gone would be waited for without bringing anything more.
        if (!this.connected) subscription.unsubscribe();
        else if (!subscription.isClosed()) await subscription.drain().catch(() => undefined);
        await Promise.all(waiting);
      },
    };
  }

  afterReconnect(run: () => void): Watch {
    const each = (): void => run();
    this.#afterReconnect.add(each);
    return { close: () => void this.#afterReconnect.delete(each) };
  }

  get reconnects(): number {
    return this.#reconnects;
  }

  async roundTrip(): Promise<number> {
    const startedAt = performance.now();
    await this.#flush();
    return performance.now() - startedAt;
  }

  readonly isShared = true;
  readonly outlives = true;
  readonly isDurable = true;

  get region(): string | undefined {
    return this.#place.region;
  }

  keyValue<Value>(bucket: Bucket<Value>): Promise<KeyValue<Value>> {
    return openKeyValue<Value>(
      { connection: this.#connection, place: this.#place, streams: this.#streams, onFault: this.#onFault },
      bucket,
    );
  }

  get missing(): readonly string[] {
    return this.#streams.missing;
  }

  journal<Entry>(definition: JournalDefinition<Entry>): Promise<Journal<Entry>> {
    return openJournal<Entry>(
      { connection: this.#connection, place: this.#place, streams: this.#streams, bus: this },
      definition,
      this.#onFault,
    );
  }

  ledger(definition: LedgerDefinition): Promise<Ledger> {
    return openLedger(this.#connection, this.#place, this.#streams, definition);
  }

  async drain(): Promise<void> {
    this.#outbox.flush();
    // Without a connection there is nothing to drain, and draining would fail.
    if (this.connected) await this.#connection.drain();
    else await this.#connection.close();
    this.#inbox.fail(() => new BusError('closed', 'the bus is closed'));
  }

  /** Resolves when NATS has everything that was sent. */
  #flush(): Promise<void> {
    this.#outbox.flush();
    return this.#connection.flush();
  }

  get #isClosed(): boolean {
    return this.#connection.isClosed() || this.#connection.isDraining();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new BusError('closed', 'the bus is closed');
  }

  #send(
    name: string,
    bytes: Uint8Array,
    reply: string | undefined,
    shared: boolean,
    refused: (error: unknown) => void,
  ): void {
    this.#assertOpen();
    const replyTo = reply === undefined ? {} : { reply };
    if (this.#blobs.needsClaim(bytes)) {
      this.#outbox.publish(name, empty, { ...replyTo, headers: this.#blobs.keep(bytes, shared) }, refused);
    } else {
      const after = this.#blobs.after;
      this.#outbox.publish(name, bytes, after === undefined ? replyTo : { ...replyTo, headers: after }, refused);
    }
  }

  /** Encodes the reply of a handler. It must not hold the message, since handlers keep it as long as a stream lasts. */
  #replier<Reply>(to: Subject<unknown, unknown>, replyTo: string | undefined): (payload: Reply) => void {
    const failed = (error: unknown): void => this.#handlerFailed(to, replyTo, error);
    const refused = (error: unknown): void => failed(untaken(error));
    const write = takesTextBeside(replyTo) ? encodeReply : encode;
    return (payload) => {
      if (replyTo === undefined || replyTo === '') return;
      try {
        if (!isObject(payload) || !this.#sendWithoutBytes(replyTo, payload, refused))
          this.#send(replyTo, write(payload), undefined, false, refused);
      } catch (error) {
        failed(error);
      }
    };
  }

  /** Sends a reply with large bytes, which stay here until a process fetches them. @returns false for another reply, which is still to be sent. */
  #sendWithoutBytes(replyTo: string, payload: JsonObject & MayBeBytes, refused: (error: unknown) => void): boolean {
    const sent = withoutBytes(payload, (bytes) => this.#blobs.offer(bytes));
    if (sent === undefined) return false;
    this.#assertOpen();
    this.#outbox.publish(replyTo, sent.body, { headers: awayHeaders(sent.claim) }, refused);
    return true;
  }

  /**
   * A sender chooses the subject for replies, and NATS does not check whether the sender may publish there. This process may, so it publishes in inboxes only.
   * Messages of a consumer of JetStream have such a subject too.
   * @throws {BusError} `undecodable`
   */
  #checkReply({ reply }: Msg): void {
    if (reply === undefined || reply === '' || reply.startsWith(this.#replies)) return;
    throw new BusError(
      'undecodable',
      `it wants its reply on ${JSON.stringify(reply.slice(0, 200))}, which is no inbox of this installation`,
    );
  }

  /** B6. A message that could not be read or answered is not the handler's fault, but its sender gets an error. */
  #handlerFailed(to: Subject<unknown, unknown>, replyTo: string | undefined, error: unknown): void {
    const kind = failureKind(error);
    const incident = newIncident();
    if (kind === 'handler-failed')
      this.#onFault({ kind: 'handler', what: `the handler of ${to.name} failed`, error, incident });
    else
      this.#onFault({
        kind: 'message',
        what: `a message on ${to.family} could not be read or answered`,
        family: to.family,
        error,
        incident,
      });
    if (replyTo === undefined || replyTo === '' || to.isForEveryone === true || this.#isClosed) return;
    this.#outbox.publish(replyTo, empty, { headers: failureReply(kind, incident) }, (refused) =>
      this.#untaken(to, refused),
    );
  }

  /** No process waits for the message. */
  #untaken({ family }: { readonly family: string }, error: unknown): void {
    this.#onFault({ kind: 'message', what: `a message on ${family} could not be sent`, family, error: untaken(error) });
  }

  /** An exception inside the NATS client ends the connection, and any client can cause one, for example by malformed headers. */
  #guard(family: string, hear: () => void): void {
    try {
      hear();
    } catch (error) {
      this.#onFault({ kind: 'message', what: `a message on ${family} could not be taken`, family, error });
    }
  }

  /** NATS has refused a message, so no process received it: its sender must not wait. */
  #refused(error: Error): void {
    // A user without the right to create a stream gets this error where the stream is missing.
    if (error instanceof PermissionViolationError && /\.STREAM\.(CREATE|UPDATE)\./.test(error.subject)) return;
    this.#onFault({ kind: 'connection', what: `NATS refuses: ${error.message}`, error });
    if (!(error instanceof PermissionViolationError) || error.operation !== 'publish') return;
    this.#inbox.fail(({ name }) =>
      nameAt(this.#place, name) === error.subject
        ? new BusError('no-responders', `NATS does not let this process say anything on ${name}`, error)
        : undefined,
    );
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
        this.#streams.check();
        for (const run of [...this.#afterReconnect]) this.#guard('reconnect', run);
      } else if (status.type === 'slowConsumer') {
        this.#onFault({ kind: 'connection', what: 'this process takes its messages slower than NATS brings them' });
      } else if (status.type === 'error') {
        this.#refused(status.error);
      }
    }
  }
}
