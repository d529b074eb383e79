/** One call is one trace, whichever processes take part in it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import { describe, expect, it } from 'vitest';
import { startCollector, type CollectedSpan } from '../support/collector.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { metricsOf } from '../support/metrics.ts';
import { ModernClient } from '../support/modern-client.ts';
import { omnibusProgram } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${spanId}-01`;

describe.each(shapesOfLane)('traces, %s', (shape) => {
  it('a call is one trace from the client to the server, with the names of the conventions', async () => {
    await using collector = await startCollector();
    await using upstream = await Upstream.start({
      tools: [tool('echo'), tool('fails')],
      onCall: (call) => (call.name === 'fails' ? call.fail(-32_000, 'broken') : call.answer(text('echoed'))),
    });
    await using gateway = await startGatewayHere(shape, {
      tracing: { endpoint: collector.url },
      mcpServers: { up: { url: upstream.url } },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('echo'));
    const body = (name: string, id: string): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });

    await client.post(body('echo', 'traced'), { traceparent });
    const isOf =
      (id: string) =>
      (span: CollectedSpan): boolean =>
        span.traceId === id;
    const backend = await collector.spans.untilSome((span) => isOf(traceId)(span) && span.kind === 3);
    const session = await collector.spans.untilSome((span) => span.spanId === backend.parentSpanId);
    const edge = await collector.spans.untilSome((span) => span.spanId === session.parentSpanId);
    expect([edge, session, backend].map(({ name }) => name)).toEqual([
      'tools/call echo',
      'tools/call echo',
      'tools/call echo',
    ]);
    expect(edge).toMatchObject({
      kind: 2,
      traceId,
      parentSpanId: spanId,
      attributes: {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'echo',
        'gen_ai.operation.name': 'execute_tool',
        'jsonrpc.request.id': 'traced',
      },
    });
    expect(session).toMatchObject({ kind: 1, traceId, attributes: { 'omnibus.server': 'up' } });
    expect(backend).toMatchObject({ traceId, attributes: { 'omnibus.server': 'up' } });
    expect(new Set([edge, session, backend].map(({ service }) => service))).toEqual(
      new Set(shape === 'nats' ? ['omnibus-edge', 'omnibus-session', 'omnibus-backend'] : ['omnibus-all']),
    );
    // The server can continue the trace.
    expect(upstream.calls.values.at(-1)?.meta['traceparent']).toBe(`00-${traceId}-${backend.spanId}-01`);

    // A call through a short list is a call of that tool, at the edge too.
    const listed = new ModernClient(
      gateway.url,
      {},
      { 'omnibus-listing': 'search', traceparent: traceparent.replace('0af', 'fa0') },
    );
    await listed.request('tools/call', { name: 'call_tool', arguments: { name: 'echo', arguments: {} } });
    const isShort = isOf(traceId.replace('0af', 'fa0'));
    const last = await collector.spans.untilSome((span) => isShort(span) && span.kind === 3);
    const first = await collector.spans.untilSome((span) => isShort(span) && span.kind === 2);
    expect([first.name, last.name]).toEqual(['tools/call echo', 'tools/call echo']);

    await client.post(body('fails', 'failed'));
    const failed = await collector.spans.untilSome(({ name, kind }) => name === 'tools/call fails' && kind === 2);
    expect(failed.traceId).not.toBe(traceId);
    expect(
      await collector.spans.untilSome(({ name, kind }) => name === 'tools/call fails' && kind === 1),
    ).toMatchObject({ traceId: failed.traceId, status: 2, attributes: { 'error.type': '-32000' } });

    using modern = new ModernClient(gateway.url);
    const parent = '00-11111111111111111111111111111111-2222222222222222-01';
    await modern.call('echo', { _meta: { traceparent: parent } });
    expect(await collector.spans.untilSome((span) => span.traceId === '1'.repeat(32) && span.kind === 3)).toMatchObject(
      { name: 'tools/call echo' },
    );
  });

  it("without a receiver nothing is traced, and the client's trace context reaches the server", async () => {
    await using upstream = await Upstream.start();
    await using gateway = await startGatewayHere(shape, { mcpServers: { up: { url: upstream.url } } });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('echo'));
    await client.callTool('echo', {}, { traceparent });
    expect(upstream.calls.values.at(-1)?.meta['traceparent']).toBe(traceparent);
  });
});

it('a call over a WebSocket, over HTTP+SSE or over stdio is a trace too, and counted like others', async () => {
  await using collector = await startCollector();
  await using upstream = await Upstream.start();
  const config = { tracing: { endpoint: collector.url }, mcpServers: { up: { url: upstream.url } } };
  await using gateway = await startGatewayHere('nats', config);
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-tracing-'));
  const file = join(folder, 'omnibus.json');
  await writeFile(file, JSON.stringify(config));
  const call = async (
    transport: SSEClientTransport | StdioClientTransport | WebSocketClientTransport,
  ): Promise<void> => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport);
    await client.callTool({ name: 'echo', arguments: {} });
    await client.close();
  };
  const traced = async (attributes: Readonly<Record<string, string>>): Promise<void> => {
    const isOf = (span: CollectedSpan): boolean =>
      Object.entries(attributes).every(([name, value]) => span.attributes[name] === value);
    expect(await collector.spans.untilSome((span) => span.name === 'initialize' && isOf(span))).toMatchObject({
      kind: 2,
    });
    const edge = await collector.spans.untilSome(
      (span) => span.name === 'tools/call echo' && span.kind === 2 && isOf(span),
    );
    const session = await collector.spans.untilSome((span) => span.parentSpanId === edge.spanId);
    expect(await collector.spans.untilSome((span) => span.parentSpanId === session.spanId)).toMatchObject({
      kind: 3,
      traceId: edge.traceId,
    });
  };
  await call(new WebSocketClientTransport(new URL(gateway.url.replace(/^http(.*)mcp$/, 'ws$1ws'))));
  await traced({ 'network.protocol.name': 'websocket', 'network.transport': 'tcp' });
  await call(new SSEClientTransport(new URL(gateway.url.replace(/mcp$/, 'sse'))));
  await traced({ 'network.protocol.name': 'http', 'network.transport': 'tcp' });
  await call(new StdioClientTransport({ command: 'node', args: [omnibusProgram, 'stdio', '--config', file] }));
  await traced({ 'network.transport': 'pipe' });
  const metrics = await metricsOf(gateway.edge);
  expect(metrics.get('omnibus_client_requests_total{method="tools/call"}')).toBe(2);
  expect(metrics.get('omnibus_client_request_duration_seconds_count{method="tools/call"}')).toBe(2);
  await rm(folder, { recursive: true });
});
