/** The interface of tracing for the rest of the gateway. */
import type { Attributes } from '@opentelemetry/api';

export interface TracingOptions {
  /** Address of an OTLP receiver over HTTP, such as `http://127.0.0.1:4318`. Default: the environment variable OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Share of the traces begun here that is recorded; for a trace of a client, the client's decision holds. */
  readonly sampleRatio: number;
  readonly role: string;
  /** The variables that name proxies; undefined where there is none. */
  readonly proxyEnv: Record<string, string> | undefined;
}

export type SpanSide = 'server' | 'internal' | 'client';

/** The subject of a request, in the terms of the conventions. */
export interface SpanSubject {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>> | undefined;
  readonly attributes?: Attributes;
}

export interface Span {
  /** The W3C `traceparent` for the next process. */
  readonly traceparent: string;
  /** @param error a word of a closed set, such as a reason of our table or a code; undefined when the request succeeded. */
  end(error?: string): void;
}

/** Made only where tracing is configured; elsewhere it costs nothing. */
export interface Tracing {
  /** @param parent a `traceparent`; anything else begins a new trace. */
  start(side: SpanSide, subject: SpanSubject, parent: unknown): Span;
  /** Sends the waiting spans, and ends. */
  stop(): Promise<void>;
}
