/**
 * Traces by OpenTelemetry, named after its conventions for MCP (semantic conventions, gen-ai/mcp): a span for each request of
 * a client at the edge, in its session, and towards the server. Between processes a trace travels as W3C `traceparent`.
 */
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span as OtelSpan,
  type Tracer,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { calledName, version } from '@omnibus/protocol';
import type { Span, SpanSide, SpanSubject, Tracing, TracingOptions } from './tracing.ts';

const kinds: Record<SpanSide, SpanKind> = {
  server: SpanKind.SERVER,
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
};
const propagator = new W3CTraceContextPropagator();
const maxNameLength = 100;
/** Bound on spans that wait to be sent; beyond it the newest are dropped. */
const maxQueueSize = 8_192;
const sendEveryMs = 1_000;

export class OtlpTracing implements Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  constructor({ role, sampleRatio, endpoint, headers, proxyEnv }: TracingOptions) {
    // If it is left out, the exporter reads the standard environment variables itself.
    const url = endpoint === undefined ? {} : { url: `${endpoint.replace(/\/$/, '')}/v1/traces` };
    const exporter = new OTLPTraceExporter({
      ...url,
      headers: { ...headers },
      httpAgentOptions: { keepAlive: true, ...(proxyEnv === undefined ? {} : { proxyEnv }) },
    });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': `omnibus-${role}`,
        'service.namespace': 'omnibus',
        'service.version': version,
        'service.instance.id': String(process.pid),
      }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
      spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize, scheduledDelayMillis: sendEveryMs })],
    });
    this.#tracer = this.#provider.getTracer('omnibus', version);
  }

  start(side: SpanSide, subject: SpanSubject, parent: unknown): Span {
    const carrier = typeof parent === 'string' ? { traceparent: parent } : {};
    const context = propagator.extract(ROOT_CONTEXT, carrier, {
      get: (from: Record<string, string>, key) => from[key],
      keys: (from) => Object.keys(from),
    });
    const target = targetOf(subject);
    const span = this.#tracer.startSpan(
      target === undefined ? subject.method : `${subject.method} ${target}`,
      { kind: kinds[side], attributes: attributesOf(subject, target) },
      context,
    );
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
    propagator.inject(trace.setSpan(ROOT_CONTEXT, this.#span), carrier, {
      set: (to: Record<string, string>, key, value) => (to[key] = value),
    });
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
  const name = method === 'tools/call' || method === 'prompts/get' ? calledName(params) : undefined;
  return typeof name === 'string' ? name.slice(0, maxNameLength) : undefined;
}

function attributesOf({ method, params, attributes }: SpanSubject, target: string | undefined): Attributes {
  const uri = params?.['uri'];
  return {
    'mcp.method.name': method,
    ...(method === 'tools/call' && target !== undefined
      ? { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': target }
      : {}),
    ...(method === 'prompts/get' && target !== undefined ? { 'gen_ai.prompt.name': target } : {}),
    ...(typeof uri === 'string' ? { 'mcp.resource.uri': uri.slice(0, 1_000) } : {}),
    ...attributes,
  };
}
