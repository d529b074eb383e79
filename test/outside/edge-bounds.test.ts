/**
 * Clients that take too much: connections, sessions, memory for messages they send and answers they do not read. Each address has a share, so others are
 * not affected.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { collectedMemoryOf, measured, metricsOf } from '../support/metrics.ts';
import { dial, exchange, readAnswer, requestText } from '../support/raw-http.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const megabyte = 1024 * 1024;
const json = ['content-type: application/json', 'accept: application/json, text/event-stream'];
const initializeAs = (address: string): readonly string[] => [
  'POST /mcp HTTP/1.1',
  ...json,
  `x-forwarded-for: ${address}`,
];
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});
const reasonOf = (body: string): unknown =>
  (JSON.parse(body) as { error: { data: { reason: unknown } } }).error.data.reason;

let stack: AsyncDisposableStack;
let upstream: Upstream;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  upstream = stack.use(
    await Upstream.start({
      tools: [tool('echo'), tool('large')],
      onCall: (call) => call.answer(call.name === 'large' ? text('x'.repeat(60 * megabyte)) : text('echoed')),
    }),
  );
});

afterEach(() => stack.disposeAsync());

interface Started<G> {
  readonly gateway: G;
  readonly client: RawClient;
}

const start = async (config: object): Promise<Started<GatewayHere>> =>
  used(await startGatewayHere('embedded', { mcpServers: { up: { url: upstream.url } }, ...config }));

/** In a process of its own, for tests with much memory. */
const startProcess = async (config: object): Promise<Started<GatewayUnderTest>> =>
  used(await startGateway('embedded', { mcpServers: { up: { url: upstream.url } }, ...config }, measured));

async function used<G extends GatewayHere | GatewayUnderTest>(gateway: G): Promise<Started<G>> {
  stack.use(gateway);
  const client = await RawClient.open(gateway.url);
  stack.defer(() => client[Symbol.dispose]());
  await client.untilTools((names) => names.includes('echo'));
  return { gateway, client };
}

async function sockets(url: string, count: number): Promise<Socket[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => dial(url)));
  stack.defer(() => {
    for (const socket of opened) socket.destroy();
  });
  return opened;
}

const metric = async (gateway: GatewayHere | GatewayUnderTest, name: string): Promise<number> =>
  (await metricsOf(gateway.edge)).get(name) as number;

describe('sessions', () => {
  it('are opened by one address no faster than its rate, beyond which it gets 429 with Retry-After; other addresses and open sessions are not affected', async () => {
    const { gateway, client } = await start({
      limits: { sessionBurst: 20, sessionsPerSecond: 1 },
      security: { trustedProxies: ['127.0.0.0/8'] },
    });
    const open = (address: string): ReturnType<typeof exchange> =>
      exchange(gateway.url, requestText(gateway.url, initializeAs(address), initialize));
    const answers = await Promise.all(Array.from({ length: 60 }, () => open('198.51.100.7')));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(20);
    for (const { head, body } of refused) {
      expect(head).toMatch(/\nretry-after: [1-9]/i);
      expect(reasonOf(body)).toBe('session.rate');
    }
    expect((await open('198.51.100.8')).status).toBe(200);
    expect((await open('1.1.1.1, 198.51.100.9')).status).toBe(200);
    // Nineteen are within the burst of an address of its own, and beyond what comes back to the other one meanwhile.
    const behind = await Promise.all(Array.from({ length: 19 }, () => open('198.51.100.10, 198.51.100.7')));
    expect(behind.map(({ status }) => status)).toContain(429);
    expect((await client.callTool('echo')).status).toBe(200);
    expect((await metricsOf(gateway.edge)).get('omnibus_refusals_total{reason="session.rate"}')).toBeGreaterThan(20);
  });

  it('of many clients behind one address can be opened at the same time', async () => {
    const { gateway } = await start({});
    const clients = await Promise.all(
      Array.from({ length: 500 }, () =>
        exchange(gateway.url, requestText(gateway.url, ['POST /mcp HTTP/1.1', ...json], initialize)),
      ),
    );
    expect(clients.every(({ status }) => status === 200)).toBe(true);
  });

  it('that have ended make room for others of their address, over HTTP and over a WebSocket', async () => {
    const { gateway } = await start({ limits: { sessionBurst: 4, sessionsPerSecond: 1 } });
    for (let count = 0; count < 20; count += 1) {
      using client = await RawClient.open(gateway.url);
      expect(await client.delete()).toBe(204);
    }
    for (let count = 0; count < 20; count += 1) {
      const socket = new WebSocket(gateway.url.replace('http', 'ws').replace('/mcp', '/ws'), 'mcp');
      await once(socket, 'open');
      socket.send(initialize);
      const [answer] = (await once(socket, 'message')) as [Buffer];
      expect(JSON.parse(answer.toString())).toMatchObject({ result: {} });
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    }
  });

  it.each(['a WebSocket', 'HTTP+SSE'])('over %s are opened no faster either', async (way) => {
    const { gateway } = await start({ limits: { sessionBurst: 1, sessionsPerSecond: 1 } });
    let heard = '';
    const overWebSocket = async (): Promise<() => unknown> => {
      const socket = new WebSocket(gateway.url.replace('http', 'ws').replace('/mcp', '/ws'), 'mcp');
      stack.defer(() => socket.terminate());
      socket.on('message', (data: Buffer) => (heard += data.toString()));
      await once(socket, 'open');
      return () => socket.send(initialize);
    };
    const overEvents = async (): Promise<() => unknown> => {
      let stream = '';
      const socket = await dial(gateway.url);
      stack.defer(() => void socket.destroy());
      socket.on('data', (data: Buffer) => {
        stream += data.toString();
        heard += data.toString();
      });
      socket.write(requestText(gateway.url, ['GET /sse HTTP/1.1', 'accept: text/event-stream']));
      const address = await vi.waitFor(() => {
        const found = /data: (\/messages\S+)/.exec(stream)?.[1];
        expect(found).toBeDefined();
        return found as string;
      }, 45_000);
      return () => exchange(gateway.url, requestText(gateway.url, [`POST ${address} HTTP/1.1`, ...json], initialize));
    };
    // All begin at once, when all are connected: some may still reach the edge in a later second and get its share.
    const begins = await Promise.all(Array.from({ length: 12 }, way === 'a WebSocket' ? overWebSocket : overEvents));
    await Promise.all(begins.map((begin) => begin()));
    await expect.poll(() => heard).toContain('session.rate');
  });
});

describe('bodies that are not finished', () => {
  const half = (url: string, bytes: number): Buffer =>
    Buffer.concat([
      Buffer.from(requestText(url, ['POST /mcp HTTP/1.1', ...json, `content-length: ${8 * megabyte}`])),
      Buffer.alloc(bytes, 0x20),
    ]);

  it('use no more memory than their common bound; small bodies are read meanwhile', async () => {
    const { gateway, client } = await startProcess({
      limits: { maxPendingBodyBytes: 64 * megabyte, maxPendingBodyBytesPerAddress: 32 * megabyte },
    });
    const before = await collectedMemoryOf(gateway.edge);
    const opened = await sockets(gateway.url, 30);
    const answers = Promise.all(opened.map((socket) => readAnswer(socket)));
    for (const socket of opened) socket.write(half(gateway.url, 7 * megabyte));
    await expect.poll(() => metric(gateway, 'omnibus_refusals_total{reason="gateway.busy"}')).toBeGreaterThan(20);
    expect(await metric(gateway, 'omnibus_client_body_bytes')).toBeLessThanOrEqual(64 * megabyte);
    expect((await client.callTool('echo')).last.result).toEqual(text('echoed'));
    // Without the bound, the process would hold 30 halves of 7 MB. Pieces of refused bodies are garbage, which is not counted.
    expect(((await collectedMemoryOf(gateway.edge)) - before) / megabyte).toBeLessThan(100);
    for (const socket of opened) socket.destroy();
    const refused = (await answers).filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    expect(reasonOf((refused[0] as { body: string }).body)).toBe('gateway.busy');
    await expect.poll(() => metric(gateway, 'omnibus_client_body_bytes')).toBe(0);
  });

  it('and headers that trickle in are refused after their time limit, with 408', async () => {
    const { gateway, client } = await start({ timeouts: { request: '2s' } });
    const [headers, body] = (await sockets(gateway.url, 2)) as [Socket, Socket];
    const answers = Promise.all([readAnswer(headers), readAnswer(body)]);
    headers.write('POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow');
    body.write(half(gateway.url, 10));
    for (const { status, body: text_ } of await answers)
      expect([status, reasonOf(text_)]).toEqual([408, 'http.timeout']);
    expect((await client.callTool('echo')).status).toBe(200);
  });

  it('of WebSockets count toward the same bound, in one frame or in many', async () => {
    const { gateway, client } = await start({
      limits: { maxPendingBodyBytes: 64 * megabyte, maxPendingBodyBytesPerAddress: 16 * megabyte },
    });
    const opened = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const socket = new WebSocket(gateway.url.replace('http', 'ws').replace('/mcp', '/ws'), 'mcp');
        socket.on('error', () => undefined);
        await once(socket, 'open');
        return socket;
      }),
    );
    stack.defer(() => {
      for (const socket of opened) socket.terminate();
    });
    const closed = opened.map((socket) => once(socket, 'close'));
    const send = (socket: WebSocket): void => {
      for (let piece = 0; piece < 5; piece += 1)
        socket.send(Buffer.alloc(megabyte, 0x20), { fin: false, binary: false });
    };
    // Three have room; if all began at once, the edge could refuse each of them.
    for (const socket of opened.slice(0, 3)) send(socket);
    await expect.poll(() => metric(gateway, 'omnibus_client_body_bytes')).toBeGreaterThanOrEqual(15 * megabyte);
    const over = new AbortController();
    const peak = (async () => {
      let most = 0;
      while (!over.signal.aborted) most = Math.max(most, await metric(gateway, 'omnibus_client_body_bytes'));
      return most;
    })();
    for (const socket of opened.slice(3)) send(socket);
    await Promise.all(closed.slice(3));
    over.abort();
    // A frame counts before it is refused, and the parts of it that have come.
    expect(await peak).toBeLessThanOrEqual(18 * megabyte);
    await expect.poll(() => metric(gateway, 'omnibus_client_body_bytes')).toBeLessThanOrEqual(16 * megabyte);
    expect(await metric(gateway, 'omnibus_client_body_bytes')).toBeGreaterThanOrEqual(15 * megabyte);
    expect((await client.callTool('echo')).status).toBe(200);
  });
});

describe('answers that nobody reads', () => {
  it(
    'as JSON use no more memory than their common bound, and clients that read get their answers',
    { timeout: 180_000 },
    async () => {
      const { gateway, client } = await startProcess({ limits: { maxUnreadBytesPerAddress: 130 * megabyte } });
      const opened = await sockets(gateway.url, 8);
      const call = JSON.stringify({ jsonrpc: '2.0', id: 'large', method: 'tools/call', params: { name: 'large' } });
      for (const socket of opened) {
        socket.pause();
        socket.write(
          requestText(
            gateway.url,
            [
              'POST /mcp HTTP/1.1',
              'content-type: application/json',
              'accept: application/json',
              `mcp-session-id: ${client.session}`,
            ],
            call,
          ),
        );
      }
      await vi.waitFor(
        async () => expect(await metric(gateway, 'omnibus_slow_readers_closed_total')).toBeGreaterThanOrEqual(6),
        { timeout: 120_000, interval: 500 },
      );
      expect(await metric(gateway, 'omnibus_client_unread_bytes')).toBeLessThanOrEqual(130 * megabyte);
      const read = await client.post(JSON.parse(call), { accept: 'application/json' });
      expect(read.body.length).toBeGreaterThan(60 * megabyte);
      expect((await client.callTool('echo')).status).toBe(200);
    },
  );

  it('are bounded on a WebSocket, including pongs that are not read', async () => {
    const { gateway, client } = await start({ limits: { maxBufferedBytes: 100_000 } });
    const [socket] = (await sockets(gateway.url, 1)) as [Socket];
    const answered = readAnswer(socket);
    socket.write(
      requestText(gateway.url, [
        'GET /ws HTTP/1.1',
        'connection: Upgrade',
        'upgrade: websocket',
        'sec-websocket-version: 13',
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      ]),
    );
    await once(socket, 'data');
    socket.pause();
    void answered;
    const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, 0x61)]);
    const storm = Buffer.concat(Array.from({ length: 10_000 }, () => ping));
    const more = (error?: Error | null): void => {
      if (error === undefined || error === null) socket.write(storm, more);
    };
    more();
    await expect.poll(() => metric(gateway, 'omnibus_slow_readers_closed_total')).toBe(1);
    expect((await client.callTool('echo')).status).toBe(200);
  });
});

describe('connections', () => {
  it('are bounded in total and per address, and the admin port answers although all of them are in use', async () => {
    const { gateway, client } = await start({ limits: { maxConnections: 50, maxConnectionsPerAddress: 40 } });
    const opened = await sockets(gateway.url, 60);
    await expect
      .poll(() => metric(gateway, 'omnibus_client_connections_refused_total{bound="address"}'))
      .toBeGreaterThan(15);
    expect(await metric(gateway, 'omnibus_client_connections')).toBeLessThanOrEqual(40);
    const admin = await gateway.admin(gateway.edge);
    for (const path of ['healthz', 'readyz', 'metrics'])
      expect((await fetch(`http://${admin}/${path}`)).status).toBe(200);
    for (const socket of opened) socket.destroy();
    await expect.poll(() => metric(gateway, 'omnibus_client_connections')).toBeLessThan(10);
    expect((await client.callTool('echo')).status).toBe(200);
  });

  it('beyond the bound in total are refused although their address has room', async () => {
    const { gateway } = await start({ limits: { maxConnections: 20 } });
    await sockets(gateway.url, 40);
    await expect
      .poll(() => metric(gateway, 'omnibus_client_connections_refused_total{bound="all"}'))
      .toBeGreaterThan(10);
    expect((await fetch(`http://${await gateway.admin(gateway.edge)}/healthz`)).status).toBe(200);
  });
});
