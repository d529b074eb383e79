/** Servers over HTTP with invalid answers. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { startGatewayHere } from '../support/gateway-here.ts';
import {
  answer,
  nested,
  openEvents,
  startHostile,
  type HeardMessage,
  type Hostile,
  type HostileOptions,
} from '../support/hostile.ts';
import { RawClient } from '../support/raw-client.ts';

interface Bench extends AsyncDisposable {
  readonly server: Hostile;
  readonly client: RawClient;
  /** The output of the gateway so far. */
  readonly output: () => string;
  readonly status: () => Promise<string>;
}

async function bench(
  options: HostileOptions,
  { settings = {}, ...config }: Record<string, object> = {},
): Promise<Bench> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startHostile(options));
  const gateway = stack.use(
    await startGatewayHere('embedded', {
      ...config,
      mcpServers: { hostile: { url: server.url, restart: { minDelay: '100ms', maxDelay: '300ms' }, ...settings } },
    }),
  );
  const client = stack.use(await RawClient.open(gateway.url));
  const admin = await gateway.admin(gateway.backend);
  const owned = stack.move();
  return {
    server,
    client,
    output: gateway.backend.output,
    status: async () => (await fetch(`http://${admin}/status`)).text(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Handles the calls of the tool. */
const onCall =
  (run: (id: HeardMessage['id'], response: ServerResponse) => void): HostileOptions['post'] =>
  ({ id, method }, response) => {
    if (method !== 'tools/call') return false;
    run(id, response);
    return true;
  };
const executions = ({ posts }: Hostile): number => posts.values.filter(({ method }) => method === 'tools/call').length;
const reasonOf = (last: { readonly error?: { readonly data?: object } }): unknown =>
  (last.error?.data as { reason?: unknown } | undefined)?.reason;

it.each([
  [
    'a result',
    (id: unknown) =>
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"_meta":{"deep":${nested(5_000)}}}}`,
  ],
  [
    "an error's data",
    (id: unknown) =>
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":1,"message":"no","data":${nested(5_000)}}}`,
  ],
])('%s that nests 5,000 deep ends its call at once, with the name of the server', async (_what, write) => {
  let asEvents = false;
  await using it = await bench({
    post: onCall((id, response) => {
      if (asEvents) openEvents(response);
      else response.writeHead(200, { 'content-type': 'application/json' });
      response.end(asEvents ? `data: ${write(id)}\n\n` : write(id));
    }),
  });
  for (asEvents of [false, true]) {
    const { last } = await it.client.callTool('act');
    expect(last.error).toMatchObject({
      message: expect.stringContaining('"hostile"') as string,
      data: { reason: 'upstream.invalid' },
    });
  }
});

it("a deep notification on a call's stream is dropped, and the call is answered", async () => {
  await using it = await bench({
    post: onCall((id, response) => {
      openEvents(response);
      response.end(
        `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${nested(5_000)}}}\n\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`,
      );
    }),
  });
  expect((await it.client.callTool('act')).last.result).toEqual({ content: [] });
});

it('a batch that is longer than allowed ends the call on whose stream it came', async () => {
  await using it = await bench({
    post: onCall((id, response) => {
      openEvents(response);
      response.end(
        `data: ${JSON.stringify([...Array.from({ length: 101 }, () => ({ jsonrpc: '2.0', method: 'notifications/x' })), { jsonrpc: '2.0', id, result: {} }])}\n\n`,
      );
    }),
  });
  expect(reasonOf((await it.client.callTool('act')).last)).toBe('upstream.invalid');
});

it('a call is executed once although the server has forgotten its session before the answer can be resumed', async () => {
  await using it = await bench({
    post: onCall((_id, response) => {
      openEvents(response);
      response.write('retry: 100\nid: 1\ndata:\n\n');
      setImmediate(() => response.destroy());
    }),
    get: (response, { headers }) => void response.writeHead(headers['last-event-id'] === undefined ? 405 : 404).end(),
  });
  const { last } = await it.client.callTool('act');
  expect(reasonOf(last)).toBe('upstream.lost');
  expect(executions(it.server)).toBe(1);
});

const askingClient = (url: string): Promise<RawClient> =>
  RawClient.open(url, '2025-11-25', {}, { elicitation: { form: {} } });

/** Asks during the call; the test decides about each attempt to deliver the answer. */
const asking = (receive: (attempt: number, response: ServerResponse) => boolean): HostileOptions['post'] => {
  let finish = (): void => undefined;
  let attempts = 0;
  return ({ id, method, result }, response) => {
    if (method === 'tools/call') {
      openEvents(response);
      response.write(
        `data: ${JSON.stringify({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } } })}\n\n`,
      );
      finish = () => void response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
      return true;
    }
    if (id !== 'q' || result === undefined) return false;
    attempts += 1;
    if (receive(attempts, response)) finish();
    return true;
  };
};

const callAndAnswer = async (client: RawClient): Promise<unknown[]> => {
  const heard: unknown[] = [];
  await client.stream(
    { jsonrpc: '2.0', id: 'call', method: 'tools/call', params: { name: 'act', arguments: {} } },
    async (message) => {
      if (message.method === 'elicitation/create')
        await client.post({ jsonrpc: '2.0', id: message.id, result: { action: 'accept', content: {} } });
      else heard.push(message);
    },
  );
  return heard;
};

it("an answer to a server's question is sent again if the server did not receive it", async () => {
  await using it = await bench({
    post: asking((attempt, response) => {
      if (attempt === 1) response.destroy();
      else response.writeHead(attempt === 2 ? 503 : 202).end();
      return attempt === 3;
    }),
  });
  using client = await askingClient(it.client.url);
  expect(await callAndAnswer(client)).toMatchObject([{ id: 'call', result: { content: [] } }]);
});

it('a call ends with the reason if its server refuses the answer to its question, and the log says so', async () => {
  await using it = await bench({
    post: asking((_attempt, response) => {
      response.writeHead(400).end();
      return false;
    }),
  });
  using client = await askingClient(it.client.url);
  expect(await callAndAnswer(client)).toMatchObject([
    {
      id: 'call',
      error: {
        message: expect.stringContaining('could not be delivered') as string,
        data: { reason: 'upstream.lost' },
      },
    },
  ]);
  await expect.poll(it.output).toContain('something could not be delivered to the server');
});

const secret = 'Bearer sk-very-secret-0123456789';

it("an error page that repeats the gateway's credentials reaches neither clients nor /status, and is logged without them", async () => {
  await using it = await bench(
    {
      post: onCall(
        (_id, response) =>
          void response
            .writeHead(502, { 'content-type': 'text/html' })
            .end(`<h1>Bad gateway</h1>authorization: ${secret}`),
      ),
    },
    { settings: { headers: { Authorization: secret } } },
  );
  const { last, body } = await it.client.callTool('act');
  expect(last.error).toMatchObject({
    message: 'server "hostile": the server answered HTTP 502 (text/html)',
    data: { reason: 'upstream.refused', httpStatus: 502 },
  });
  expect(body).not.toContain('Bad gateway');
  await expect.poll(it.output).toContain('Bad gateway');
  expect(it.output() + (await it.status())).not.toContain('sk-very-secret');
});

it.each([
  [
    'an error of JSON-RPC',
    'application/json',
    JSON.stringify({ jsonrpc: '2.0', id: 'server-error', error: { code: -32600, message: 'Missing session ID' } }),
  ],
  ['a text', 'text/plain', 'Missing session ID'],
])(
  'a server of an older revision that refuses to be asked about the newest one, by %s, is no reason for a warning',
  async (_how, mediaType, body) => {
    const post = ({ method }: HeardMessage, response: ServerResponse, by: string): boolean => {
      if (method !== by) return false;
      response.writeHead(400, { 'content-type': mediaType }).end(body);
      return true;
    };
    await using old = await bench({ post: (message, response) => post(message, response, 'server/discover') });
    expect(await old.client.toolNames()).toEqual(['act']);
    expect(old.output()).not.toContain('Missing session ID');
    await using refusing = await bench({
      post: (message, response) => post(message, response, 'server/discover') || post(message, response, 'initialize'),
    });
    await expect.poll(refusing.output).toContain('Missing session ID');
  },
);

it("an error of the server passes unchanged except for the gateway's credentials", async () => {
  await using it = await bench(
    {
      post: onCall(
        (id, response) =>
          void response.writeHead(200, { 'content-type': 'application/json' }).end(
            JSON.stringify({
              jsonrpc: '2.0',
              id,
              error: { code: 77, message: `refused: ${secret}`, data: { sent: [secret.slice(7)], kept: true } },
            }),
          ),
      ),
    },
    { settings: { headers: { Authorization: secret } } },
  );
  expect((await it.client.callTool('act')).last.error).toEqual({
    code: 77,
    message: 'refused: [secret]',
    data: { sent: ['[secret]'], kept: true },
  });
});

it('a JSON-RPC error passes unchanged whatever its HTTP status', async () => {
  await using it = await bench({
    post: onCall(
      (id, response) =>
        void response
          .writeHead(400, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: 77, message: 'not like this', data: 1 } })),
    ),
  });
  expect((await it.client.callTool('act')).last.error).toEqual({ code: 77, message: 'not like this', data: 1 });
});

it('/status does not repeat what an address answers that is no MCP server', async () => {
  await using it = await bench({
    post: (_message, response) => {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('internal: the vault is open');
      return true;
    },
  });
  const status = await it.status();
  expect(status).toContain('the server answered HTTP 404 (text/plain)');
  expect(status).not.toContain('vault');
});

it('a server that always asks for an immediate reconnection is reconnected to with pauses', async () => {
  await using it = await bench({
    get: (response) => {
      openEvents(response);
      response.end('retry: 0\nid: 1\ndata:\n\n');
    },
  });
  await it.server.gets.until(4);
  const startedAt = performance.now();
  await it.server.gets.until(6);
  // Before, there were 600 requests a second; each of these two pauses takes more than half a second.
  expect(performance.now() - startedAt).toBeGreaterThan(500);
});

it('an event id that is not valid in a header is not sent back, and the stream is reopened without it', async () => {
  await using it = await bench({
    get: (response) => {
      openEvents(response);
      response.end('retry: 0\nid: \u0001ü\u{1F600}\ndata:\n\n');
    },
  });
  expect(await it.server.gets.until(2)).toEqual([undefined, undefined]);
});

it.each([
  [
    'an event without an end',
    (response: ServerResponse) => {
      openEvents(response);
      response.write('data: ');
      flood(response, 'x'.repeat(65_536));
    },
  ],
  [
    'a body without an end',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      flood(response, '['.repeat(65_536));
    },
  ],
  [
    'a page without an end',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      flood(response, 'x'.repeat(65_536));
    },
  ],
  [
    'a stream that is not packed as it says',
    (response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end('bomb'),
  ],
  ['a success without a message', (response: ServerResponse) => void response.writeHead(202).end()],
  [
    'interim responses without an end',
    (response: ServerResponse) => flood(response, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(10), true),
  ],
])('%s ends the call as upstream.invalid, long before its time limit', async (_what, run) => {
  await using it = await bench(
    { post: onCall((_id, response) => run(response)) },
    { limits: { maxUpstreamMessageBytes: 1_000_000 } },
  );
  expect(reasonOf((await it.client.callTool('act')).last)).toBe('upstream.invalid');
});

/** Writes as long as the other side reads. */
function flood(response: ServerResponse, chunk: string, isRaw = false): void {
  const socket = response.socket;
  const sink = isRaw ? socket : response;
  const more = (): void => {
    if (socket === null || sink === null || socket.destroyed) return;
    if (sink.write(chunk)) setImmediate(more);
    else sink.once('drain', more);
  };
  socket?.on('error', () => undefined);
  more();
}

it('a redirect is not followed, and credentials go to no other address', async () => {
  await using other = await startHostile({});
  await using it = await bench(
    { post: onCall((_id, response) => void response.writeHead(307, { location: other.url }).end()) },
    { settings: { headers: { Authorization: secret } } },
  );
  expect(reasonOf((await it.client.callTool('act')).last)).toBe('upstream.refused');
  expect(other.posts.values).toEqual([]);
});

it.each([
  ['of 100 KB', 'x'.repeat(100_000), {}],
  ['with other characters than visible ASCII, under validation: enforce,', 'a b\tc', { validation: 'enforce' }],
])('a session id %s is refused, and the server is unavailable with that reason', async (_what, session, settings) => {
  await using it = await bench({ session }, { settings });
  expect(await it.status()).toMatch(/session id it gave cannot be used|connection broke/);
});

it('a server whose revisions are not strings is unavailable, and others are not affected', async () => {
  await using it = await bench({
    post: ({ id, method }, response) => {
      if (method !== 'server/discover') return false;
      answer(response, id, { supportedVersions: [{ toString: 1, valueOf: 1 }], capabilities: {} });
      return true;
    },
  });
  expect(await it.status()).toContain('the server speaks nothing that is the name of a revision');
});
