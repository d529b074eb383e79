/** Servers of which only the address is known. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { newRequestKey, type SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest } from '../adapter-under-test.ts';

/** A server without POST, like one of 2024-11-05. @param stream the answer to a GET; undefined: 404. */
function olderServer(stream: string | undefined): Promise<AdapterUnderTest> {
  return AdapterUnderTest.start({
    first(request, response) {
      request.resume();
      if (request.method === 'POST') response.writeHead(405).end();
      else if (stream === undefined) response.writeHead(404).end();
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream);
      return true;
    },
  });
}

it('a stream of HTTP+SSE that names an address of another origin is reported as that, and not by the refusal of the newer transport', async () => {
  await using it = await olderServer('event: endpoint\ndata: https://elsewhere.example/messages?session=1\n\n');
  await it.adapter.firstAttempt;
  expect(it.record.problem).toContain(
    'the server named an address of another origin to post to: https://elsewhere.example/messages',
  );
});

it('a stream of HTTP+SSE that is refused until a sign-in is reported as that', async () => {
  await using it = await AdapterUnderTest.start({
    first(request, response) {
      request.resume();
      response.writeHead(request.method === 'POST' ? 404 : 401, { 'www-authenticate': 'Bearer' }).end();
      return true;
    },
  });
  await it.adapter.firstAttempt;
  expect(it.record.problem).toContain('wants a sign-in');
});

it('a server that speaks neither transport is reported by its first refusal', async () => {
  await using it = await olderServer(undefined);
  await it.adapter.firstAttempt;
  expect(it.record.problem).toContain('405');
});

it.each([
  ['403, as for a form without a token against forgery', 403, 'text/html'],
  ['500', 500, 'text/html'],
  ['501', 501, 'text/html'],
  ['200 and a page', 200, 'text/html'],
  ['202, as for a message of a stream that is open', 202, undefined],
])(
  'a server of the older transport that answers POST at the address of its stream with %s is reached',
  async (_how, status, type) => {
    let stream: ServerResponse | undefined;
    await using it = await AdapterUnderTest.start({
      first(request, response) {
        if (request.method === 'GET') {
          stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
          stream.write('event: endpoint\ndata: ?session=1\n\n');
        } else if (request.url?.endsWith('?session=1') !== true) {
          request.resume();
          response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end(type && '<p>Hello</p>');
        } else return false;
        return true;
      },
      says({ id, method }, response) {
        const result =
          method === 'initialize'
            ? { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } }
            : method === 'tools/list'
              ? { tools: [{ name: 'act', inputSchema: { type: 'object' } }] }
              : { content: [] };
        response.writeHead(202).end();
        if (id !== undefined) stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
        return 'silence';
      },
    });
    await it.adapter.firstAttempt;
    expect(it.record).toMatchObject({ status: 'up' });
    expect(
      await it.call(newRequestKey() as string as SessionKey, 'tools/call', { name: 'act', arguments: {} }),
    ).toMatchObject({
      kind: 'result',
    });
  },
);

it.each([
  ['401', 401, {}],
  ['403 and a challenge', 403, { 'www-authenticate': 'Bearer' }],
])('a server that refuses credentials with %s is not asked for the older transport', async (_how, status, headers) => {
  const asked: (string | undefined)[] = [];
  await using it = await AdapterUnderTest.start({
    first(request, response) {
      asked.push(request.method);
      request.resume();
      response.writeHead(status, headers).end();
      return true;
    },
  });
  await it.adapter.firstAttempt;
  expect(it.record).toMatchObject({ problem: expect.stringContaining(String(status)) as string });
  expect(asked).not.toContain('GET');
});

it('a server that has spoken the newer transport and now answers 403 refuses credentials, also if it opens a stream', async () => {
  let isRefusing = false;
  await using it = await AdapterUnderTest.start(
    {
      says({ method, session }, response) {
        if (!isRefusing) return undefined;
        response.writeHead(method === 'tools/call' && session !== undefined ? 404 : 403).end();
        return 'silence';
      },
      get(response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      },
    },
    { era: 'legacy', connectTimeout: '1s' },
  );
  await it.adapter.firstAttempt;
  expect(it.record.status).toBe('up');
  await it.gets.until(1);
  isRefusing = true;
  await it.call(newRequestKey() as string as SessionKey, 'tools/call', { name: 'act', arguments: {} });
  await expect
    .poll(() => it.record)
    .toMatchObject({ problem: expect.stringContaining('403') as string, trouble: 'credentials' });
  expect(it.gets.values).toHaveLength(1);
});
