/** Servers that redirect: mounts of Starlette and FastAPI answer their own path without a slash so. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { getFollowing, redirectOf, type SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest, type ServerScript } from '../adapter-under-test.ts';

const session = 'session one' as unknown as SessionKey;
const call = { name: 'act', arguments: { a: 1 } };

/** Redirects each request with a known path. */
function redirecting(status: number, to: (path: string) => string | undefined): ServerScript {
  return {
    first: (request: IncomingMessage, response: ServerResponse) => {
      const location = to(request.url ?? '');
      if (location === undefined) return false;
      request.resume();
      response.writeHead(status, { location }).end('moved');
      return true;
    },
  };
}

it.each([307, 308])(
  'a server that redirects to its own address with a slash by %i is used, and the log has its address',
  async (status) => {
    const { first } = redirecting(status, (path) => (path === '/mcp' ? '/mcp/' : undefined));
    const paths: string[] = [];
    await using it = await AdapterUnderTest.start({
      first: (request, response) => {
        paths.push(`${request.method as string} ${request.url as string}`);
        return first?.(request, response) === true;
      },
    });
    await it.adapter.firstAttempt;
    expect([it.record.status, it.tools]).toEqual(['up', ['act']]);
    expect(await it.call(session, 'tools/call', call)).toMatchObject({ kind: 'result' });
    expect(it.heard.values.at(-1)).toMatchObject({ method: 'tools/call', params: call, session: 'session-1' });
    expect(it.repairs.rows).toMatchObject([
      { repair: 'redirect', example: expect.stringMatching(/\/mcp leads to http.*\/mcp\/$/) as string },
    ]);
    // A permanent redirect takes one request.
    expect(paths.filter((path) => path === 'POST /mcp').length === 1).toBe(status === 308);
  },
);

it('a redirect to another origin, or one that loses the request, is refused with the reason, and nothing is sent there', async () => {
  const asked: string[] = [];
  const other = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  });
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const away = `http://127.0.0.1:${(other.address() as AddressInfo).port}/mcp`;
  for (const [status, to, problem] of [
    [307, away, 'to another origin'],
    [302, '/mcp/', 'in a way that would lose the request'],
    [308, '/mcp', 'more than 5 times'],
  ] as const) {
    await using it = await AdapterUnderTest.start(
      redirecting(status, () => to),
      { headers: { authorization: 'Bearer x' } },
    );
    await it.adapter.firstAttempt;
    expect(it.record.status).toBe('down');
    expect(it.record.problem).toContain(problem);
  }
  expect(asked).toEqual([]);
  other.close();
});

it('nothing is followed with `validation: enforce`', async () => {
  await using it = await AdapterUnderTest.start(
    redirecting(307, (path) => (path === '/mcp' ? '/mcp/' : undefined)),
    { validation: 'enforce' },
  );
  await it.adapter.firstAttempt;
  expect([it.record.status, it.repairs.rows]).toEqual(['down', []]);
});

it.each([
  ['/post', '/post'],
  ['post?session=1', '/mcp/post?session=1'],
])(
  'a server of HTTP+SSE whose stream is at its address with a slash is used, by 301 too, and posted to at %s from there',
  async (endpoint, path) => {
    const { first } = redirecting(301, (asked) => (asked === '/mcp' ? '/mcp/' : undefined));
    const posted = new Set<string | undefined>();
    await using it = await AdapterUnderTest.start(
      {
        first: (request, response) => {
          if (request.method === 'POST') posted.add(request.url);
          return first?.(request, response) === true;
        },
        get: (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
          stream = response;
        },
        says: ({ id, method }, answer) => {
          answer.writeHead(202).end();
          const result =
            method === 'initialize'
              ? { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'sse', version: '1' } }
              : {};
          if (id !== undefined) stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
          return 'silence';
        },
      },
      { type: 'sse' },
    );
    await it.adapter.firstAttempt;
    expect([it.record.status, it.record.problem, [...posted]]).toEqual(['up', undefined, [path]]);
  },
);

it('a path that begins with two slashes is a path, and no other host', async () => {
  await using it = await AdapterUnderTest.start({
    first: (request, response) => {
      const { url: path = '', headers } = request;
      const own = `http://${String(headers.host)}`;
      const to = { '/mcp': `${own}//other.example/mcp`, '//other.example/mcp': `${own}/here` }[path];
      if (to === undefined) return false;
      request.resume();
      response.writeHead(308, { location: to }).end();
      return true;
    },
  });
  await it.adapter.firstAttempt;
  expect([it.record.status, it.record.problem]).toEqual(['up', undefined]);
});
let stream: ServerResponse | undefined;

it('https never leads to http, and no redirect names an address that is none', () => {
  const asked = { method: 'GET', address: 'https://a.example/x', status: 307 };
  expect(redirectOf({ ...asked, location: 'http://a.example/x/' })).toMatchObject({
    problem: expect.stringContaining('from https to http') as string,
  });
  expect(redirectOf({ ...asked, location: 'https://a.example:444/x/' })).toMatchObject({
    problem: expect.stringContaining('another origin') as string,
  });
  expect(redirectOf({ ...asked, location: undefined })).toMatchObject({
    problem: expect.stringContaining('no address') as string,
  });
  expect(redirectOf({ ...asked, location: '/x/' })).toEqual({ to: new URL('https://a.example/x/') });
  expect(redirectOf({ ...asked, status: 304, location: undefined })).toBeUndefined();
});

it('a document that has moved within its origin is found, five redirects away and no more', async () => {
  const asked: string[] = [];
  const get = (address: string): Promise<Response> => {
    asked.push(address);
    const location = `/${Number(new URL(address).pathname.slice(1)) + 1}`;
    return Promise.resolve(new Response(null, { status: 301, headers: { location } }));
  };
  expect((await getFollowing('https://a.example/0', get)).status).toBe(301);
  expect(asked.at(-1)).toBe('https://a.example/5');
});
