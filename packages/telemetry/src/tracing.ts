/**
 * Traces by OpenTelemetry, named after its conventions for MCP (semantic conventions, gen-ai/mcp): a span for each request of
 * a client at the edge, in its session, and towards the server. Between processes a trace travels as W3C `traceparent`.
 */
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Attributes, type Span as OtelSpan, type Tracer } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { version } from '@omnibus/protocol';

export interface TracingOptions {
  /** Address of an OTLP receiver over HTTP, such as `http://127.0.0.1:4318`; undefined: what OTEL_EXPORTER_OTLP_ENDPOINT says. */
  readonly endpoint: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the traces that begin here; those of a client keep the client's choice. */
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
  /** For whoever goes on with the request. */
  readonly traceparent: string;
  /** @param error a word of a closed set, such as a reason of our table or a code; undefined when it went well. */
  end(error?: string): void;
}

/** Made only where traces are asked for; elsewhere nothing is spent on them. */
export interface Tracing {
  /** @param parent a `traceparent`; anything else begins a trace. */
  start(side: SpanSide, subject: SpanSubject, parent: unknown): Span;
  /** Sends what is there. */
  stop(): Promise<void>;
}

const kinds: Record<SpanSide, SpanKind> = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL, client: SpanKind.CLIENT };
const propagator = new W3CTraceContextPropagator();
const maxNameLength = 100;
/** Spans that wait to be sent; the newest are dropped beyond it. */
const maxQueueSize = 8_192;
const sendEveryMs = 1_000;

/** @returns undefined when nobody asked for traces. */
export function openTracing(options: TracingOptions, env: Readonly<Record<string, string | undefined>>): Tracing | undefined {
  const fromEnvironment = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if (options.endpoint === undefined && fromEnvironment === undefined) return undefined;
  // Left out, the exporter reads the standard environment variables itself.
  const url = options.endpoint === undefined ? {} : { url: `${options.endpoint.replace(/\/$/, '')}/v1/traces` };
  return new OtlpTracing(options, new OTLPTraceExporter({ ...url, headers: { ...options.headers } }));
}

class OtlpTracing implements Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  constructor({ role, sampleRatio }: TracingOptions, exporter: OTLPTraceExporter) {
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': `omnibus-${role}`, 'service.namespace': 'omnibus', 'service.version': version, 'service.instance.id': String(process.pid) }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
      spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize, scheduledDelayMillis: sendEveryMs })],
    });
    this.#tracer = this.#provider.getTracer('omnibus', version);
  }

  start(side: SpanSide, subject: SpanSubject, parent: unknown): Span {
    const carrier = typeof parent === 'string' ? { traceparent: parent } : {};
    const context = propagator.extract(ROOT_CONTEXT, carrier, { get: (from: Record<string, string>, key) => from[key], keys: (from) => Object.keys(from) });
    const target = targetOf(subject);
    const span = this.#tracer.startSpan(target === undefined ? subject.method : `${subject.method} ${target}`, { kind: kinds[side], attributes: attributesOf(subject, target) }, context);
    return new RunningSpan(span);
  }

  async stop(): Promise<void> {
    await this.#provider.shutdown();
  }
}

class RunningSpan implements Span {
  readonly #span: OtelSpan;

  constructor(span: OtelSpan) {
    this.#span = span;
  }

  get traceparent(): string {
    const carrier: Record<string, string> = {};
    propagator.inject(trace.setSpan(ROOT_CONTEXT, this.#span), carrier, { set: (to: Record<string, string>, key, value) => (to[key] = value) });
    return carrier['traceparent'] ?? '';
  }

  end(error?: string): void {
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

function targetOf({ method, params }: SpanSubject): string | undefined {
  const name = method === 'tools/call' || method === 'prompts/get' ? params?.['name'] : undefined;
  return typeof name === 'string' ? name.slice(0, maxNameLength) : undefined;
}

function attributesOf({ method, params, attributes }: SpanSubject, target: string | undefined): Attributes {
  const uri = params?.['uri'];
  return {
    'mcp.method.name': method,
    ...(method === 'tools/call' && target !== undefined ? { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': target } : {}),
    ...(method === 'prompts/get' && target !== undefined ? { 'gen_ai.prompt.name': target } : {}),
    ...(typeof uri === 'string' ? { 'mcp.resource.uri': uri.slice(0, 1_000) } : {}),
    ...attributes,
  };
}
