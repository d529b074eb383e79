/**
 * A client with its connection as session: messages of the client come in on one channel, all messages for it go out on another, and the session
 * ends with the connection. stdio (all revisions), WebSockets, and HTTP+SSE (2024-11-05). Requests of 2026-07-28, which need no session, may come
 * on the same connection.
 */
import { gatewayFaultOf, type Bus, type BusError, type PendingRequest } from '@omnibus/bus';
import {
  errorText,
  fault,
  idSequence,
  isJsonRpcId,
  negotiateRevision,
  newRequestKey,
  newWorkerId,
  notificationText,
  pushStreamIds,
  resultText,
  toErrorObject,
  type Caller,
  type GatewayFault,
  type JsonRpcId,
  type JsonRpcRequest,
  type Limits,
  type OpenReply,
  type PostedMessage,
  type Revision,
  type SessionCommand,
  type StreamId,
} from '@omnibus/protocol';
import type { Boundary } from '../requests/boundary.ts';
import { idOfUnreadable, takesBatches } from '../dialect/legacy/revision.ts';
import { ownContext, type OwnContext } from '../dialect/modern/check-request.ts';
import { smallBytes, type ByteBudget, type ByteLease } from '../bounds/byte-budget.ts';
import { openerOf, type OpeningRate } from '../bounds/opening-rate.ts';
import { idsIn, parseMessage, type ParsedBody } from '../requests/parse-message.ts';
import type { Carrier, Measured, RequestMeter } from '../requests/request-meter.ts';
import { addressOf, type SessionAddress } from '../delivery/session-addresses.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { OpenRequests } from './open-requests.ts';
import { WaitingMessages } from './waiting-messages.ts';

export interface DuplexOptions {
  readonly bus: Bus;
  readonly delivery: Delivery;
  readonly limits: Limits;
  /** The caller at connection; later messages may have other rights (`comesFrom`). */
  readonly caller: Caller;
  readonly meter: RequestMeter;
  readonly carrier: Carrier;
  readonly boundary: Boundary;
  readonly rate: OpeningRate;
  /** Bounds the messages that are worked on, as over HTTP; undefined where the client is a program on the same machine. */
  readonly bodies: ByteBudget | undefined;
  /** Key of the client's address, which is counted with its caller. */
  readonly address: string;
  /** Writes one serialised message. */
  readonly write: (text: string) => void;
  /** Called when the gateway ends the connection. */
  readonly ended: () => void;
}

type State =
  | { readonly kind: 'closed' }
  | { readonly kind: 'opening'; readonly waiting: WaitingMessages; readonly measured: Measured }
  | { readonly kind: 'open'; readonly session: SessionAddress; readonly revision: Revision };

const nextStreamId = idSequence<StreamId>(newWorkerId('duplex'));
const nextPushId = pushStreamIds();

export class DuplexClient {
  readonly #options: DuplexOptions;
  readonly #client = { id: newRequestKey(), isOne: true };
  readonly #opener: string;
  #caller: Caller;
  #state: State = { kind: 'closed' };
  readonly #openRequests: OpenRequests;
  /** Bytes of large messages that are worked on. */
  readonly #lease: ByteLease | undefined;
  /** Bytes of the message that is being received, until the work on it counts them. */
  #received = 0;
  /** Commands to the session that it has not finished with, and the `initialize` that is not answered. */
  #unfinished = 0;
  /** Callers that wait until everything is answered. */
  #awaited: (() => void)[] = [];

  constructor(options: DuplexOptions) {
    this.#options = options;
    this.#openRequests = new OpenRequests(options.bus, () => this.#tellSettled());
    this.#lease = options.bodies?.lease(options.address);
    this.#opener = openerOf(options.caller, options.address);
    this.#caller = { ...options.caller, client: this.#client };
  }

  /** Sets the caller of later messages: the same principal, perhaps with other rights. */
  comesFrom(caller: Caller): void {
    const { origin } = this.#options.caller;
    this.#caller = { ...caller, ...(origin === undefined ? {} : { origin }), client: this.#client };
  }

  /** The same, where the credential of the connection proves something else now. @param hasOtherRights whether rules may decide otherwise by it. */
  proves(caller: Caller, hasOtherRights: boolean): void {
    this.comesFrom(caller);
    if (hasOtherRights) this.#openRequests.endSubscriptions();
  }

  /** Handles a message that was not parsed yet. */
  receiveBytes(bytes: Buffer): void {
    const { boundary, limits } = this.#options;
    boundary.run(
      (gatewayFault) => this.refuse(gatewayFault, undefined),
      () => this.receive(parseMessage(bytes, limits), bytes.length),
    );
  }

  /** Handles a parsed message. @param bytes size of the message, or its upper bound. */
  receive(parsed: ParsedBody, bytes: number): void {
    const id = parsed.kind === 'single' && parsed.message.kind === 'request' ? parsed.message.message.id : undefined;
    this.#options.boundary.run(
      (gatewayFault) => this.refuse(gatewayFault, id),
      () => this.#receive(parsed, bytes),
    );
  }

  /** Receives a message. A large one counts until it is answered. */
  #receive(parsed: ParsedBody, bytes: number): void {
    if (parsed.kind === 'refused' || bytes <= smallBytes) this.#receiveCounted(parsed, bytes, 0);
    else if (this.#lease?.add(bytes) !== false) this.#receiveCounted(parsed, bytes, bytes);
    else
      for (const id of idsIn(parsed.kind === 'batch' ? parsed : { kind: 'batch', messages: [parsed.message] }))
        this.refuse(fault('gateway.busy'), id);
  }

  #receiveCounted(parsed: ParsedBody, bytes: number, counted: number): void {
    this.#received = counted;
    this.#dispatch(parsed, bytes);
    this.#lease?.forget(this.#takeReceived());
  }

  #takeReceived(): number {
    const received = this.#received;
    this.#received = 0;
    return received;
  }

  #dispatch(parsed: ParsedBody, bytes: number): void {
    if (parsed.kind === 'refused') this.refuse(parsed.fault, parsed.id);
    else if (parsed.kind === 'single' && this.#receiveAlone(parsed.message)) return;
    else if (this.#state.kind === 'opening') this.#wait(this.#state, parsed, bytes);
    else if (parsed.kind === 'single') this.#receiveMessage(parsed.message);
    else this.#receiveBatch(parsed);
  }

  /** Keeps a message that comes before the answer to `initialize`, within bounds. */
  #wait(
    state: Extract<State, { kind: 'opening' }>,
    parsed: Exclude<ParsedBody, { kind: 'refused' }>,
    bytes: number,
  ): void {
    const messages = parsed.kind === 'single' ? [parsed.message] : parsed.messages;
    if (parsed.kind === 'single' && this.#answersPing(parsed.message)) return;
    if (state.waiting.keep({ parsed, caller: this.#caller, counted: this.#received }, messages.length, bytes)) {
      this.#takeReceived();
      return;
    }
    for (const message of messages)
      if (message.kind === 'request') this.refuse(fault('session.busy'), message.message.id);
  }

  #receiveBatch(batch: Extract<ParsedBody, { kind: 'batch' }>): void {
    const { write } = this.#options;
    const { messages, refusals = [] } = batch;
    const open = this.#state.kind === 'open' ? this.#state : undefined;
    const isUnsupported = open !== undefined && !takesBatches(open.revision);
    if (isUnsupported || messages.some((message) => ownContext(message, undefined) !== undefined)) {
      // Every request in it gets the error: there is no common answer to a POST here.
      const ids = idsIn(batch);
      for (const id of ids.length === 0 ? [undefined] : ids) this.refuse(fault('batch.unsupported'), id);
    } else if (open !== undefined) {
      this.#send(
        open.session,
        { kind: 'batch', caller: this.#caller, stream: nextStreamId(), messages, refusals },
        undefined,
      );
    } else {
      for (const refusal of refusals) write(refusal);
      for (const message of messages) this.#receiveMessage(message);
    }
  }

  /** Sends an error response; without an id where it belongs to no request. */
  refuse(gatewayFault: GatewayFault, id: JsonRpcId | undefined): void {
    this.#options.meter.refused(gatewayFault.reason);
    this.#answer(gatewayFault, id);
  }

  #answer(gatewayFault: GatewayFault, id: JsonRpcId | undefined): void {
    const answered = id === undefined && this.#state.kind === 'open' ? idOfUnreadable(this.#state.revision) : id;
    this.#options.write(errorText(answered, toErrorObject(gatewayFault)));
  }

  /** Resolves when everything that came so far is answered. Subscriptions are not waited for, since they end with the connection. */
  settled(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited.push(resolve);
    this.#tellSettled();
    return promise;
  }

  #tellSettled(): void {
    if (this.#awaited.length === 0 || this.#unfinished > 0 || this.#openRequests.areUnanswered) return;
    for (const resolve of this.#awaited.splice(0)) resolve();
  }

  #finished(): void {
    this.#unfinished -= 1;
    this.#tellSettled();
  }

  /** Ends the session, because the connection has ended. */
  async end(): Promise<void> {
    const state = this.#state;
    const { bus, delivery, rate } = this.#options;
    this.#openRequests.abandonAll();
    this.#lease?.release();
    this.#state = { kind: 'closed' };
    if (state.kind === 'opening') state.measured.end('client.gone');
    if (state.kind !== 'open' || !bus.connected) return;
    rate.giveBack(this.#opener);
    const ended = Promise.withResolvers<void>();
    const pending = delivery.sessions.request(
      state.session,
      { kind: 'delete', caller: this.#caller },
      { reply: () => ended.resolve(), failed: () => ended.resolve() },
    );
    await ended.promise;
    pending.close();
  }

  /** Handles a message of 2026-07-28. @returns false when it is none. */
  #receiveAlone(posted: PostedMessage): boolean {
    if (posted.kind === 'notification' && posted.message.method === 'notifications/cancelled') {
      const requestId = posted.message.params?.['requestId'];
      if (isJsonRpcId(requestId) && this.#openRequests.cancel(requestId)) return true;
    }
    const context = ownContext(posted, undefined);
    if (context === undefined) return false;
    if (posted.kind === 'request') this.#requestAlone(posted.message, context);
    return true;
  }

  #requestAlone(request: JsonRpcRequest, context: OwnContext): void {
    const { delivery, limits, write } = this.#options;
    const { id } = request;
    const measured = this.#measure(request);
    if ('fault' in context || this.#openRequests.size >= limits.maxInFlightPerSession) {
      const problem = 'fault' in context ? context.fault : fault('session.busy');
      measured.end(problem.reason);
      this.refuse(problem, id);
      return;
    }
    const key = newRequestKey();
    let pending: PendingRequest | undefined;
    // Where streams have no end of their own, a subscription that the gateway ends is cancelled (2026-07-28 basic/utilities/subscriptions).
    const takeBack =
      request.method === 'subscriptions/listen'
        ? (): void =>
            write(notificationText('notifications/cancelled', { requestId: id, reason: 'the subscription has ended' }))
        : undefined;
    const bytes = this.#takeReceived();
    const ended = (): void => void this.#lease?.forget(bytes);
    const done = (): void => {
      pending?.close();
      this.#openRequests.remove(key);
      takeBack?.();
    };
    const failed = (error: BusError): void => {
      this.#refuseRequest(gatewayFaultOf(error) ?? fault('gateway.unavailable'), id, measured);
      done();
    };
    try {
      pending = delivery.stateless.request(
        {
          kind: 'request',
          key,
          caller: this.#caller,
          request,
          context,
          parameterHeaders: undefined,
          ...measured.marks,
        },
        {
          reply: (frame) => {
            if (frame.kind === 'message') write(frame.text);
            if (frame.kind === 'message' && frame.last) measured.end();
            else if (frame.kind === 'refused') this.#refuseRequest(frame.fault, id, measured);
            if (frame.kind !== 'message' || frame.last) done();
          },
          failed,
        },
      );
      this.#openRequests.add({ id, key, pending, measured, takeBack, ended });
    } catch (error) {
      failed(error as BusError); // The bus is closing.
      ended();
    }
  }

  #measure(request: JsonRpcRequest): Measured {
    const { meter, carrier } = this.#options;
    return meter.begin(request, this.#caller, carrier);
  }

  #refuseRequest(gatewayFault: GatewayFault, id: JsonRpcId | undefined, measured: Measured | undefined): void {
    measured?.end(gatewayFault.reason);
    this.#answer(gatewayFault, id);
  }

  /** Answers `ping`, the only request that may come before the answer to `initialize` (lifecycle, Initialization). */
  #answersPing(message: PostedMessage): boolean {
    if (message.kind !== 'request' || message.message.method !== 'ping') return false;
    this.#measure(message.message).end();
    this.#options.write(resultText(message.message.id, '{}'));
    return true;
  }

  #receiveMessage(message: PostedMessage): void {
    if (this.#state.kind === 'open') this.#post(this.#state.session, message);
    else if (message.kind !== 'request' || this.#answersPing(message)) return;
    else if (message.message.method === 'initialize') this.#open(message.message);
    else this.refuse(fault('session.missing', 'send initialize first'), message.message.id);
  }

  #open(request: JsonRpcRequest): void {
    const { delivery, limits, boundary, rate } = this.#options;
    const tooFast = rate.refuses(this.#opener);
    if (tooFast !== undefined) {
      this.refuse(tooFast, request.id);
      return;
    }
    this.#state = { kind: 'opening', waiting: new WaitingMessages(limits), measured: this.#measure(request) };
    this.#unfinished += 1;
    delivery.open({ kind: 'open', caller: this.#caller, request }, (reply) => {
      boundary.run(
        (gatewayFault) => this.refuse(gatewayFault, request.id),
        () => {
          if (reply.kind !== 'opened') rate.giveBack(this.#opener);
          this.#opened(reply, request);
        },
      );
      this.#finished();
    });
  }

  #opened(reply: OpenReply, { id, params }: JsonRpcRequest): void {
    const isGone = this.#state.kind !== 'opening';
    const { waiting, measured } = this.#state.kind === 'opening' ? this.#state : { waiting: [], measured: undefined };
    measured?.end('fault' in reply ? reply.fault.reason : undefined);
    if (reply.kind !== 'opened') {
      this.#state = { kind: 'closed' };
      if (reply.kind === 'answered') this.#options.write(reply.text);
      else this.#answer(reply.fault, id);
    } else {
      const session = addressOf(reply.session, reply.worker);
      this.#state = { kind: 'open', session, revision: negotiateRevision(String(params?.['protocolVersion'])) };
      if (isGone) {
        void this.end();
        return;
      }
      this.#options.write(reply.text);
      this.#send(session, { kind: 'attach', caller: this.#caller, stream: nextPushId(), after: undefined }, undefined);
    }
    const latest = this.#caller;
    for (const { parsed, caller, counted } of waiting) {
      this.#caller = caller;
      this.#receiveCounted(parsed, 0, counted);
    }
    this.#caller = latest;
  }

  #post(session: SessionAddress, message: PostedMessage): void {
    const measured = message.kind === 'request' ? this.#measure(message.message) : undefined;
    const command = {
      kind: 'post',
      caller: this.#caller,
      stream: nextStreamId(),
      message,
      ...measured?.marks,
    } as const;
    this.#send(session, command, message.kind === 'request' ? message.message.id : undefined, measured);
  }

  /** Sends a command to the session; its answers go out on the connection. */
  #send(session: SessionAddress, command: SessionCommand, id: JsonRpcId | undefined, measured?: Measured): void {
    // The stream of an attached client ends with the session.
    let isCounted = command.kind !== 'attach';
    const bytes = isCounted ? this.#takeReceived() : 0;
    const finished = (): void => {
      if (!isCounted) return;
      isCounted = false;
      this.#lease?.forget(bytes);
      this.#finished();
    };
    const failed = (error: BusError): void => {
      this.#refuseRequest(
        gatewayFaultOf(error) ?? fault(error.kind === 'no-responders' ? 'session.unknown' : 'gateway.draining'),
        id,
        measured,
      );
      finished();
    };
    let pending: PendingRequest | undefined;
    if (isCounted) this.#unfinished += 1;
    try {
      pending = this.#options.delivery.sessions.request(session, command, {
        reply: (frame) => {
          if (frame.kind === 'message') this.#options.write(frame.text);
          else if (frame.kind === 'refused') this.#refuseRequest(frame.fault, id, measured);
          const isLast = frame.kind === 'message' ? frame.last : frame.kind !== 'attached';
          if (isLast) pending?.close();
          if (isLast && frame.kind !== 'refused') measured?.end();
          if (isLast && command.kind === 'attach') this.#options.ended();
          if (isLast) finished();
        },
        failed,
      });
    } catch (error) {
      failed(error as BusError);
    }
  }
}
