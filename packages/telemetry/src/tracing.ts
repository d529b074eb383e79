/** What the rest of the gateway knows of traces. OpenTelemetry itself is loaded where somebody asks for them. */
import type { Attributes } from '@opentelemetry/api';

export interface TracingOptions {
  /** Address of an OTLP receiver over HTTP, such as `http://127.0.0.1:4318`; undefined: what OTEL_EXPORTER_OTLP_ENDPOINT says. */
  readonly endpoint: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Share of the traces that begin here that is recorded; a trace of a client keeps the client's choice. */
  readonly sampleRatio: number;
  readonly role: string;
}

export type SpanSide = 'server' | 'internal' | 'client';

/** What a request is about, in the words of the conventions. */
export interface SpanSubject {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>> | undefined;
  readonly attributes?: Attributes;
}

export interface Span {
  /** W3C `traceparent` for whoever goes on with the request. */
  readonly traceparent: string;
  /** @param error a word of a closed set, such as a reason of our table or a code; undefined when it went well. */
  end(error?: string): void;
}

/** Made only where traces are asked for; elsewhere nothing is spent on them. */
export interface Tracing {
  /** @param parent a `traceparent`; anything else begins a trace. */
  start(side: SpanSide, subject: SpanSubject, parent: unknown): Span;
  /** Sends the spans that wait, and ends. */
  stop(): Promise<void>;
}

/** @returns undefined when nobody asked for traces. */
export async function openTracing(options: TracingOptions, env: Readonly<Record<string, string | undefined>>): Promise<Tracing | undefined> {
  const fromEnvironment = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if (options.endpoint === undefined && fromEnvironment === undefined) return undefined;
  const { OtlpTracing } = await import('./otlp-tracing.ts');
  return new OtlpTracing(options);
}
