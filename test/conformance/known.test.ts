/**
 * The official suite's checks of servers against a gateway with `auth`. The suite sends no credentials, so a proxy on loopback adds those of a known
 * caller to its requests, and changes nothing else.
 */
import { createServer, request as send, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { isLongLane } from '../support/lane.ts';
import { startFixture } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { runSuite } from './run-suite.ts';

const stack = new AsyncDisposableStack();
let gateway: GatewayHere;
let proxy: Server;

/** The revisions of the runs, each with its own fixture. The gate runs the larger one. */
const runs = isLongLane ? (['2025-11-25', '2026-07-28'] as const) : (['2026-07-28'] as const);
const nameOf = (run: string): string => `for-${run}`;

beforeAll(async () => {
  const keys = stack.use(await Keys.make('suite'));
  const servers = await Promise.all(
    runs.map(async (run) => {
      const [, url] = (await stack.use(startFixture('conformance-server')).line(/^listening (.+)$/)) as unknown as [
        string,
        string,
      ];
      return [nameOf(run), { url }] as const;
    }),
  );
  gateway = stack.use(await startGatewayHere('embedded', { auth: keys.auth, mcpServers: Object.fromEntries(servers) }));
  proxy = createServer((request, response) => {
    const passed = send(
      new URL(request.url ?? '/', gateway.url),
      { method: request.method, headers: { ...request.headers, ...keys.headersOf('suite') } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  using client = await RawClient.open(gateway.url, '2025-11-25', keys.headersOf('suite'));
  // Names have prefixes only if there are several servers.
  await client.untilTools((names) =>
    servers.every(([server]) => names.some((name) => servers.length === 1 || name.startsWith(`${server}__`))),
  );
});

afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await stack.disposeAsync();
});

const inFront = (run: (typeof runs)[number]): string =>
  `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp/${nameOf(run)}`;

it('without credentials, nothing is served to the suite', async () => {
  expect((await new RawClient(gateway.url).initialize('2025-11-25')).status).toBe(401);
});

it.concurrent.each(runs)(
  'a known caller passes conformance 0.2.0-alpha.12 `server --requirements %s`',
  { timeout: 180_000 },
  async (run) => {
    const { status, output, scenarios } = await runSuite('conformance-next', inFront(run), ['--requirements', run]);
    expect(status, output).toBe(0);
    expect(scenarios.size).toBeGreaterThanOrEqual(33);
  },
);
