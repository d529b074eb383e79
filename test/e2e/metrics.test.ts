/** The metrics of a gateway, whose number clients cannot increase. */
import { describe, expect, it } from 'vitest';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { metricsOf } from '../support/metrics.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { EraServer } from '../matrix/era-server.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';

/** The sum over all parts, without the collections of garbage of the test's own process, which begin at any time. */
async function allOf(gateway: GatewayHere): Promise<ReadonlyMap<string, number>> {
  const parts = await Promise.all([...new Set(gateway.processes)].map(metricsOf));
  const sums = new Map<string, number>();
  for (const [name, value] of parts.flatMap((part) => [...part]))
    if (!name.startsWith('nodejs_gc_')) sums.set(name, (sums.get(name) ?? 0) + value);
  return sums;
}

describe.each(shapesOfLane)('metrics, %s', (shape) => {
  it('count what happens, by server and by tool', async () => {
    await using upstream = await Upstream.start({
      tools: [tool('echo'), tool('slow')],
      onCall: (call) => (call.name === 'echo' ? call.answer(text('echoed')) : undefined),
    });
    await using era = await EraServer.start('2025-11-25');
    await using gateway = await startGatewayHere(shape, {
      mcpServers: {
        up: { url: upstream.url, concurrency: 1, tools: { slow: { timeout: '200ms' } } },
        era: { url: era.url },
      },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('up__echo') && names.includes('era__form'));
    const slow = client.callTool('up__slow');
    await upstream.calls.until(1);
    const waiting = client.callTool('up__echo');
    expect((await slow).last.error?.data).toMatchObject({ reason: 'upstream.timeout' });
    await waiting;
    using modern = new ModernClient(gateway.url);
    const { requests, requestState } = required(await modern.call('era__form'));
    const values = await allOf(gateway);
    expect(
      Object.fromEntries(
        [
          'omnibus_tool_calls_total{server="up",tool="echo",result="result"}',
          'omnibus_tool_calls_total{server="up",tool="slow",result="cancelled"}',
          'omnibus_upstream_timeouts_total{server="up"}',
          'omnibus_upstream_queue_wait_seconds_count{server="up"}',
          'omnibus_sessions{state="ready"}',
          'omnibus_parked_calls',
          'omnibus_client_requests_in_flight',
          'omnibus_upstream_state{server="up",state="ready"}',
        ].map((name) => [name, values.get(name)]),
      ),
    ).toEqual({
      'omnibus_tool_calls_total{server="up",tool="echo",result="result"}': 1,
      'omnibus_tool_calls_total{server="up",tool="slow",result="cancelled"}': 1,
      'omnibus_upstream_timeouts_total{server="up"}': 1,
      'omnibus_upstream_queue_wait_seconds_count{server="up"}': 1,
      'omnibus_sessions{state="ready"}': 1,
      omnibus_parked_calls: 1,
      omnibus_client_requests_in_flight: 1,
      'omnibus_upstream_state{server="up",state="ready"}': 1,
    });
    expect(values.get('omnibus_client_request_duration_seconds_count{method="tools/call"}')).toBe(3);
    expect(values.has('nodejs_eventloop_lag_p99_seconds')).toBe(true);
    // The end of each role would wait for the call whose question is open.
    const [key = ''] = Object.keys(requests);
    const inputResponses = { [key]: { action: 'accept', content: { answer: 'yes' } } };
    expect((await modern.call('era__form', { requestState, inputResponses })).last.result).toBeDefined();
  });

  it('have no labels that a client can choose, and at most 500 tools of a server', async () => {
    await using upstream = await Upstream.start({
      tools: Array.from({ length: 700 }, (_, index) => tool(`tool${index}`)),
      onCall: (call: Call) => call.answer(text('done')),
    });
    await using gateway = await startGatewayHere(shape, { mcpServers: { up: { url: upstream.url } } });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.length === 700);
    const nonsense = async (index: number): Promise<void> => {
      await client.request(`nonsense/${index}`);
      await client.callTool(`nonsense${index}`);
      await client.request('resources/read', { uri: `nonsense://${index}` });
      await client.post(
        { jsonrpc: '2.0', id: index, method: `else/${index}` },
        { 'mcp-session-id': `nonsense-${index}`, 'user-agent': `nonsense-${index}` },
      );
    };
    await client.callTool('tool0');
    await nonsense(0);
    const before = (await allOf(gateway)).size;
    for (let index = 1; index < 50; index += 1) await nonsense(index);
    expect((await allOf(gateway)).size - before).toBeLessThan(10);
    await Promise.all(Array.from({ length: 700 }, (_, index) => client.callTool(`tool${index}`)));
    const tools = [...(await allOf(gateway)).keys()].filter((name) =>
      name.startsWith('omnibus_tool_call_seconds_total'),
    );
    expect(tools.length).toBe(501);
    expect(tools).toContain('omnibus_tool_call_seconds_total{server="up",tool="other"}');
  });
});
