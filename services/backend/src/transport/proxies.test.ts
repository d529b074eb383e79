/** Servers that are reached through a proxy. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import { Authority } from '@omnibus/bus/testing';
import { NoCredentials } from '@omnibus/credentials';
import { defaultLimits, type SessionKey } from '@omnibus/protocol';
import { request } from 'undici';
import { WebSocketServer } from 'ws';
import { AdapterUnderTest } from '../adapter-under-test.ts';
import { Agents } from './agents.ts';
import { ServerTls } from './server-tls.ts';
import { WebSocketTransport } from './websocket.ts';

const session = 'session one' as unknown as SessionKey;

/** A proxy that opens tunnels, and records its requests. */
async function startProxy() {
  const asked: { readonly to: string; readonly headers: IncomingMessage['headers'] }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer().on('connect', ({ url = '', headers }, socket: Socket) => {
    asked.push({ to: url, headers });
    const { hostname: host, port } = new URL(`http://${url}`);
    const target = connect(Number(port === '' ? 80 : port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(target).pipe(socket);
    });
    for (const each of [socket, target]) {
      sockets.add(each);
      each.on('error', () => undefined);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    asked,
    url: `http://ann:p%40ss@127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

it('a server with a proxy is reached through it alone, and the proxy sees nothing of the messages to the server', async () => {
  using proxy = await startProxy();
  const tokens = new Set<string | undefined>();
  await using it = await AdapterUnderTest.start(
    {
      says: ({ authorization }) => {
        tokens.add(authorization);
        return undefined;
      },
    },
    { proxy: proxy.url, headers: { authorization: 'Bearer for-the-server' } },
  );
  await it.adapter.firstAttempt;
  expect(await it.call(session, 'tools/call', { name: 'act' })).toMatchObject({ kind: 'result' });
  expect([...tokens]).toEqual(['Bearer for-the-server']);
  expect(proxy.asked.length).toBeGreaterThan(0);
  for (const { to, headers } of proxy.asked) {
    expect(to).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(headers).toMatchObject({ 'proxy-authorization': `Basic ${Buffer.from('ann:p@ss').toString('base64')}` });
    expect(headers).not.toHaveProperty('authorization');
  }
});

it('a server behind a proxy that cannot be reached is down for that reason, which names no password', async () => {
  using proxy = await startProxy();
  const gone = proxy.url.replace(/:\d+$/, ':1');
  await using it = await AdapterUnderTest.start({}, { proxy: gone });
  await it.adapter.firstAttempt;
  expect(it.record.status).toBe('down');
  expect(it.record.problem).toContain('the proxy 127.0.0.1:1 cannot be reached: ECONNREFUSED');
  expect(it.record.problem).not.toContain('p%40ss');
});

it('TLS goes through a proxy to the server itself, with the authority that the configuration names, over HTTP and WebSocket', async () => {
  using proxy = await startProxy();
  const authority = await Authority.create();
  const own = await authority.sign('server', [{ type: 'dns', value: 'localhost' }]);
  const server = createTlsServer(
    { cert: readFileSync(own.certFile), key: readFileSync(own.keyFile) },
    (_request, response) => response.end('well'),
  );
  const sockets = new WebSocketServer({ server });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `https://localhost:${(server.address() as AddressInfo).port}/mcp`;
  const tls = new ServerTls('a', url, { caFile: authority.caFile }, '/');
  const agents = new Agents();
  const dispatcher = agents.of(undefined, tls, proxy.url);
  expect(await (await request(url, { dispatcher })).body.text()).toBe('well');
  const transport = new WebSocketTransport(
    {
      url: url.replace('https', 'wss'),
      headers: {},
      credentials: new NoCredentials(),
      limits: defaultLimits,
      openTimeoutMs: 5_000,
      addresses: undefined,
      proxy: proxy.url,
      tls,
    },
    { lost: () => undefined } as never,
  );
  await transport.open();
  await transport.close();
  expect(proxy.asked.map(({ to }) => to)).toEqual([new URL(url).host, new URL(url).host]);
  await agents.destroy();
  sockets.close();
  server.closeAllConnections();
  server.close();
  await authority[Symbol.asyncDispose]();
});

it('the rule for addresses of servers that others add applies before a request to a proxy, for addresses and for names', async () => {
  using proxy = await startProxy();
  const agents = new Agents();
  const dispatcher = agents.of({ allowedHosts: [] }, undefined, proxy.url);
  for (const host of ['127.0.0.1', 'localhost', '169.254.169.254', hostname(), 'no-such-name.invalid'])
    await expect(request(`http://${host}:9/`, { dispatcher })).rejects.toThrow();
  expect(proxy.asked).toEqual([]);
  await agents.destroy();
});
