/** Counts, times and traces the requests of clients by method, for every transport. */
import type { IncomingHttpHeaders } from 'node:http';
import {
  calledName,
  clientMethods,
  isObject,
  type Caller,
  type ErrorReason,
  type JsonRpcRequest,
} from '@omnibus/protocol';
import type { Metrics, Span, Tap, Tracing } from '@omnibus/telemetry';

interface Counted {
  readonly counter: { inc(): void };
  /** Undefined for a stream, which stays open. */
  readonly timer: { observe(seconds: number): void } | undefined;
}

/** What travels with a request, so that other processes observe it too: the W3C `traceparent`, and the tag under which it is watched. */
interface Marks {
  readonly trace?: string;
  readonly tap?: string;
}

/** A request that is observed until its answer. */
export interface Measured {
  readonly marks: Marks;
  /** Its answer has become an event stream. */
  streams(): void;
  /** Called once. @param error why it was refused, in a word of a closed set. */
  end(error?: string): void;
}

const noMarks: Marks = {};

/** The transport of the messages (semantic conventions, MCP: `network.transport`, `network.protocol.name`). */
export type Carrier = 'http' | 'websocket' | 'pipe';

/** A request that operators watch. */
interface Watched {
  readonly tag: string;
  streams(): void;
  end(error?: string): void;
}

export class RequestMeter {
  readonly #metrics: Metrics;
  readonly #tracing: Tracing | undefined;
  readonly #counted: ReadonlyMap<string, Counted>;
  readonly #other: Counted;
  readonly #tap: Pick<Tap, 'isWatched' | 'chooseAny' | 'tell'> | undefined;

  /** @param tracing undefined where tracing is off. */
  constructor(metrics: Metrics, tracing: Tracing | undefined, tap?: Pick<Tap, 'isWatched' | 'chooseAny' | 'tell'>) {
    this.#tap = tap;
    this.#metrics = metrics;
    this.#tracing = tracing;
    const counted = (method: string): Counted => ({
      counter: metrics.requestCounter(method),
      timer: method === 'subscriptions/listen' ? undefined : metrics.requestTimer(method),
    });
    this.#counted = new Map([...clientMethods].map((method) => [method, counted(method)]));
    this.#other = counted('other');
  }

  /** Counts a refusal at the edge; session workers count their own refusals. */
  refused(reason: ErrorReason): void {
    this.#metrics.refused(reason);
  }

  /** Counts a request that is refused before it is observed. */
  count(method: string): void {
    (this.#counted.get(method) ?? this.#other).counter.inc();
  }

  /** Counts a request and begins to observe it. @param headers of its HTTP request, where the client may give its trace context. */
  begin(request: JsonRpcRequest, caller: Caller, carrier: Carrier, headers?: IncomingHttpHeaders): Measured {
    const { timer, counter } = this.#counted.get(request.method) ?? this.#other;
    counter.inc();
    const span = this.#tracing === undefined ? undefined : this.#span(request, caller, carrier, headers);
    const watched = this.#tap?.isWatched === true ? this.#watch(request, caller, span?.traceparent) : undefined;
    return new MeasuredRequest(timer, span, watched);
  }

  /** Starts the span of a request. The trace context of a client is in the parameters (semantic conventions, MCP) or in a header. */
  #span(
    { method, params, id }: JsonRpcRequest,
    { endpoint }: Caller,
    carrier: Carrier,
    headers: IncomingHttpHeaders = {},
  ): Span | undefined {
    const meta = params?.['_meta'];
    const parent = (isObject(meta) ? meta['traceparent'] : undefined) ?? headers['traceparent'];
    const revision = headers['mcp-protocol-version'];
    const attributes = {
      'jsonrpc.request.id': (typeof id === 'object' ? id.rawJSON : String(id)).slice(0, 100),
      'omnibus.endpoint': endpoint,
      ...(carrier === 'pipe'
        ? { 'network.transport': 'pipe' }
        : { 'network.transport': 'tcp', 'network.protocol.name': carrier }),
      ...(revision === undefined ? {} : { 'mcp.protocol.version': String(revision).slice(0, 32) }),
    };
    return this.#tracing?.start(
      'server',
      { method: this.#counted.has(method) ? method : 'other', params, attributes },
      parent,
    );
  }

  /** Decides whether a request is reported to watches of all calls. @param trace its `traceparent`. */
  #watch(
    { method, params }: JsonRpcRequest,
    { endpoint, principal }: Caller,
    trace: string | undefined,
  ): Watched | undefined {
    const tap = this.#tap;
    if (tap === undefined || method === 'subscriptions/listen') return undefined;
    const tag = tap.chooseAny(trace?.split('-')[1]);
    if (tag === undefined) return undefined;
    const name = calledName(params) ?? params?.['uri'];
    const startedAt = performance.now();
    tap.tell(tag, 'edge', 'arrived', {
      method: this.#counted.has(method) ? method : 'other',
      endpoint,
      principal,
      ...(typeof name === 'string' ? { name: name.slice(0, 200) } : {}),
    });
    return {
      tag,
      streams: () => tap.tell(tag, 'edge', 'first-frame', { how: 'sse' }),
      end: (error) =>
        tap.tell(tag, 'edge', error === undefined ? 'answered' : error === 'client.gone' ? 'gone' : 'refused', {
          ms: Math.round((performance.now() - startedAt) * 10) / 10,
          ...(error === undefined ? {} : { reason: error }),
        }),
    };
  }
}

class MeasuredRequest implements Measured {
  readonly marks: Marks;
  readonly #timer: Counted['timer'];
  readonly #span: Span | undefined;
  readonly #watched: Watched | undefined;
  readonly #startedAt = performance.now();

  constructor(timer: Counted['timer'], span: Span | undefined, watched: Watched | undefined) {
    this.#timer = timer;
    this.#span = span;
    this.#watched = watched;
    this.marks =
      span === undefined && watched === undefined
        ? noMarks
        : {
            ...(span === undefined ? {} : { trace: span.traceparent }),
            ...(watched === undefined ? {} : { tap: watched.tag }),
          };
  }

  streams(): void {
    this.#watched?.streams();
  }

  end(error?: string): void {
    this.#timer?.observe((performance.now() - this.#startedAt) / 1_000);
    this.#span?.end(error);
    this.#watched?.end(error);
  }
}
