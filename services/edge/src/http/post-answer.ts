/**
 * The answer to one POST: a JSON body if the answer is the first message, an event stream if another message comes first or the answer takes longer
 * than a moment. A POST without requests is answered with 202 or an HTTP error, however long that takes; one with cancelled requests only gets a
 * stream without a response (2025-03-26 to 2025-11-25 transports, Sending Messages to the Server).
 *
 * States: `waiting` (nothing written), `streaming`, `done`. The state is chosen once.
 */
import type { BusError, PendingRequest, ReplyObserver } from '@omnibus/bus';
import type { Deadline } from '@omnibus/lifecycle';
import {
  errorText,
  fault,
  httpStatusOf,
  streamAfterMs,
  toErrorObject,
  wire,
  type GatewayFault,
  type JsonRpcId,
  type MayBeBytes,
  type SessionKey,
  type StreamFrame,
  type StreamId,
} from '@omnibus/protocol';
import { hasPrimedStreams } from '../dialect/legacy/revision.ts';
import type { Measured } from '../requests/request-meter.ts';
import type { Arrival, Gate } from './arrival.ts';
import { EventWriter, type EventWriterOptions } from './event-writer.ts';
import type { Accepted } from './media.ts';

export interface PostAnswerOptions extends EventWriterOptions {
  readonly gate: Gate;
  /** Called when the answer to requests of a session becomes an event stream. */
  readonly opened: (session: SessionKey, stream: StreamId, requests: readonly JsonRpcId[]) => void;
}

/** A POST that is answered. */
interface Posted {
  readonly accepted: Accepted;
  /** The stream on which it is answered, if it needs one. */
  readonly stream: StreamId;
  /** The id of the only request in the POST, for an error that ends it. */
  readonly requestId: JsonRpcId | undefined;
  /** The ids of the requests in a batch, which is answered by one array; undefined when the POST is no batch. */
  readonly batchIds: readonly JsonRpcId[] | undefined;
  /** Whether there is a request in the POST. */
  readonly asks: boolean;
  /** Observes its request; undefined for a batch, and for a POST without a request. */
  readonly measured: Measured | undefined;
  /** The session's key; undefined for a request without a session. */
  readonly session: SessionKey | undefined;
}

interface Answer {
  readonly text: string;
  readonly sequence: number | undefined;
}

type State =
  | { readonly kind: 'waiting'; readonly timer: Deadline | undefined; readonly answers: Answer[] }
  | { readonly kind: 'streaming'; readonly writer: EventWriter }
  | { readonly kind: 'done' };

export class PostAnswer implements ReplyObserver<StreamFrame> {
  /** The request on the bus; undefined until it is sent, and if it could not be sent. */
  pending: PendingRequest | undefined;
  readonly #arrival: Arrival;
  readonly #posted: Posted;
  readonly #options: PostAnswerOptions;
  #state: State;
  #failure: string | undefined;
  /** The stream that its events belong to. */
  #streamId: StreamId;

  constructor(arrival: Arrival, options: PostAnswerOptions, posted: Posted) {
    this.#arrival = arrival;
    this.#posted = posted;
    this.#options = options;
    this.#streamId = posted.stream;
    const timer =
      posted.asks && posted.accepted.events ? options.wheel.schedule(streamAfterMs, () => this.#stream()) : undefined;
    this.#state = { kind: 'waiting', timer, answers: [] };
  }

  reply(frame: StreamFrame): void {
    switch (frame.kind) {
      case 'message':
        this.#message(frame);
        if (!frame.last) return;
        break;
      case 'accepted':
        this.#finish(() => this.#arrival.response.writeHead(202, { 'content-length': 0 }).end());
        break;
      case 'end':
        this.#end();
        break;
      case 'refused':
        this.#options.gate.metrics.refused(frame.fault.reason);
        this.fail(frame.fault);
        break;
      case 'attached':
        this.#streamId = frame.stream;
        if (this.#state.kind === 'streaming') this.#state.writer.continues(frame.stream);
        return;
      case 'moved':
      case 'probed':
        return;
    }
    this.pending?.close();
  }

  failed(error: BusError): void {
    this.fail(
      this.#options.gate.boundary.faultOf(
        error,
        this.#posted.session === undefined ? 'gateway.unavailable' : 'session.unknown',
      ),
    );
  }

  fail(gatewayFault: GatewayFault): void {
    const text = errorText(this.#posted.requestId, toErrorObject(gatewayFault));
    this.#failure = gatewayFault.reason;
    if (this.#state.kind === 'streaming') {
      this.#state.writer.message(text, undefined);
      this.#end();
    } else {
      // An error of a request comes with 200; a POST without requests gets an HTTP error.
      const status = httpStatusOf(gatewayFault.reason);
      if (gatewayFault.reason === 'auth.scope') this.#finish(() => this.#arrival.challenge(gatewayFault, text));
      else this.#finish(() => this.#arrival.json(this.#posted.asks || status >= 400 ? status : 400, text));
    }
  }

  /** The client has disconnected; nothing can be written any more. */
  abandon(): void {
    this.#failure = 'client.gone';
    this.#finish(() => undefined);
  }

  #message(frame: Extract<StreamFrame, { kind: 'message' }>): void {
    const { isAnswer, sequence, last, httpStatus = 200, missingScopes } = frame;
    const { accepted, batchIds } = this.#posted;
    // Of a batch, others may have been answered.
    if (missingScopes !== undefined && this.#state.kind === 'waiting' && batchIds === undefined) {
      this.#failure = 'auth.scope';
      this.#finish(() =>
        this.#arrival.challenge(fault('auth.scope', undefined, { requiredScopes: missingScopes }), frame.text),
      );
      return;
    }
    if (this.#state.kind === 'waiting' && isAnswer && accepted.json) {
      if (batchIds === undefined) {
        this.#state.timer?.cancel();
        this.#arrival.json(httpStatus, (frame as MayBeBytes)[wire] ?? frame.text);
        this.#done();
        return;
      }
      this.#state.answers.push({ text: frame.text, sequence });
      if (last) this.#endBatch(this.#state.answers);
      return;
    }
    // A client that takes no stream hears only answers.
    if (!accepted.events && !isAnswer) return;
    const writer = this.#stream();
    writer?.message((frame as MayBeBytes)[wire] ?? frame.text, sequence);
    if (last) this.#end();
  }

  #endBatch(answers: readonly Answer[]): void {
    this.#finish(() => this.#arrival.json(200, `[${answers.map(({ text }) => text).join(',')}]`));
  }

  #end(): void {
    switch (this.#state.kind) {
      case 'streaming':
        this.#state.writer.end();
        this.#done();
        return;
      case 'waiting': {
        // Every request was cancelled, or all but some of a batch: what there is, is the answer.
        const { answers } = this.#state;
        if (answers.length > 0) this.#endBatch(answers);
        else this.#finish(() => this.#endUnanswered());
        return;
      }
      case 'done':
    }
  }

  /**
   * Ends the answer to a cancelled request, which has no response (2025-11-25 basic/utilities/cancellation), with an empty stream. No event of it has
   * an id, since no client needs to resume it. A client that does not accept streams gets an error as JSON, since there must be some answer.
   */
  #endUnanswered(): void {
    const { accepted, stream, requestId, batchIds } = this.#posted;
    if (accepted.events) {
      new EventWriter(this.#arrival, { id: stream, isPrimed: false }, this.#options).end();
      return;
    }
    const cancelled = toErrorObject(fault('request.cancelled'));
    this.#arrival.json(
      200,
      batchIds === undefined
        ? errorText(requestId, cancelled)
        : `[${batchIds.map((id) => errorText(id, cancelled)).join(',')}]`,
    );
  }

  #stream(): EventWriter | undefined {
    if (this.#state.kind === 'done') return undefined;
    if (this.#state.kind === 'streaming') return this.#state.writer;
    const { answers, timer } = this.#state;
    timer?.cancel();
    const { session, requestId, batchIds, measured } = this.#posted;
    const stream = this.#streamId;
    if (session !== undefined)
      this.#options.opened(session, stream, batchIds ?? (requestId === undefined ? [] : [requestId]));
    const isPrimed = session !== undefined && hasPrimedStreams(this.#arrival.request.headers);
    const writer = new EventWriter(this.#arrival, { id: stream, isPrimed }, this.#options);
    this.#state = { kind: 'streaming', writer };
    measured?.streams();
    for (const { text, sequence } of answers) writer.message(text, sequence);
    return writer;
  }

  #finish(write: () => void): void {
    if (this.#state.kind === 'done') return;
    if (this.#state.kind === 'waiting') this.#state.timer?.cancel();
    write(); // Before `#done`, so that a failed write can still be answered with an error.
    this.#done();
  }

  #done(): void {
    this.#state = { kind: 'done' };
    this.#posted.measured?.end(this.#failure);
  }
}
