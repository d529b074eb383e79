/** An OTLP receiver that collects spans over HTTP, as JSON. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Heard } from '@omnibus/bus/testing';

export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** 1 internal, 2 server, 3 client (OTLP, `SpanKind`). */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2 for an error. */
  readonly status: number | undefined;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, 'service' | 'attributes' | 'status'> & {
        readonly attributes: readonly Attribute[];
        readonly status?: { readonly code?: number };
      })[];
    }[];
  }[];
}

export interface Collector {
  readonly url: string;
  readonly spans: Heard<CollectedSpan>;
  /** The requests as they were received. */
  readonly bodies: readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
}

const plain = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

export async function startCollector(): Promise<Collector> {
  const spans = new Heard<CollectedSpan>();
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const body = Buffer.concat(chunks).toString();
        bodies.push(body);
        const { resourceSpans } = JSON.parse(body) as Export;
        for (const { resource, scopeSpans } of resourceSpans) {
          const service = String(plain(resource.attributes)['service.name']);
          for (const { spans: batch } of scopeSpans)
            for (const span of batch)
              spans.add({
                ...span,
                service,
                parentSpanId: span.parentSpanId || undefined,
                attributes: plain(span.attributes),
                status: span.status?.code,
              });
        }
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}
