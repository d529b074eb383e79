import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startAdminServer, type AdminServer } from './admin-server.ts';
import { Metrics } from './metrics.ts';

let admin: AdminServer;
let faults: string[];

beforeEach(async () => {
  faults = [];
  admin = await startAdminServer({
    host: '127.0.0.1',
    port: 0,
    metrics: new Metrics({ processMetrics: false }),
    allowedHosts: ['Admin.example.com'],
    notReady: () => [],
    status: () => ({ role: 'all' }),
    guard: ({ headers }) => (headers['x-refused'] === undefined ? undefined : { status: 401, text: 'who is it?\n' }),
    sites: [
      {
        covers: (path) => path.startsWith('/site'),
        serve: (_request, response, path) => {
          if (path === '/site/broken') throw new Error('a bug');
          response.end(`of the site: ${path}`);
        },
      },
    ],
    onFault: (what) => faults.push(what),
  });
});

afterEach(() => admin.close());

async function ask(
  path: string,
  host: string | undefined,
  method = 'GET',
  { body = '', ...more }: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const [hostname, port] = admin.address.split(':');
  const asked = request({
    hostname,
    port,
    path,
    method,
    setHost: false,
    headers: host === undefined ? more : { host, ...more },
  }).end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

it('a page that rebinds its name to the admin port is refused; addresses, this machine and allowed names are served', async () => {
  for (const host of [
    'evil.example.com',
    'evil.example.com:7301',
    'localhost.evil.example.com',
    '127.0.0.1.evil.example.com',
  ])
    expect((await ask('/status', host)).status).toBe(403);
  for (const host of ['localhost:7301', '127.0.0.1:7301', '[::1]:7301', '10.1.2.3', 'admin.example.com:80'])
    expect(await ask('/status', host)).toMatchObject({
      status: 200,
      body: expect.stringContaining('"role": "all"') as string,
    });
  expect((await ask('/elsewhere', 'evil.example.com')).status).toBe(403);
  expect((await ask('/elsewhere', 'localhost')).status).toBe(404);
});

it('probes and Prometheus ask by whatever name they know', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics', '/metrics?name=x'])
    expect((await ask(path, 'omnibus-edge.mcp.svc:7301')).status).toBe(200);
  expect((await ask('/healthz', 'localhost', 'POST')).status).toBe(405);
  expect((await ask('/healthz', 'localhost', 'HEAD')).status).toBe(200);
});

it('whoever is refused gets neither status nor metrics, and is told of health all the same', async () => {
  for (const [path, method] of [
    ['/status', 'GET'],
    ['/metrics', 'GET'],
  ] as const)
    expect((await ask(path, 'localhost', method, { 'x-refused': 'yes' })).status).toBe(401);
  for (const path of ['/healthz', '/readyz'])
    expect((await ask(path, 'localhost', 'GET', { 'x-refused': 'yes' })).status).toBe(200);
});

it('a site answers its own paths, under the names the port may be called by, and a bug in it is one answer and one line', async () => {
  expect(await ask('/site/a?b=c', 'localhost')).toEqual({ status: 200, body: 'of the site: /site/a' });
  expect((await ask('/site/a', 'evil.example.com')).status).toBe(403);
  expect((await ask('/site/broken', 'localhost')).status).toBe(500);
  expect(faults).toEqual(['a request to the admin port failed']);
});

it('connections that are reset, or say no HTTP, end nothing but themselves', async () => {
  const [hostname, port] = admin.address.split(':') as [string, string];
  for (let count = 0; count < 20; count += 1) {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(
      count % 2 === 0
        ? 'GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'
        : '\u0000\u0000\r\n\r\n',
    );
    socket.resetAndDestroy();
  }
  expect((await ask('/healthz', 'localhost')).status).toBe(200);
});

it('what fails while it is asked for is answered, and the port goes on', async () => {
  await admin.close();
  admin = await startAdminServer({
    host: '127.0.0.1',
    port: 0,
    metrics: new Metrics({ processMetrics: false }),
    allowedHosts: [],
    notReady: () => [],
    guard: () => undefined,
    status: () => {
      throw new Error('a bug');
    },
    onFault: (what) => faults.push(what),
  });
  expect((await ask('/status', 'localhost')).status).toBe(500);
  expect(faults).toEqual(['a request to the admin port failed']);
  expect((await ask('/healthz', 'localhost')).status).toBe(200);
});
