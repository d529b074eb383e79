/** Every transport of the edge authenticates the caller before it reads or opens anything. */
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { AuditEvent } from '@omnibus/audit';
import { Authenticator, formatKeys, newKey } from '@omnibus/identity';
import type { Caller } from '@omnibus/protocol';
import { EdgeUnderTest, initialize } from '../edge-under-test.ts';

let folder: string;
let test: EdgeUnderTest;
let url: string;
/** Audit records. */
let events: AuditEvent[];
/** The callers in the edge's commands. */
let callers: readonly Caller[];
const ann = newKey({ subject: 'ann', groups: [] });
const bob = newKey({ subject: 'bob', groups: [], endpoints: [''] });

async function writeKeys(...keys: readonly (typeof ann)[]): Promise<void> {
  await writeFile(join(folder, 'new'), formatKeys(keys.map(({ record }) => record)));
  await rename(join(folder, 'new'), join(folder, 'keys.yaml'));
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-edge-'));
  await writeKeys(ann, bob);
  events = [];
  test = await EdgeUnderTest.start('mcpServers: { a: { url: "http://127.0.0.1:1" } }', {
    authenticate: () => Authenticator.open({ keysFile: join(folder, 'keys.yaml'), issuers: [], warn: () => undefined }),
    audit: {
      isStrict: false,
      wantsResults: false,
      wants: () => true,
      record: (event) => events.push(event),
      confirm: () => Promise.resolve(true),
    },
  });
  url = test.origin;
  callers = await test.serveStateless();
});

afterEach(async () => {
  await test[Symbol.asyncDispose]();
  expect(test.faults).toEqual([]);
  await rm(folder, { recursive: true });
});

const post = (headers: Record<string, string>, path?: string, method?: string): Promise<Response> =>
  test.postStateless(headers, path, method);

describe.each([
  ['POST', '/mcp', {}],
  ['GET', '/mcp', { accept: 'text/event-stream', 'mcp-session-id': 'A'.repeat(32) }],
  ['DELETE', '/mcp', { 'mcp-session-id': 'A'.repeat(32) }],
  ['POST', '/mcp/a', {}],
  ['PUT', '/mcp', {}],
  ['GET', '/sse', { accept: 'text/event-stream' }],
  ['POST', '/messages?sessionId=x', {}],
])('%s %s', (method, path, headers) => {
  it('is refused to callers without credentials, with the ways to authenticate', async () => {
    const answer = await fetch(`${url}${path}`, { method, headers });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="omnibus"');
    expect(await answer.json()).toMatchObject({
      jsonrpc: '2.0',
      error: { data: { reason: 'auth.required', retry: 'never' } },
    });
  });

  it('is refused to a wrong key, which no answer repeats', async () => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, authorization: `Bearer ${ann.key.slice(0, -3)}xyz` },
    });
    const text = `${JSON.stringify([...answer.headers])}${await answer.text()}`;
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(
      /^Bearer realm="omnibus", error="invalid_token", error_description="[^"]+"$/,
    );
    expect(text).not.toContain(ann.key.slice(0, 20));
  });
});

it('a stranger is answered before a byte of the body is there', async () => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\naccept: application/json\r\ncontent-length: 1000000\r\n\r\n`,
  );
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 401 /);
  socket.destroy();
});

it('a known caller is the principal of what is asked, and is told apart by nothing else', async () => {
  expect((await post({ authorization: `Bearer ${ann.key}` })).status).toBe(200);
  expect((await post({ authorization: `Bearer ${bob.key}` })).status).toBe(200);
  const known = (subject: string): unknown => ({
    principal: expect.stringMatching(/^p_/) as string,
    endpoint: '',
    facts: expect.objectContaining({ subject }) as object,
  });
  expect(callers).toEqual([known('ann'), known('bob')]);
  expect(callers[0]?.principal).not.toBe(callers[1]?.principal);
});

it('a caller that opens sessions too fast delays no other at the same address, over any transport', async () => {
  // No session of a caller returns meanwhile, however long the test takes.
  using stack = new DisposableStack();
  stack.defer(() => vi.useRealTimers());
  vi.useFakeTimers({ toFake: ['performance'] });
  await using limited = await EdgeUnderTest.start('limits: { sessionBurst: 3, sessionsPerSecond: 1 }', {
    authenticate: () => Authenticator.open({ keysFile: join(folder, 'keys.yaml'), issuers: [], warn: () => undefined }),
  });
  await limited.serve((command, reply) => {
    if (command.kind === 'delete') reply({ kind: 'accepted' });
  });
  const open = async ({ key }: typeof ann): Promise<number> => {
    const answer = await limited.post(initialize, { authorization: `Bearer ${key}` });
    await answer.text();
    return answer.status;
  };
  const overSocket = ({ key }: typeof ann): Promise<object> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${limited.origin.replace('http', 'ws')}/ws`, 'mcp', {
        headers: { authorization: `Bearer ${key}` },
      });
      socket.once('open', () => socket.send(JSON.stringify(initialize)));
      socket.once('message', (data: Buffer) => {
        socket.terminate();
        resolve(JSON.parse(data.toString()) as object);
      });
    });
  for (let count = 0; count < 6; count += 1) await open(bob);
  expect(await open(bob)).toBe(429);
  expect(await overSocket(bob)).toMatchObject({ error: { data: { reason: 'session.rate' } } });
  expect(await open(ann)).toBe(200);
  expect(await overSocket(ann)).toMatchObject({ result: {} });
});

it('a key for other endpoints is refused with 403, and an endpoint that is not there with 404 as ever', async () => {
  const forbidden = await post({ authorization: `Bearer ${bob.key}` }, '/mcp/a');
  expect(forbidden.status).toBe(403);
  expect(forbidden.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
  expect((await post({ authorization: `Bearer ${bob.key}` }, '/mcp/nowhere')).status).toBe(404);
});

it('a key in the address is refused, whatever else the request brings', async () => {
  for (const name of ['access_token', 'Access%5FToken'])
    expect((await post({ authorization: `Bearer ${ann.key}` }, `/mcp?${name}=${ann.key}`)).status).toBe(400);
  expect((await fetch(`${url}/sse?token=${ann.key}`)).status).toBe(400);
});

it('a browser may ask without a key whether it may send one, and reads the challenge', async () => {
  const origin = { origin: 'http://localhost:5173' };
  expect(
    (
      await fetch(`${url}/mcp`, {
        method: 'OPTIONS',
        headers: {
          ...origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization',
        },
      })
    ).status,
  ).toBe(204);
  const refused = await post(origin);
  expect([
    refused.status,
    refused.headers.get('access-control-allow-origin'),
    refused.headers.get('access-control-expose-headers'),
  ]).toEqual([401, origin.origin, expect.stringContaining('www-authenticate')]);
});

describe('a WebSocket', () => {
  const open = (headers: Record<string, string>): Promise<number | 'open'> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, 'mcp', { headers });
      socket.once('open', () => {
        socket.terminate();
        resolve('open');
      });
      socket.once('unexpected-response', (_request, { statusCode, headers: { 'www-authenticate': challenge } }) =>
        resolve(challenge === undefined ? 0 : (statusCode ?? 0)),
      );
      socket.on('error', () => undefined);
    });

  it('is refused before it is one', async () => {
    expect(await open({})).toBe(401);
    expect(await open({ authorization: 'Bearer omk_x' })).toBe(401);
    expect(await open({ authorization: `Bearer ${ann.key}` })).toBe('open');
  });

  it('ends when the key of its caller is revoked', async () => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, 'mcp', {
      headers: { authorization: `Bearer ${ann.key}` },
    });
    await once(socket, 'open');
    const closed = once(socket, 'close');
    await writeKeys(bob);
    expect((await closed)[0]).toBe(1008);
  });
});

it("a subscription ends when the key of its caller is revoked, and nobody else's does", async () => {
  const listen = (key: string): Promise<Response> =>
    post({ authorization: `Bearer ${key}`, accept: 'text/event-stream' }, '/mcp', 'subscriptions/listen');
  const [anns, bobs] = await Promise.all([listen(ann.key), listen(bob.key)]);
  expect([anns.status, bobs.status]).toEqual([200, 200]);
  await writeKeys(bob);
  expect(await anns.text()).toContain('acknowledged');
  expect((await post({ authorization: `Bearer ${ann.key}` })).status).toBe(401);
  expect((await post({ authorization: `Bearer ${bob.key}` })).status).toBe(200);
  await bobs.body?.cancel();
});

it('a stream of HTTP+SSE takes messages of its own caller only, records those of others, and ends with its key', async () => {
  const stream = await fetch(`${url}/sse`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${ann.key}` },
  });
  const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  const path = /data: (\S+)/.exec((await reader.read()).value ?? '')?.[1] ?? '';
  const send = async (key: string): Promise<number> =>
    (
      await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      })
    ).status;
  expect(await send(bob.key)).toBe(404);
  expect(await send(ann.key)).toBe(202);
  expect(events).toEqual([
    expect.objectContaining({
      name: 'mcp.refused',
      who: expect.objectContaining({ subject: 'bob' }) as object,
      method: 'ping',
      outcome: 'denied',
      reason: 'session.unknown',
    }),
  ]);
  await writeKeys(bob);
  while (!(await reader.read()).done);
});

describe('a key that is revoked', () => {
  /** Resolves when the edge has read that there is no key of ann any more. */
  async function revoke(): Promise<void> {
    await writeKeys(bob);
    await expect.poll(async () => (await post({ authorization: `Bearer ${ann.key}` })).status).toBe(401);
  }

  it.each(['tools/list', 'subscriptions/listen'])(
    'while the body of a %s is sent is good for nothing',
    async (method) => {
      const { headers, body } = test.stateless({ authorization: `Bearer ${ann.key}` }, method);
      const slow = request(`${url}/mcp`, {
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      });
      const answered = once(slow, 'response');
      slow.write(body.slice(0, 10));
      await revoke();
      slow.end(body.slice(10));
      const [answer] = (await answered) as [IncomingMessage];
      expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([
        401,
        expect.stringMatching(/^Bearer realm="omnibus", error="invalid_token", error_description="[^"]+"$/),
      ]);
      answer.destroy();
    },
  );

  it('while a stream is opened by it opens none that stays', async () => {
    const attached = Promise.withResolvers<() => void>();
    await test.serve((command, reply) => {
      if (command.kind === 'attach') attached.resolve(() => reply({ kind: 'attached', stream: command.stream }));
    });
    const opened = await test.post(initialize, { authorization: `Bearer ${ann.key}` });
    await opened.text();
    const stream = fetch(test.url, {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${ann.key}`,
        'mcp-session-id': opened.headers.get('mcp-session-id') as string,
      },
    });
    const attach = await attached.promise;
    await revoke();
    attach();
    await (await stream).text();
  });
});
