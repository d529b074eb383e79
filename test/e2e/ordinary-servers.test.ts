/** Servers with common faults: they forget sessions, refuse a stream, or cannot list for a while. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { answer, startHostile, type HeardMessage, type Hostile, type HostileOptions } from '../support/hostile.ts';
import { RawClient } from '../support/raw-client.ts';

interface Bench extends AsyncDisposable {
  readonly server: Hostile;
  readonly gateway: GatewayHere;
  readonly client: RawClient;
  readonly status: () => Promise<{ readonly status: string; readonly problem?: string; readonly tools: number }>;
}

async function bench(options: HostileOptions, settings: object = {}): Promise<Bench> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startHostile(options));
  const gateway = stack.use(
    await startGatewayHere('embedded', {
      mcpServers: { up: { url: server.url, restart: { minDelay: '100ms', maxDelay: '300ms' }, ...settings } },
    }),
  );
  const client = stack.use(await RawClient.open(gateway.url));
  const admin = await gateway.admin(gateway.backend);
  const owned = stack.move();
  return {
    server,
    gateway,
    client,
    status: async () =>
      ((await (await fetch(`http://${admin}/status`)).json()) as { servers: [Awaited<ReturnType<Bench['status']>>] })
        .servers[0],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const say = (response: ServerResponse, status: number, body: object): true => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  return true;
};
const count = ({ posts }: Hostile, wanted: string): number =>
  posts.values.filter(({ method }) => method === wanted).length;

it.each([
  [
    'HTTP 400 and "No valid session ID provided"',
    400,
    () => ({
      jsonrpc: '2.0',
      error: { code: -32_000, message: 'Bad Request: No valid session ID provided' },
      id: null,
    }),
  ],
  ['HTTP 410', 410, () => ({ gone: true })],
  ['HTTP 422 and a page about its session', 422, () => ({ message: 'Unexpected message, expect initialize request' })],
  [
    'a JSON-RPC error about it',
    200,
    (id: unknown) => ({ jsonrpc: '2.0', error: { code: -32_001, message: 'Session not found' }, id }),
  ],
] as const)(
  'a session lost with %s is opened anew: the call that met it fails once, and is not made twice',
  async (_what, status, body) => {
    let known = 0;
    let current = 0;
    await using it = await bench({
      post: ({ id, method }, response, request) => {
        if (method === 'initialize') {
          known += 1;
          current = known;
          answer(
            response,
            id,
            {
              protocolVersion: '2025-11-25',
              capabilities: { tools: {} },
              serverInfo: { name: 'forgets', version: '1' },
            },
            { 'mcp-session-id': `session-${known}` },
          );
          return true;
        }
        if (method === 'server/discover' || request.headers['mcp-session-id'] === `session-${current}`) return false;
        return say(response, status, body(id));
      },
    });
    await it.client.untilTools((names) => names.length === 1);
    expect((await it.client.callTool('act')).last).toHaveProperty('result');
    current = -1;
    expect((await it.client.callTool('act')).last).toHaveProperty('error');
    expect((await it.client.callTool('act')).last).toHaveProperty('result');
    expect(count(it.server, 'tools/call')).toBe(3);
    expect((await it.status()).status).toBe('up');
  },
);

it('an error of a tool that mentions sessions does not end the MCP session', async () => {
  await using it = await bench({
    post: ({ id, method }, response) =>
      method === 'tools/call' &&
      say(response, 200, { jsonrpc: '2.0', id, error: { code: -32_000, message: 'browser session not found' } }),
  });
  await it.client.untilTools((names) => names.length === 1);
  for (let each = 0; each < 3; each += 1)
    expect((await it.client.callTool('act')).last.error).toMatchObject({
      code: -32_000,
      message: 'browser session not found',
    });
  expect(count(it.server, 'initialize')).toBe(1);
});

it('a server that forgets every session at once is not initialized again and again', async () => {
  await using it = await bench({
    post: ({ method, id }, response) =>
      id !== undefined && method !== 'initialize' && method !== 'server/discover' && say(response, 404, {}),
  });
  await it.server.posts.untilSome(({ method }) => method === 'tools/list');
  for (let each = 0; each < 20; each += 1) await it.client.request('ping');
  const before = performance.now();
  await expect.poll(() => performance.now() - before, { timeout: 3_000 }).toBeGreaterThan(1_500);
  expect(count(it.server, 'initialize')).toBeLessThan(12);
});

it('a server that answers 404 to GET serves its tools, is initialized once, and is asked for the stream again later', async () => {
  await using it = await bench({ get: (response) => void response.writeHead(404).end() });
  await it.client.untilTools((names) => names.length === 1);
  expect((await it.client.callTool('act')).last).toHaveProperty('result');
  await it.server.gets.until(2);
  expect(count(it.server, 'initialize')).toBe(1);
});

it.each([400, 404, 429, 503])(
  'a stream refused once with HTTP %i is opened later, and its messages are received',
  async (status) => {
    let refused = 0;
    let tools: HeardMessage['params'][] = [{ name: 'act', inputSchema: { type: 'object' } }];
    let stream: ServerResponse | undefined;
    await using it = await bench({
      get: (response) => {
        refused += 1;
        if (refused === 1) {
          response.writeHead(status).end();
          return;
        }
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
        stream.flushHeaders();
      },
      post: ({ id, method }, response) => {
        if (method !== 'tools/list') return false;
        answer(response, id, { tools });
        return true;
      },
    });
    await it.client.untilTools((names) => names.length === 1);
    await expect.poll(() => stream !== undefined).toBe(true);
    tools = [...tools, { name: 'late', inputSchema: { type: 'object' } }];
    stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n\n`);
    await it.client.untilTools((names) => names.length === 2);
    expect(count(it.server, 'initialize')).toBe(1);
  },
);

it.each([
  ['HTTP 503', 503, () => ({})],
  ['HTTP 401', 401, () => ({})],
  [
    'a JSON-RPC error',
    200,
    (id: unknown) => ({ jsonrpc: '2.0', id, error: { code: -32_603, message: 'still loading' } }),
  ],
] as const)(
  'a first list that fails with %s is read again; until then the status says why, and the only server answers calls',
  async (_what, status, body) => {
    let isBroken = true;
    await using it = await bench({
      post: ({ id, method }, response) => isBroken && method === 'tools/list' && say(response, status, body(id)),
    });
    await expect
      .poll(it.status)
      .toMatchObject({ status: 'up', problem: expect.stringContaining('tools/list failed') as string, tools: 0 });
    expect((await it.client.callTool('act')).last).toHaveProperty('result');
    isBroken = false;
    await it.client.untilTools((names) => names.length === 1);
    const recovered = await it.status();
    expect(recovered).toMatchObject({ status: 'up', tools: 1 });
    expect(recovered).not.toHaveProperty('problem');
    expect((await it.client.callTool('act')).last).toHaveProperty('result');
  },
);

it.each([[true], [false]])(
  'an event that cannot be read on the stream of a call does not fail it when its answer follows (%s)',
  async (follows) => {
    await using it = await bench({
      post: ({ id, method }, response) => {
        if (method !== 'tools/call') return false;
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {broken\n\n');
        response.end(follows ? `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n` : '');
        return true;
      },
    });
    await it.client.untilTools((names) => names.length === 1);
    const { last } = await it.client.callTool('act');
    if (follows) expect(last).toHaveProperty('result');
    else expect(last.error).toMatchObject({ data: { reason: 'upstream.invalid' } });
  },
);

it.each([['its id'], ['no id']])(
  'a JSON-RPC error with %s in an HTTP 400 keeps its code, message and data',
  async (which) => {
    const error = { code: -32_042, message: 'not this one', data: { field: 'name' } };
    await using it = await bench({
      post: ({ id, method }, response) =>
        method === 'tools/call' && say(response, 400, { jsonrpc: '2.0', id: which === 'its id' ? id : null, error }),
    });
    await it.client.untilTools((names) => names.length === 1);
    expect((await it.client.callTool('act')).last.error).toEqual(error);
  },
);

it.each([406, 415, 422])(
  'a server of 2024-11-05 that refuses the first POST with HTTP %i is reached over HTTP+SSE',
  async (status) => {
    let stream: ServerResponse | undefined;
    await using it = await bench({
      get: (response) => {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
        stream.write('event: endpoint\ndata: /messages\n\n');
      },
      post: ({ id, method }, response, request) => {
        if (request.url !== '/messages') return say(response, status, {});
        response.writeHead(202).end();
        const result =
          method === 'initialize'
            ? { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } }
            : { tools: [{ name: 'act', inputSchema: { type: 'object' } }] };
        if (id !== undefined)
          stream?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
        return true;
      },
    });
    await it.client.untilTools((names) => names.includes('act'));
  },
);

it('the lists of a server that announces no changes are read again while it is in use, and clients are notified', async () => {
  let tools: HeardMessage['params'][] = [{ name: 'act', inputSchema: { type: 'object' } }];
  await using it = await bench(
    {
      session: undefined,
      post: ({ id, method }, response) => {
        if (method !== 'tools/list') return false;
        answer(response, id, { tools });
        return true;
      },
    },
    { rereadLists: '200ms' },
  );
  await it.client.untilTools((names) => names.length === 1);
  tools = [...tools, { name: 'redeployed', inputSchema: { type: 'object' } }];
  await it.client.untilTools((names) => names.includes('redeployed'));
});

it('a call of a tool of a server that refuses credentials says so, as do the list and the instructions', async () => {
  await using it = await bench({ post: (_message, response) => say(response, 401, {}) });
  expect((await it.client.callTool('act')).last.error).toMatchObject({
    message: expect.stringContaining('401') as string,
    data: { reason: 'upstream.unavailable', server: 'up' },
  });
  expect((await it.client.request('tools/list')).last.result).toMatchObject({
    tools: [],
    _meta: { 'omnibus.dev/missing': [{ server: 'up', problem: expect.stringContaining('401') as string }] },
  });
  expect((await new RawClient(it.gateway.url).initialize('2025-06-18')).last.result).toMatchObject({
    capabilities: { tools: { listChanged: true } },
    instructions: expect.stringContaining('401') as string,
  });
});
