/** An unknown path is reported as such before any other check of the request. */
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { newSessionId } from '@omnibus/protocol';
import { configOf } from '@omnibus/config/testing';
import { EdgeUnderTest, initialize } from '../edge-under-test.ts';

const servers =
  'mcpServers: { up: { url: "http://127.0.0.1:9/mcp" }, off: { url: "http://127.0.0.1:9/mcp", disabled: true } }\nprofiles: { mine: { servers: [up] } }';

let test: EdgeUnderTest;

beforeEach(async () => {
  test = await EdgeUnderTest.start(servers);
  await test.serve((_command, reply) => reply({ kind: 'accepted' }));
});

afterEach(() => test[Symbol.asyncDispose]());

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

async function ask(path: string, init: RequestInit): Promise<readonly [status: number, reason: unknown]> {
  const response = await fetch(test.url.replace(/\/mcp$/, path), { ...init, signal: AbortSignal.timeout(10_000) });
  const body =
    response.headers.get('content-type') === 'application/json'
      ? ((await response.json()) as { readonly error?: { readonly data?: { readonly reason?: unknown } } })
      : undefined;
  await response.body?.cancel().catch(() => undefined);
  return [response.status, body?.error?.data?.reason];
}

/** The answer to a WebSocket's upgrade. */
async function upgrade(path: string): Promise<number | undefined> {
  const socket = new WebSocket(test.url.replace(/^http/, 'ws').replace(/\/mcp$/, path), 'mcp');
  socket.on('error', () => undefined);
  const answer = await Promise.race([
    once(socket, 'open').then(() => 101),
    once(socket, 'unexpected-response').then(
      ([, response]) => (response as { readonly statusCode: number }).statusCode,
    ),
  ]);
  socket.terminate();
  return answer;
}

const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const requests: readonly (readonly [string, string, RequestInit])[] = [
  ['a POST without a session', '/mcp', { method: 'POST', headers: json, body: message }],
  [
    'a POST of a session',
    '/mcp',
    { method: 'POST', headers: { ...json, 'mcp-session-id': newSessionId() }, body: message },
  ],
  [
    'a POST with what is no session id',
    '/mcp',
    { method: 'POST', headers: { ...json, 'mcp-session-id': 'x' }, body: message },
  ],
  ['initialize', '/mcp', { method: 'POST', headers: json, body: JSON.stringify(initialize) }],
  [
    'a POST of 2026-07-28',
    '/mcp',
    { method: 'POST', headers: { ...json, 'mcp-protocol-version': '2026-07-28' }, body: message },
  ],
  ['a POST of no JSON', '/mcp', { method: 'POST', headers: json, body: '{' }],
  ['a POST of no media type', '/mcp', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: message }],
  ['a POST that takes nothing', '/mcp', { method: 'POST', headers: { ...json, accept: 'text/html' }, body: message }],
  ['a GET', '/mcp', { headers: { accept: 'text/event-stream' } }],
  ['a GET that takes no stream', '/mcp', { headers: { accept: 'text/html' } }],
  ['a GET of a session', '/mcp', { headers: { accept: 'text/event-stream', 'mcp-session-id': newSessionId() } }],
  ['DELETE', '/mcp', { method: 'DELETE' }],
  ['OPTIONS', '/mcp', { method: 'OPTIONS' }],
  ['PUT', '/mcp', { method: 'PUT' }],
  ['a stream of HTTP+SSE', '/sse', { headers: { accept: 'text/event-stream' } }],
  ['OPTIONS of such a stream', '/sse', { method: 'OPTIONS' }],
  ['a POST to such a stream', '/messages', { method: 'POST', headers: json, body: message }],
];

describe('a path that no server and no profile has', () => {
  it.each(requests)('is unknown before anything else is said: %s', async (_what, root, init) => {
    for (const name of ['nobody', 'off', 'nobody/'])
      expect([name, ...(await ask(`${root}/${name}`, init))]).toEqual([name, 404, 'http.path_unknown']);
  });

  it('is unknown to a WebSocket, which is not opened', async () => {
    expect(
      await Promise.all(['/ws', '/ws/up', '/ws/mine', '/ws/nobody', '/ws/off', '/ws/nobody/'].map(upgrade)),
    ).toEqual([101, 101, 101, 404, 404, 404]);
  });

  it('is known as soon as the configuration has it, and no longer', async () => {
    const [, , init] = requests[0] as (typeof requests)[number];
    expect(await ask('/mcp/late', init)).toEqual([404, 'http.path_unknown']);
    test.edge.apply(configOf('mcpServers: { late: { url: "http://127.0.0.1:9/mcp" } }'));
    expect([await ask('/mcp/late', init), await ask('/mcp/up', init)]).toEqual([
      [400, 'session.missing'],
      [404, 'http.path_unknown'],
    ]);
  });
});

it.each(['', '/up', '/mine', '/mine/'])('a path that is there asks for a session: /mcp%s', async (path) => {
  for (const [, root, init] of requests.filter(([what]) =>
    ['a POST without a session', 'a GET', 'DELETE'].includes(what),
  ))
    expect(await ask(`${root}${path}`, init)).toEqual([400, 'session.missing']);
});
