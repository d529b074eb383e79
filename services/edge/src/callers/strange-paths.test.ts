/** Paths that name no endpoint, where unknown callers are not told which endpoints exist. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { byIssuers, EdgeUnderTest } from '../edge-under-test.ts';

const publicUrl = 'https://mcp.example.com';
const issuer = 'http://127.0.0.1:9';
let test: EdgeUnderTest;

beforeEach(async () => {
  const text = `publicUrl: ${publicUrl}\nauth: { issuers: [{ issuer: "${issuer}", tenant: org }] }\nmcpServers: { a: { url: "http://127.0.0.1:1", tenants: [acme] } }`;
  test = await EdgeUnderTest.start(text, { authenticate: byIssuers });
});

afterEach(() => test[Symbol.asyncDispose]());

/** @param path as it is sent, without the changes that `fetch` makes. */
async function answerAt(path: string): Promise<readonly [status: number | undefined, challenge: string | undefined]> {
  const { hostname, port } = new URL(test.origin);
  const upgrade = path.startsWith('/ws')
    ? {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      }
    : {};
  const [answer] = (await once(request({ hostname, port, path, headers: upgrade }).end(), 'response')) as [
    IncomingMessage,
  ];
  answer.resume();
  return [answer.statusCode, answer.headers['www-authenticate']];
}

const odd = ['a"b', 'a%22b', 'a;b', 'a,b', '..%2fmcp', '%61', 'a/..', 'a//', 'a'.repeat(300)];

it.each(odd.flatMap((name) => ['/mcp', '/sse', '/messages', '/ws'].map((front) => `${front}/${name}`)))(
  'what can be no name of an endpoint is none on any way in: %s',
  async (path) => {
    expect(await answerAt(path)).toEqual([404, undefined]);
  },
);

it('a path is read as it is sent', async () => {
  for (const path of ['/sse\\a', '/sse/../mcp', '/sse/a/../b', '/ws\\a'])
    expect(await answerAt(path), path).toEqual([404, undefined]);
});

it.each(['/mcp', '/sse', '/ws', '/mcp/a', '/sse/a/', '/ws/a?x="y"', '/mcp/nobody-has-it', '/sse/nobody-has-it'])(
  'every other one is for known callers only, and its challenge leads to a document: %s',
  async (path) => {
    const [status, challenge = ''] = await answerAt(path);
    expect(status).toBe(401);
    const [, metadata = ''] = /^Bearer resource_metadata="([^"]+)"$/.exec(challenge) ?? [];
    const [documentStatus] = await answerAt(new URL(metadata).pathname);
    expect(documentStatus, metadata).toBe(200);
  },
);
