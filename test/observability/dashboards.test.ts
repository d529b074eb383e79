/** Every panel of every dashboard has data, in a real Prometheus that scrapes a running gateway. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dashboards } from '@omnibus/deploy';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { repeatedly, untilThere, untilTrue } from '../support/paced.ts';
import { startPrometheus, type Prometheus } from '../support/prometheus.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

/** The value of Grafana's `$__rate_interval` for a scrape every second, at least. */
const rateInterval = '10s';

let upstream: Upstream;
let gateway: GatewayHere;
let prometheus: Prometheus;
const over = new AbortController();
let working: Promise<unknown>;

/** Makes calls that succeed, fail, wait for each other and are refused. */
function work(client: RawClient): Promise<void> {
  return repeatedly(over.signal, async () => {
    await Promise.all([
      client.callTool('echo'),
      client.callTool('echo'),
      client.callTool('fails'),
      client.callTool('nobody'),
      client.toolNames(),
    ]);
    await client.post({ jsonrpc: '2.0', id: 99_999, result: {} });
  });
}

beforeAll(async () => {
  upstream = await Upstream.start({
    tools: [tool('echo'), tool('fails')],
    onCall: (call) => {
      if (call.name === 'fails') call.fail(-32_000, 'broken');
      else call.answer(text('echoed'));
    },
  });
  // A selection of tools: without one, the only server would be asked for `nobody`.
  gateway = await startGatewayHere('nats', {
    mcpServers: { up: { url: upstream.url, concurrency: 1, includeTools: ['echo', 'fails'] } },
  });
  const client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('echo'));
  prometheus = await startPrometheus(await Promise.all(gateway.processes.map((process) => gateway.admin(process))));
  working = work(client);
});

afterAll(async () => {
  over.abort();
  await working;
  await prometheus[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

/** Resolves when the query has a result: Prometheus needs a few scrapes for rates. */
function untilShown(query: string): Promise<readonly number[]> {
  return untilThere(async () => {
    const values = await prometheus.query(
      query
        .replaceAll('$__rate_interval', rateInterval)
        .replaceAll('$server', 'up')
        .replaceAll(/\$(job|namespace)/g, '.*'),
    );
    return values.length > 0 ? values : undefined;
  });
}

describe.each(dashboards)('dashboard "$title"', ({ panels }) => {
  it.each(panels)('panel "$title" is not empty', async ({ queries }) => {
    for (const [, query] of queries) expect((await untilShown(query)).length).toBeGreaterThan(0);
  });
});

it('every panel is about the chosen installations, with each of its metrics', () => {
  for (const { queries } of dashboards.flatMap(({ panels }) => panels)) {
    for (const [, query] of queries)
      expect(query.replaceAll(/\w+\{job=~"\$job", namespace=~"\$namespace"/g, ''), query).not.toMatch(
        /\b(omnibus|nodejs|process)_/,
      );
  }
});

it('what the panels say is true', async () => {
  const [panel] = dashboards.flatMap(({ panels }) => panels.filter(({ title }) => title === 'Failed calls'));
  await untilTrue(async () => {
    const [failed = 0] = await untilShown(panel?.queries[0]?.[1] as string);
    // Two calls succeed for each failed one.
    return failed > 0.3 && failed < 0.37;
  });
});
