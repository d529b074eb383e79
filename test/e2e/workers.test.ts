/** `omnibus serve --workers`: several processes at one address, without NATS. */
import { once } from 'node:events';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revisions } from '../matrix/era-server.ts';
import { EraClient } from '../matrix/era-client.ts';
import { saidHere } from '../support/command-here.ts';
import { endNow, writeConfig, type GatewayUnderTest } from '../support/gateway.ts';
import { fixturePath } from '../support/processes.ts';
import { ModernClient } from '../support/modern-client.ts';
import { repeatedly, untilThere } from '../support/paced.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';
import { startWorkers, workersOf } from '../support/worker-processes.ts';

const pipe = { command: 'node', args: [fixturePath('stdio-server')] };
const info = { name: 'test', version: '1.0.0' };

/** The text of the admin port, until it fits. */
async function adminUntil(gateway: GatewayUnderTest, path: string, fits: (text: string) => boolean): Promise<string> {
  const address = await gateway.admin(gateway.edge);
  return untilThere(async () => {
    const said = await (await fetch(`http://${address}${path}`)).text();
    return fits(said) ? said : undefined;
  });
}

const isReady = (text: string): boolean => text === 'ready\n';

describe('two workers', () => {
  let gateway: GatewayUnderTest;
  let upstream: Upstream;

  beforeAll(async () => {
    upstream = await Upstream.start({
      tools: [tool('slow'), tool('echo')],
      onCall: (call) => (call.name === 'echo' ? call.answer(text('echoed')) : undefined),
    });
    gateway = await startWorkers({
      prefix: 'always',
      timeouts: { drain: '1m' },
      mcpServers: { pipe, up: { url: upstream.url } },
    });
    await adminUntil(gateway, '/readyz', isReady);
  });

  afterAll(async () => {
    await endNow(gateway);
    await upstream[Symbol.asyncDispose]();
  });

  it.each(revisions)(
    'serve clients of %s, whose requests come to either worker, with one program',
    async (revision) => {
      const clients = await Promise.all(
        Array.from({ length: 4 }, () => EraClient.open({ url: gateway.url, revision, capabilities: {}, answers: {} })),
      );
      // Requests that wait at the same time come over connections of their own, which the workers take in turn.
      const calls = clients.flatMap((client) => Array.from({ length: 4 }, () => client.call('pipe__pid')));
      const pids = new Set((await Promise.all(calls)).map(({ result }) => JSON.stringify(result['content'])));
      expect(pids.size).toBe(1);
      const echoes = await Promise.all(clients.map((client) => client.call('up__echo')));
      expect(echoes.map(({ result }) => result['content'])).toEqual(clients.map(() => text('echoed')['content']));
      for (const client of clients) client[Symbol.dispose]();
    },
  );

  it.each([
    ['SDK 1.x over HTTP', () => new StreamableHTTPClientTransport(new URL(gateway.url))],
    ['SDK 1.x over HTTP+SSE', () => new SSEClientTransport(new URL(gateway.url.replace(/mcp$/, 'sse')))],
    [
      'SDK 1.x over a WebSocket',
      () => {
        Object.assign(globalThis, { WebSocket });
        return new WebSocketClientTransport(new URL(gateway.url.replace(/^http/, 'ws').replace(/mcp$/, 'ws')));
      },
    ],
  ] as const)('serve official clients: %s', async (_name, transport) => {
    const clients = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const client = new ClientOne(info);
        // The SDK declares optional members without `undefined`.
        await client.connect(transport() as Parameters<ClientOne['connect']>[0]);
        return client;
      }),
    );
    const calls = clients.map((client) => client.callTool({ name: 'pipe__echo', arguments: { of: 'workers' } }));
    expect((await Promise.all(calls)).map(({ content }) => content)).toEqual(
      clients.map(() => [{ type: 'text', text: '{"of":"workers"}' }]),
    );
    await Promise.all(clients.map((client) => client.close()));
  });

  it.each([
    ['2025-11-25', {}],
    ['2026-07-28', { versionNegotiation: { mode: 'auto' } }],
  ] as const)('serve official clients: SDK 2.x at %s', async (revision, options) => {
    const client = new ClientTwo(info, options);
    await client.connect(new TransportTwo(new URL(gateway.url)));
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const result = await client.callTool({ name: 'pipe__echo', arguments: { of: 'workers' } });
    expect(result.content).toEqual([{ type: 'text', text: '{"of":"workers"}' }]);
    await client.close();
  });

  it('count what each of them does, at the one admin port', async () => {
    const metrics = await adminUntil(gateway, '/metrics', () => true);
    for (const worker of ['supervisor', '0', '1'])
      expect(metrics).toMatch(new RegExp(`omnibus_build_info\\{[^}]*worker="${worker}"\\} 1`));
    expect(metrics.match(/# TYPE omnibus_build_info gauge/g)).toHaveLength(1);
  });

  it('are shown in the console, each with its role', async () => {
    const isWhole = (said: string): boolean => (said.match(/"pid":/g)?.length ?? 0) >= 3;
    const said = JSON.parse(await adminUntil(gateway, '/api/v1/processes', isWhole)) as {
      readonly processes: readonly { readonly role: string; readonly pid: number }[];
    };
    expect(said.processes.map(({ role }) => role).toSorted()).toEqual(['all', 'all', 'supervisor']);
    for (const { pid } of workersOf(gateway)) expect(said.processes.map((each) => each.pid)).toContain(pid);
  });

  it('are replaced one after the other on SIGHUP, and no request of either era fails', async () => {
    const clients = await Promise.all(Array.from({ length: 3 }, () => RawClient.open(gateway.url)));
    const modern = Array.from({ length: 3 }, () => new ModernClient(gateway.url));
    const failures: unknown[] = [];
    const over = new AbortController();
    const goOn = (ask: () => Promise<{ readonly last: Message }>): Promise<void> =>
      repeatedly(over.signal, async () => {
        const { last } = await ask();
        if (!JSON.stringify(last.result ?? {}).includes('content')) failures.push(last);
      });
    const slow = clients.map((client) => client.callTool('up__slow'));
    const held = await upstream.calls.until(1);
    expect(held.length).toBeGreaterThan(0);
    const running = [
      ...clients.map((client, index) => goOn(() => client.callTool(index % 2 === 0 ? 'up__echo' : 'pipe__echo'))),
      ...modern.map((client, index) => goOn(() => client.call(index % 2 === 0 ? 'up__echo' : 'pipe__echo'))),
    ];
    const before = workersOf(gateway).map(({ pid }) => pid);
    gateway.edge.kill('SIGHUP');
    // From here on the first worker leaves. Its calls end before it does.
    await gateway.edge.line(/"worker":"0-3","part":"all","msg":"ready"/);
    for (const call of upstream.calls.values) if (call.name === 'slow') call.answer(text('content at last'));
    await gateway.edge.line(/all workers were replaced/);
    over.abort();
    await Promise.all(running);
    expect(failures).toEqual([]);
    expect((await Promise.all(slow)).map(({ last }) => last.error)).toEqual(slow.map(() => undefined));
    for (const pid of before) expect(() => process.kill(pid, 0)).toThrow();
    for (const client of clients) client[Symbol.dispose]();
  });

  it('outlive each other: sessions of a killed worker go on at the other one, and it is started again', async () => {
    const clients = await Promise.all(Array.from({ length: 6 }, () => RawClient.open(gateway.url)));
    const calls = upstream.calls.values.length;
    const slow = clients.map((client) =>
      client.callTool('up__slow').then(
        ({ last }) => last,
        () => undefined,
      ),
    );
    await upstream.calls.until(calls + clients.length);
    const killed = workersOf(gateway).findLast(({ slot }) => slot === 0)?.pid as number;
    process.kill(killed, 'SIGKILL');
    await gateway.edge.line(/"worker":0,"status":"SIGKILL"/);
    for (const call of upstream.calls.values.slice(calls)) call.answer(text('content'));
    // A call of the killed worker is lost with its connection, or gets an error. None is executed twice.
    await Promise.all(slow);
    expect(upstream.calls.values.length).toBe(calls + clients.length);
    for (const client of clients) expect((await client.callTool('up__echo')).last.result).toEqual(text('echoed'));
    await adminUntil(gateway, '/readyz', isReady);
    await adminUntil(gateway, '/metrics', (said) =>
      said.includes('omnibus_worker_restarts_total{worker="supervisor"} 1'),
    );
    for (const client of clients) {
      expect((await client.callTool('pipe__pid')).last.error).toBeUndefined();
      client[Symbol.dispose]();
    }
  });
});

it('workers show the servers that have not settled at the start, and a reload refuses what the start refuses', async () => {
  const silent = { command: 'node', args: ['-e', 'setInterval(() => {}, 1e6)'] };
  await using gateway = await startWorkers({ mcpServers: { pipe, silent } });
  await gateway.edge.line(/servers {3}\d of 2 up/);
  await gateway.edge.line(/… silent +is still connecting/);
  await gateway.configure({ mcpServers: { pipe: { ...pipe, definitions: 'pin' } } });
  await gateway.edge.line(/the approved definitions of pipe would be lost with the supervisor.*is not applied/);
  await gateway.configure({ mcpServers: { pipe }, sessions: { store: './sessions' } });
  await gateway.edge.line(/sessions of several workers end with the supervisor.*is not applied/);
});

it('all workers stop in order, after running calls, when the gateway stops while one of them is replaced', async () => {
  await using upstream = await Upstream.start({ tools: [tool('slow')], onCall: () => undefined });
  await using gateway = await startWorkers({
    prefix: 'always',
    timeouts: { drain: '1m' },
    mcpServers: { pipe, up: { url: upstream.url } },
  });
  await adminUntil(gateway, '/readyz', isReady);
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('up__slow'));
  const slow = client.callTool('up__slow');
  const [call] = await upstream.calls.until(1);
  const ended = once(gateway.edge.child, 'exit');
  gateway.edge.kill('SIGHUP');
  await gateway.edge.line(/"worker":"0-3","endpoint".*"msg":"listening"/);
  gateway.edge.kill('SIGTERM');
  await gateway.edge.line(/"msg":"stopping"/);
  call?.answer(text('at last'));
  expect((await slow).last.result).toEqual(text('at last'));
  expect(await ended).toEqual([0, null]);
  for (const worker of ['0-1', '1-2', '0-3'])
    await gateway.edge.line(new RegExp(`"worker":"${worker}".*"msg":"stopped"`));
});

it('a worker that loses its connection to the supervisor ends, and is started again', async () => {
  // On this signal, a worker closes its pipe to the hub.
  const cut = `process.on('SIGUSR2',()=>process._getActiveHandles().find(({_handle})=>_handle?.fd===4)?.destroy())`;
  await using gateway = await startWorkers({ mcpServers: { pipe } }, 2, {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(cut)}`,
  });
  await adminUntil(gateway, '/readyz', isReady);
  process.kill(workersOf(gateway).find(({ slot }) => slot === 1)?.pid as number, 'SIGUSR2');
  await gateway.edge.line(/"worker":1,"status":1,.*is started again/);
  await gateway.edge.line(/"worker":"1-3".*"msg":"ready"/);
  await adminUntil(gateway, '/readyz', isReady);
  using client = await RawClient.open(gateway.url);
  expect((await client.callTool('pipe__pid')).last.error).toBeUndefined();
});

it.each([
  [['--bus', 'nats://127.0.0.1:4222'], /--workers is for one machine without NATS/],
  [['--role', 'edge'], /--workers: each worker has all roles; leave out --role/],
])('`serve --workers 2 %s` says what is wrong, and starts nothing', async (words, problem) => {
  const config = await writeConfig({ mcpServers: {} });
  expect(await saidHere(['serve', '--config', config, '--workers', '2', ...words])).toEqual({
    status: 78,
    output: expect.stringMatching(problem) as string,
  });
});
