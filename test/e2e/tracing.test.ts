/** One call is one trace, whichever processes it goes through. */
import { describe, expect, it } from 'vitest';
import { startCollector, type CollectedSpan } from '../support/collector.ts';
import { shapes, startGateway } from '../support/gateway.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${spanId}-01`;

describe.each(shapes)('traces, %s', (shape) => {
  it('a call is one trace from the client to the server, with the names of the conventions', async () => {
    await using collector = await startCollector();
    await using upstream = await Upstream.start({ tools: [tool('echo'), tool('fails')], onCall: (call) => (call.name === 'fails' ? call.fail(-32_000, 'broken') : call.answer(text('echoed'))) });
    await using gateway = await startGateway(shape, { tracing: { endpoint: collector.url }, mcpServers: { up: { url: upstream.url } } });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('echo'));
    const body = (name: string, id: string): object => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });

    await client.post(body('echo', 'traced'), { traceparent });
    const isOf = (id: string) => (span: CollectedSpan): boolean => span.traceId === id;
    const backend = await collector.spans.untilSome((span) => isOf(traceId)(span) && span.kind === 3);
    const session = await collector.spans.untilSome((span) => span.spanId === backend.parentSpanId);
    const edge = await collector.spans.untilSome((span) => span.spanId === session.parentSpanId);
    expect([edge, session, backend].map(({ name }) => name)).toEqual(['tools/call echo', 'tools/call echo', 'tools/call echo']);
    expect(edge).toMatchObject({ kind: 2, traceId, parentSpanId: spanId, attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'echo', 'gen_ai.operation.name': 'execute_tool', 'jsonrpc.request.id': 'traced' } });
    expect(session).toMatchObject({ kind: 1, traceId, attributes: { 'omnibus.server': 'up' } });
    expect(backend).toMatchObject({ traceId, attributes: { 'omnibus.server': 'up' } });
    expect(new Set([edge, session, backend].map(({ service }) => service))).toEqual(new Set(shape === 'nats' ? ['omnibus-edge', 'omnibus-session', 'omnibus-backend'] : ['omnibus-all']));
    // The server can go on with it.
    expect(upstream.calls.values.at(-1)?.meta['traceparent']).toBe(`00-${traceId}-${backend.spanId}-01`);

    await client.post(body('fails', 'failed'));
    const failed = await collector.spans.untilSome(({ name, kind }) => name === 'tools/call fails' && kind === 2);
    expect(failed.traceId).not.toBe(traceId);
    expect(await collector.spans.untilSome(({ name, kind }) => name === 'tools/call fails' && kind === 1)).toMatchObject({ traceId: failed.traceId, status: 2, attributes: { 'error.type': '-32000' } });

    using modern = new ModernClient(gateway.url);
    const parent = '00-11111111111111111111111111111111-2222222222222222-01';
    await modern.call('echo', { _meta: { traceparent: parent } });
    expect(await collector.spans.untilSome((span) => span.traceId === '1'.repeat(32) && span.kind === 3)).toMatchObject({ name: 'tools/call echo' });
  });

  it('without a receiver nothing is traced, and what a client says of its trace reaches the server', async () => {
    await using upstream = await Upstream.start();
    await using gateway = await startGateway(shape, { mcpServers: { up: { url: upstream.url } } });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('echo'));
    await client.callTool('echo', {}, { traceparent });
    expect(upstream.calls.values.at(-1)?.meta['traceparent']).toBe(traceparent);
  });
});
