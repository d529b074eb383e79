/**
 * The answer to one POST: a JSON body when the answer is the first thing to say, an event stream as soon as something else
 * comes first or the answer takes longer than a moment. A POST that asks nothing has 202 or an HTTP error, however long that takes; one
 * whose requests were all cancelled has a stream without a response (2025-03-26 to 2025-11-25 transports, Sending Messages to the Server).
 *
 * States: `waiting` (nothing written), `streaming`, `done`. The choice is made once.
 */
import type { Deadline } from '@omnibus/lifecycle';
import { errorText, fault, httpStatusOf, streamAfterMs, toErrorObject, type GatewayFault, type JsonRpcId, type SessionKey, type StreamFrame, type StreamId } from '@omnibus/protocol';
import type { Span } from '@omnibus/telemetry';
import type { Watched } from '../requests/request-meter.ts';
import type { Arrival } from './arrival.ts';
import { EventWriter, type EventStream, type EventWriterOptions } from './event-writer.ts';
import type { Accepted } from './steps/read-accept.ts';

export interface PostAnswerOptions extends EventWriterOptions {
  readonly accepted: Accepted;
  readonly stream: EventStream;
  /** The id of the only request in the POST, for an error that ends it. */
  readonly requestId: JsonRpcId | undefined;
  /** The ids of the requests in a batch: they are answered by one array. Undefined when the POST was no batch. */
  readonly batchIds: readonly JsonRpcId[] | undefined;
  /** Whether something in the POST has to be answered. */
  readonly asks: boolean;
  /** Counts how long the answer took; undefined for what is not to be counted. */
  readonly timer: { observe(seconds: number): void } | undefined;
  /** Undefined where nobody traces. */
  readonly span: Span | undefined;
  /** Undefined where nobody watches it. */
  readonly watched: Watched | undefined;
  /** The session's key; undefined for a request without a session. */
  readonly session: SessionKey | undefined;
  /** Hears that the answer to requests of a session has become an event stream. */
  readonly opened: (session: SessionKey, stream: StreamId, requests: readonly JsonRpcId[]) => void;
}

interface Answer {
  readonly text: string;
  readonly sequence: number | undefined;
}

type State =
  | { readonly kind: 'waiting'; readonly timer: Deadline | undefined; readonly answers: Answer[] }
  | { readonly kind: 'streaming'; readonly writer: EventWriter }
  | { readonly kind: 'done' };

export class PostAnswer {
  readonly #arrival: Arrival;
  readonly #options: PostAnswerOptions;
  readonly #startedAt = performance.now();
  #state: State;
  #failure: string | undefined;

  constructor(arrival: Arrival, options: PostAnswerOptions) {
    this.#arrival = arrival;
    this.#options = options;
    const timer = options.asks && options.accepted.events ? options.wheel.schedule(streamAfterMs, () => this.#stream()) : undefined;
    this.#state = { kind: 'waiting', timer, answers: [] };
  }

  /** @returns true when this was the last frame. */
  frame(frame: StreamFrame): boolean {
    switch (frame.kind) {
      case 'message':
        this.#message(frame);
        return frame.last;
      case 'accepted':
        this.#finish(() => this.#arrival.response.writeHead(202, { 'content-length': 0 }).end());
        return true;
      case 'end':
        this.#end();
        return true;
      case 'refused':
        this.fail(frame.fault);
        return true;
      case 'attached':
      case 'moved':
      case 'probed':
        return false;
    }
  }

  fail(gatewayFault: GatewayFault): void {
    const text = errorText(this.#options.requestId, toErrorObject(gatewayFault));
    this.#failure = gatewayFault.reason;
    if (this.#state.kind === 'streaming') {
      this.#state.writer.message(text, undefined);
      this.#end();
    } else {
      // What a request is told with 200 is an HTTP error to whoever asked nothing.
      const status = httpStatusOf(gatewayFault.reason);
      this.#finish(() => this.#arrival.json(this.#options.asks || status >= 400 ? status : 400, text));
    }
  }

  /** The client has gone; nothing can be written any more. */
  abandon(): void {
    this.#failure = 'client.gone';
    this.#finish(() => undefined);
  }

  #message({ text, isAnswer, sequence, last, httpStatus = 200 }: Extract<StreamFrame, { kind: 'message' }>): void {
    const { accepted, batchIds } = this.#options;
    if (this.#state.kind === 'waiting' && isAnswer && accepted.json) {
      if (batchIds === undefined) {
        this.#finish(() => this.#arrival.json(httpStatus, text));
        return;
      }
      this.#state.answers.push({ text, sequence });
      if (last) this.#endBatch(this.#state.answers);
      return;
    }
    // A client that takes no stream hears only answers.
    if (!accepted.events && !isAnswer) return;
    const writer = this.#stream();
    writer?.message(text, sequence);
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
   * A cancelled request has no response (2025-11-25 basic/utilities/cancellation), and a POST of one has a stream or JSON. Nobody need come
   * back to this stream: no event of it has an id. A client that takes no stream is told in JSON: it must be told something.
   */
  #endUnanswered(): void {
    const { accepted, stream, requestId, batchIds } = this.#options;
    if (accepted.events) {
      new EventWriter(this.#arrival, { ...stream, isPrimed: false }, this.#options).end();
      return;
    }
    const cancelled = toErrorObject(fault('request.cancelled'));
    this.#arrival.json(200, batchIds === undefined ? errorText(requestId, cancelled) : `[${batchIds.map((id) => errorText(id, cancelled)).join(',')}]`);
  }

  #stream(): EventWriter | undefined {
    if (this.#state.kind === 'done') return undefined;
    if (this.#state.kind === 'streaming') return this.#state.writer;
    const { answers, timer } = this.#state;
    timer?.cancel();
    const { session, stream, requestId, batchIds, opened } = this.#options;
    if (session !== undefined) opened(session, stream.id, batchIds ?? (requestId === undefined ? [] : [requestId]));
    const writer = new EventWriter(this.#arrival, stream, this.#options);
    this.#state = { kind: 'streaming', writer };
    for (const { text, sequence } of answers) writer.message(text, sequence);
    return writer;
  }

  #finish(write: () => void): void {
    if (this.#state.kind === 'done') return;
    if (this.#state.kind === 'waiting') this.#state.timer?.cancel();
    write(); // Before it is done: what cannot be written can still be refused.
    this.#done();
  }

  #done(): void {
    this.#state = { kind: 'done' };
    this.#options.timer?.observe((performance.now() - this.#startedAt) / 1_000);
    this.#options.span?.end(this.#failure);
    this.#options.watched?.end(this.#failure);
  }
}
