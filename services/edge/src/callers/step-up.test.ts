/** Scopes that certain things need (`auth.stepUp`): how a client learns of them, over each transport, and the answers to strangers. */
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { subjects } from '@omnibus/bus';
import { StandInIssuer } from '@omnibus/identity/testing';
import { errorText, fault, toErrorObject, type EndpointName, type PostedMessage } from '@omnibus/protocol';
import { byIssuers, EdgeUnderTest } from '../edge-under-test.ts';

const publicUrl = 'https://mcp.example.com';
const wellKnown = '/.well-known/oauth-protected-resource';
const lacking = fault('auth.scope', 'this needs a token with the scope mcp write', {
  requiredScopes: ['mcp', 'write'],
});

let issuer: StandInIssuer;
let test: EdgeUnderTest;

beforeEach(async () => {
  issuer = await StandInIssuer.start();
  test = await EdgeUnderTest.start(
    Object.entries({
      publicUrl,
      security: { allowedHosts: ['*'] },
      auth: {
        issuers: [{ issuer: issuer.issuer, tenant: 'org' }],
        scopes: ['mcp'],
        stepUp: [
          { scope: 'write', for: ['a/put*', 'c'] },
          { scope: 'ops', endpoints: ['ops', 'c'], impliedBy: ['all'] },
          { scope: 'secret', for: 'b', endpoints: ['b'] },
        ],
      },
      mcpServers: {
        a: { url: 'http://127.0.0.1:1' },
        b: { url: 'http://127.0.0.1:1', tenants: ['acme'] },
        c: { url: 'http://127.0.0.1:1' },
      },
      profiles: { ops: { servers: ['a'] }, some: { servers: ['a', 'b'] }, own: { tenants: ['acme'] } },
    })
      .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
      .join('\n'),
    { authenticate: byIssuers },
  );
});

afterEach(async () => {
  await test[Symbol.asyncDispose]();
  expect(test.faults).toEqual([]);
  await issuer[Symbol.asyncDispose]();
});

const token = async (scope = 'mcp', org = 'none'): Promise<string> =>
  `Bearer ${await issuer.token({ sub: 'ann', aud: `${publicUrl}/mcp`, scope, org })}`;
const challenge = (path: string, scope: string): RegExp =>
  new RegExp(
    `^Bearer resource_metadata="${publicUrl}${wellKnown}${path}", scope="${scope}", error="insufficient_scope", error_description="[^"]+"$`,
  );

/** From now on requests are refused for a scope, by workers of either era. */
async function refuse(): Promise<void> {
  await test.bus.subscribe(subjects.modern(undefined), (_command, reply) => reply({ kind: 'refused', fault: lacking }));
  await test.serve((command, reply) => {
    if (command.kind !== 'post' && command.kind !== 'batch') return;
    const ids = (command.kind === 'post' ? [command.message] : command.messages).flatMap((posted: PostedMessage) =>
      posted.kind === 'request' ? [posted.message.id] : [],
    );
    for (const [index, id] of ids.entries())
      reply({
        kind: 'message',
        text: errorText(id, toErrorObject(lacking)),
        isAnswer: true,
        sequence: index + 1,
        last: index === ids.length - 1,
        missingScopes: ['mcp', 'write'],
      });
  });
}

it.each(['application/json, text/event-stream', 'text/event-stream', 'application/json'])(
  'a request that needs another scope is answered 403 with all of them, in either era, to a client that accepts %s',
  async (accept) => {
    await refuse();
    const authorization = await token();
    const session = await (async () => {
      const opened = await test.post(
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
        },
        { authorization },
      );
      await opened.text();
      return opened.headers.get('mcp-session-id') as string;
    })();
    const answers = [
      await test.postStateless({ authorization, accept }, '/mcp/a'),
      await test.post(
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'put' } },
        { authorization, accept, 'mcp-session-id': session },
      ),
    ];
    for (const [index, answer] of answers.entries()) {
      expect([answer.status, answer.headers.get('content-type'), answer.headers.get('www-authenticate')]).toEqual([
        403,
        'application/json',
        expect.stringMatching(challenge(index === 0 ? '/mcp/a' : '/mcp', 'mcp write')),
      ]);
      expect(await answer.json()).toEqual({
        jsonrpc: '2.0',
        id: 1,
        error: {
          code: -32600,
          message: lacking.message,
          data: { reason: 'auth.scope', retry: 'never', requiredScopes: ['mcp', 'write'] },
        },
      });
    }
  },
);

it('in a batch, and where an event stream has begun, the JSON-RPC error names the scopes', async () => {
  await refuse();
  const authorization = await token();
  const opened = await test.post(
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    },
    { authorization },
  );
  await opened.text();
  const headers = { authorization, 'mcp-session-id': opened.headers.get('mcp-session-id') as string };
  const batch = await test.post(
    [1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'put' } })),
    headers,
  );
  expect([batch.status, await batch.json()]).toEqual([
    200,
    [1, 2].map((id) => ({
      jsonrpc: '2.0',
      id,
      error: expect.objectContaining({
        data: { reason: 'auth.scope', retry: 'never', requiredScopes: ['mcp', 'write'] },
      }) as object,
    })),
  ]);
});

it('over a WebSocket and over HTTP+SSE, the JSON-RPC error names the scopes', async () => {
  await refuse();
  const authorization = await token();
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'put' } };
  const socket = new WebSocket(`${test.origin.replace('http', 'ws')}/ws`, 'mcp', { headers: { authorization } });
  await once(socket, 'open');
  const heard: string[] = [];
  socket.on('message', (data: Buffer) => heard.push(data.toString()));
  socket.send(JSON.stringify(initialize));
  socket.send(JSON.stringify(call));
  await expect.poll(() => heard.join('\n')).toContain('"requiredScopes":["mcp","write"]');
  socket.terminate();

  const stream = await fetch(`${test.origin}/sse`, { headers: { accept: 'text/event-stream', authorization } });
  const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? '';
  const path = /data: (\S+)/.exec(text)?.[1] ?? '';
  for (const message of [initialize, call])
    expect(
      (
        await fetch(`${test.origin}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization },
          body: JSON.stringify(message),
        })
      ).status,
    ).toBe(202);
  while (!text.includes('"requiredScopes":["mcp","write"]')) text += (await reader.read()).value ?? expect.fail(text);
  await reader.cancel();
});

it('an endpoint that needs a scope serves nothing without it, on no way in; a broader one will do', async () => {
  await test.serveStateless();
  const authorization = await token();
  for (const [method, path, place] of [
    ['POST', '/mcp/ops', '/mcp/ops'],
    ['GET', '/mcp/ops', '/mcp/ops'],
    ['DELETE', '/mcp/ops', '/mcp/ops'],
    ['GET', '/sse/ops', '/sse/ops'],
    ['POST', '/messages/ops?sessionId=x', '/sse/ops'],
  ] as const) {
    const answer = await fetch(`${test.origin}${path}`, { method, headers: { authorization } });
    expect([path, answer.status, answer.headers.get('www-authenticate')]).toEqual([
      path,
      403,
      expect.stringMatching(challenge(place, 'mcp ops')),
    ]);
  }
  const socket = new WebSocket(`${test.origin.replace('http', 'ws')}/ws/ops`, 'mcp', { headers: { authorization } });
  socket.on('error', () => undefined);
  expect(((await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }])[1].statusCode).toBe(403);
  for (const scope of ['mcp ops', 'mcp all'])
    expect((await test.postStateless({ authorization: await token(scope) }, '/mcp/ops')).status, scope).toBe(200);
  expect((await test.postStateless({ authorization }, '/mcp/a')).status).toBe(200);
});

it('a page beside the endpoints needs none of their scopes', async () => {
  const request = Object.assign(new IncomingMessage(new Socket()), { headers: { authorization: await token() } });
  const [path, endpoint] = ['/connect/connections', 'ops' as EndpointName];
  expect(await test.callers.admit(request, path, endpoint)).toMatchObject({ fault: { reason: 'auth.scope' } });
  expect(await test.callers.admit(request, path, endpoint, true)).not.toHaveProperty('fault');
});

it('what is of one tenant is not there for others, whatever scope it needs', async () => {
  await test.serveStateless();
  const [never, theirs] = [
    await test.postStateless({ authorization: await token() }, '/mcp/never'),
    await test.postStateless({ authorization: await token() }, '/mcp/b'),
  ];
  expect([theirs.status, await theirs.text()]).toEqual([404, await never.text()]);
  expect(
    (await test.postStateless({ authorization: await token('mcp', 'acme') }, '/mcp/b')).headers.get('www-authenticate'),
  ).toMatch(challenge('/mcp/b', 'mcp secret'));
});

it.each([
  ['', ['mcp', 'write']],
  ['/mcp', ['mcp', 'write']],
  ['/mcp/a', ['mcp', 'write']],
  ['/sse/a', ['mcp', 'write']],
  ['/mcp/ops', ['mcp', 'write', 'ops']],
  ['/mcp/c', ['mcp', 'write', 'ops']],
  ['/mcp/b', ['mcp']],
  ['/mcp/never', ['mcp']],
  ['/mcp/own', ['mcp']],
  ['/mcp/some', ['mcp', 'write']],
])(
  'the metadata at %s list %j, and a stranger is told to ask for what everything there needs',
  async (place, scopes) => {
    expect(await (await fetch(`${test.origin}${wellKnown}${place}`)).json()).toMatchObject({
      scopes_supported: scopes,
    });
    const needed = scopes.filter((scope) => scope !== 'write').join(' ');
    if (place !== '')
      expect(
        (await fetch(`${test.origin}${place}`, { method: place.startsWith('/sse') ? 'GET' : 'POST' })).headers.get(
          'www-authenticate',
        ),
      ).toBe(`Bearer resource_metadata="${publicUrl}${wellKnown}${place}", scope="${needed}"`);
  },
);
