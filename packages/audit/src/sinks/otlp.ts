/** OpenTelemetry logs over HTTP, as JSON (OTLP 1.x, "JSON Protobuf Encoding"). The record is the body; its members are attributes as well. */
import type { Batch } from '../lines.ts';
import type { Sink } from '../sink.ts';
import { post } from './webhook.ts';

export interface OtlpSinkOptions {
  readonly name: string;
  /** Address of the receiver, without a path. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
}

type Value =
  | { readonly stringValue: string }
  | { readonly doubleValue: number }
  | { readonly intValue: string }
  | { readonly boolValue: boolean };

/** Severity number of OpenTelemetry's logs data model. */
const info = 9;

export class OtlpSink implements Sink {
  readonly name: string;
  readonly batch = { lines: 500, bytes: 512 * 1024 } as const;
  readonly #options: OtlpSinkOptions;

  constructor(options: OtlpSinkOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async write(lines: Batch): Promise<void> {
    const { endpoint, headers, resource } = this.#options;
    const body = {
      resourceLogs: [
        {
          resource: { attributes: attributesOf(resource) },
          scopeLogs: [{ scope: { name: 'omnibus.audit' }, logRecords: lines.texts().map(logOf) }],
        },
      ],
    };
    await post(`${endpoint.replace(/\/$/, '')}/v1/logs`, JSON.stringify(body), {
      'content-type': 'application/json',
      ...headers,
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function logOf(line: string): object {
  const {
    time,
    trace_id: traceId,
    span_id: spanId,
    ...members
  } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const nanoseconds = `${Date.parse(String(time))}000000`;
  return {
    timeUnixNano: nanoseconds,
    observedTimeUnixNano: nanoseconds,
    severityNumber: info,
    severityText: 'INFO',
    body: { stringValue: line },
    attributes: attributesOf(members),
    ...(typeof traceId === 'string' ? { traceId } : {}),
    ...(typeof spanId === 'string' ? { spanId } : {}),
  };
}

function attributesOf(members: Readonly<Record<string, unknown>>): object[] {
  return Object.entries(members).map(([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: unknown): Value {
  switch (typeof value) {
    case 'string':
      return { stringValue: value };
    case 'boolean':
      return { boolValue: value };
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
    default:
      return { stringValue: JSON.stringify(value) };
  }
}
