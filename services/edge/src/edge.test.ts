import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { subjects } from '@omnibus/bus';
import { EdgeUnderTest, initialize } from './edge-under-test.ts';

let test: EdgeUnderTest;

beforeEach(async () => {
  test = await EdgeUnderTest.start('security: { trustedProxies: [127.0.0.0/8] }');
});

afterEach(() => test[Symbol.asyncDispose]());

async function post(
  message: object,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await test.post(message, headers);
  return { status: response.status, body: await response.json() };
}

const broken = (): never => {
  throw new Error('a bug');
};
const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modern = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } };

it.each([
  ['initialize', () => test.bus.subscribe(subjects.sessionOpen(undefined), broken), () => post(initialize)],
  [
    'a request without a session',
    () => test.bus.subscribe(subjects.modern(undefined), broken),
    () => post(modern, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }),
  ],
  [
    'a request without a session, later',
    () =>
      test.bus.subscribe(subjects.modern(undefined), async () => {
        await Promise.resolve();
        broken();
      }),
    () => post(modern, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }),
  ],
])(
  'a bug in the worker that takes %s is answered internal.error, with the name the log has it under',
  async (_what, breaks, ask) => {
    await breaks();
    const answer = await ask();
    expect(test.faults).toMatchObject([{ kind: 'handler', error: new Error('a bug') }]);
    expect(answer).toMatchObject({
      status: 500,
      body: {
        jsonrpc: '2.0',
        id: 1,
        error: {
          code: -32603,
          data: { reason: 'internal.error', retry: 'unknown-outcome', incident: test.faults[0]?.incident },
        },
      },
    });
  },
);

it('a request without a session says where its client is, when that is known', async () => {
  const origins: unknown[] = [];
  await test.bus.subscribe(subjects.modern(undefined), ({ caller }, reply) => {
    origins.push(caller.origin);
    reply({
      kind: 'message',
      text: JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }),
      isAnswer: true,
      sequence: undefined,
      last: true,
    });
  });
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  await post(modern, { ...headers, 'x-forwarded-for': '198.51.100.7' });
  await post(modern, headers);
  expect(origins).toEqual(['198.51.100.7', undefined]);
});

it('an edge behind a proxy of the same machine is asked for the host that clients know, and for no other', async () => {
  await using behind = await EdgeUnderTest.start('publicUrl: https://mcp.example.com');
  const { hostname, port } = new URL(behind.url);
  for (const [host, status] of [
    ['mcp.example.com', 405],
    ['MCP.example.com:443', 405],
    ['localhost', 405],
    ['evil.example', 403],
  ] as const) {
    const [answer] = (await once(
      request({ hostname, port, path: '/mcp', method: 'PUT', headers: { host } }).end(),
      'response',
    )) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode, host).toBe(status);
  }
});

it.each(['127.0.0.1:0', '127.0.0.2:0', 'LOCALHOST:0'])(
  'an edge that only this machine can reach serves no page whose name was bound to it: %s',
  async (listen) => {
    await using local = await EdgeUnderTest.start('', { listen });
    const { hostname, port, host } = new URL(local.url);
    const ask = async (headers: Record<string, string>): Promise<number | undefined> => {
      const [answer] = (await once(
        request({ hostname, port, path: '/mcp', method: 'PUT', headers }).end(),
        'response',
      )) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    expect(
      await Promise.all([ask({ host: `evil.example:${port}` }), ask({ host, origin: 'https://evil.example' })]),
    ).toEqual([403, 403]);
    expect(
      await Promise.all([
        ask({ host }),
        ask({ host: `localhost:${port}` }),
        ask({ host, origin: 'http://localhost:5173' }),
        ask({ host, origin: `http://${host}` }),
      ]),
    ).toEqual([405, 405, 405, 405]);
  },
);
