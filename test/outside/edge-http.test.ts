/** Clients that send unusual or incomplete HTTP: each gets an answer, and the gateway continues. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { dial, exchange, readAnswer, requestText } from '../support/raw-http.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, Upstream } from '../support/upstream.ts';

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});
const json = ['content-type: application/json', 'accept: application/json, text/event-stream'];

let upstream: Upstream;
let gateway: GatewayHere;
let client: RawClient;

beforeAll(async () => {
  upstream = await Upstream.start();
  gateway = await startGatewayHere('embedded', { mcpServers: { up: { url: upstream.url } } });
  client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('echo'));
});

afterAll(async () => {
  client[Symbol.dispose]();
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const reasonOf = (body: string): unknown =>
  (JSON.parse(body) as { error: { data: { reason: unknown } } }).error.data.reason;
const served = async (): Promise<void> => {
  expect((await client.callTool('echo', { still: 'there' })).last.result).toEqual(text('{"still":"there"}'));
};

describe('connections that break', () => {
  it.each([
    ['a path that is not there', ['GET /nowhere HTTP/1.1']],
    ['a foreign Origin', ['GET /ws HTTP/1.1', 'origin: http://evil.example.com']],
    ['a path that is there', ['GET /ws HTTP/1.1']],
  ])('an upgrade that is reset at once ends nothing but itself: to %s', async (_, lines) => {
    const upgrade = requestText(gateway.url, [
      ...lines,
      'connection: Upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    ]);
    await Promise.all(
      Array.from({ length: 200 }, async () => {
        const socket = await dial(gateway.url);
        await new Promise((resolve) => socket.write(upgrade, resolve));
        socket.resetAndDestroy();
      }),
    );
    await served();
  });

  it('requests that are reset in the middle of headers, body or answer affect nothing else', async () => {
    const pieces = [
      'POST /mcp HTTP/1.1\r\nhost: ',
      requestText(gateway.url, ['POST /mcp HTTP/1.1', ...json, 'content-length: 1000000']) + '{"jsonrpc',
      requestText(gateway.url, ['GET /sse HTTP/1.1', 'accept: text/event-stream']),
      requestText(gateway.url, ['GET /mcp HTTP/1.1', 'accept: text/event-stream', `mcp-session-id: ${client.session}`]),
      requestText(
        gateway.url,
        ['POST /mcp HTTP/1.1', ...json, `mcp-session-id: ${client.session}`],
        JSON.stringify({ jsonrpc: '2.0', id: 'reset', method: 'tools/list' }),
      ),
      requestText(gateway.url, ['CONNECT example.com:443 HTTP/1.1']),
    ];
    await Promise.all(
      pieces.flatMap((piece) =>
        Array.from({ length: 30 }, async () => {
          const socket = await dial(gateway.url);
          await new Promise((resolve) => socket.write(piece, resolve));
          socket.resetAndDestroy();
        }),
      ),
    );
    await served();
  });

  it('a refused upgrade does not leave its connection open', async () => {
    const socket = await dial(gateway.url);
    socket.write(
      requestText(gateway.url, [
        'GET /nowhere HTTP/1.1',
        'connection: Upgrade',
        'upgrade: websocket',
        'sec-websocket-version: 13',
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      ]),
    );
    const answer = await readAnswer(socket);
    expect(answer.status).toBe(404);
    expect(reasonOf(answer.body)).toBe('http.path_unknown');
    if (!socket.closed) await once(socket, 'close');
  });
});

describe('requests that are odd', () => {
  const odd: readonly (readonly [string, readonly string[], string, number, string | undefined])[] = [
    ['a second Host', ['POST /mcp HTTP/1.1', 'host: localhost', ...json], ping, 400, 'http.invalid'],
    [
      'a compressed body',
      ['POST /mcp HTTP/1.1', ...json, 'content-encoding: gzip'],
      ping,
      415,
      'http.content_encoding',
    ],
    [
      'a compressed body without a session',
      ['POST /mcp HTTP/1.1', ...json, 'content-encoding: br'],
      initialize,
      415,
      'http.content_encoding',
    ],
    ['a method nobody knows', ['BREW /coffee HTTP/1.1'], '', 400, undefined],
    ['an unknown path, by PUT', ['PUT /coffee HTTP/1.1'], ping, 404, 'http.path_unknown'],
    ['an unknown path, by DELETE', ['DELETE /coffee HTTP/1.1'], '', 404, 'http.path_unknown'],
    ['an unknown path, by POST of no media type', ['POST /coffee HTTP/1.1'], ping, 404, 'http.path_unknown'],
    ['a doubled slash', ['POST //mcp HTTP/1.1', ...json], initialize, 404, 'http.path_unknown'],
    ['an encoded path', ['POST /%6dcp HTTP/1.1', ...json], initialize, 404, 'http.path_unknown'],
    ['an encoded slash', ['POST /mcp%2Fup HTTP/1.1', ...json], initialize, 404, 'http.path_unknown'],
    ['a path that climbs', ['POST /mcp/../mcp HTTP/1.1', ...json], initialize, 404, 'http.path_unknown'],
    ['HEAD', ['HEAD /mcp HTTP/1.1', 'connection: close'], '', 405, undefined],
    ['TRACE', ['TRACE /mcp HTTP/1.1'], '', 405, 'http.method_not_allowed'],
    ['CONNECT', ['CONNECT example.com:443 HTTP/1.1'], '', 405, 'http.method_not_allowed'],
    ['OPTIONS of everything', ['OPTIONS * HTTP/1.1'], '', 404, 'http.path_unknown'],
    ['an Origin that is null', ['POST /mcp HTTP/1.1', ...json, 'origin: null'], initialize, 403, 'origin.forbidden'],
    [
      'a session id that is none of ours',
      ['POST /mcp HTTP/1.1', ...json, 'mcp-session-id: nonsense'],
      ping,
      404,
      'session.unknown',
    ],
    [
      'two session ids',
      ['POST /mcp HTTP/1.1', ...json, `mcp-session-id: ${'a'.repeat(32)}`, `mcp-session-id: ${'b'.repeat(32)}`],
      ping,
      404,
      'session.unknown',
    ],
    [
      'a session id of odd bytes',
      ['GET /mcp HTTP/1.1', 'accept: text/event-stream', 'mcp-session-id: \u00e4\u00ff\u0080'],
      '',
      404,
      'session.unknown',
    ],
    [
      'a Last-Event-ID of 10 KB',
      [
        'GET /mcp HTTP/1.1',
        'accept: text/event-stream',
        `mcp-session-id: ${'a'.repeat(32)}`,
        `last-event-id: ${'9'.repeat(10_000)}`,
      ],
      '',
      400,
      'stream.unknown',
    ],
    [
      'a Last-Event-ID of odd bytes',
      [
        'GET /mcp HTTP/1.1',
        'accept: text/event-stream',
        `mcp-session-id: ${'a'.repeat(32)}`,
        'last-event-id: \u00ff.1',
      ],
      '',
      400,
      'stream.unknown',
    ],
    [
      'an Accept of 10 KB that takes nothing',
      ['POST /mcp HTTP/1.1', 'content-type: application/json', `accept: ${'text/html,'.repeat(1_000)}`],
      ping,
      406,
      'http.not_acceptable',
    ],
    [
      'more headers than there may be bytes of them',
      ['POST /mcp HTTP/1.1', ...json, `x-much: ${'x'.repeat(20_000)}`],
      ping,
      431,
      'http.headers_too_large',
    ],
    ['what is no HTTP', ['\u0016\u0003\u0001 hello'], '', 400, 'http.invalid'],
    ['HTTP/2 without asking', ['PRI * HTTP/2.0'], '', 400, 'http.invalid'],
    ['a control character in a header', ['POST /mcp HTTP/1.1', ...json, 'x-odd: a\u0000b'], ping, 400, 'http.invalid'],
    ['two lengths', ['POST /mcp HTTP/1.1', ...json, 'content-length: 3'], ping, 400, 'http.invalid'],
    ['a length and chunks', ['POST /mcp HTTP/1.1', ...json, 'transfer-encoding: chunked'], ping, 400, 'http.invalid'],
    [
      'a transfer coding nobody knows',
      ['POST /mcp HTTP/1.1', ...json, 'transfer-encoding: gzip, chunked'],
      '',
      400,
      'http.invalid',
    ],
    ['a length that is no number', ['POST /mcp HTTP/1.1', ...json, 'content-length: ten'], '', 400, 'http.invalid'],
    [
      'a length beyond the bound',
      ['POST /mcp HTTP/1.1', ...json, 'content-length: 999999999999'],
      '',
      413,
      'message.too_large',
    ],
    [
      'a length beyond the bound, asked for first',
      ['POST /mcp HTTP/1.1', ...json, 'expect: 100-continue', 'content-length: 999999999999'],
      '',
      413,
      'message.too_large',
    ],
    [
      'a refused header, asked for first',
      ['POST /mcp HTTP/1.1', 'content-type: text/plain', 'expect: 100-continue', 'content-length: 10'],
      '',
      415,
      'http.media_type',
    ],
    ['an expectation nobody knows', ['POST /mcp HTTP/1.1', ...json, 'expect: 200-maybe'], ping, 417, undefined],
    [
      'an absolute target of a foreign host',
      ['POST http://evil.example.com/mcp HTTP/1.1', ...json],
      initialize,
      403,
      'host.forbidden',
    ],
    [
      'an absolute target with a user in it',
      ['POST http://localhost@evil.example.com/mcp HTTP/1.1', ...json],
      initialize,
      400,
      'http.invalid',
    ],
  ];
  it.each(odd)(
    'an odd request is answered by a status and a reason of the table: %s',
    async (_, lines, body, status, reason) => {
      const answer = await exchange(gateway.url, Buffer.from(requestText(gateway.url, lines, body), 'latin1'));
      expect([answer.status, reason === undefined ? undefined : reasonOf(answer.body)]).toEqual([status, reason]);
    },
  );

  it.each<readonly [string, readonly string[]]>([
    ['an absolute target', ['POST http://localhost/mcp HTTP/1.1', ...json]],
    ['a body that is not compressed and says so', ['POST /mcp HTTP/1.1', ...json, 'content-encoding: identity']],
    ['a wish for another protocol', ['POST /mcp HTTP/1.1', ...json, 'connection: Upgrade', 'upgrade: h2c']],
    ['a wish for a WebSocket in a POST', ['POST /mcp HTTP/1.1', ...json, 'connection: Upgrade', 'upgrade: websocket']],
    ['1,000 headers', ['POST /mcp HTTP/1.1', ...json, ...Array.from({ length: 1_000 }, (_, index) => `a${index}:b`)]],
    ['a session id without characters', ['POST /mcp HTTP/1.1', ...json, 'mcp-session-id:']],
    ['HTTP/1.0', ['POST /mcp HTTP/1.0', ...json]],
  ])('served as an ordinary request: %s', async (_, lines) => {
    const answer = await exchange(gateway.url, requestText(gateway.url, lines, initialize));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({ id: 'init', result: {} });
  });

  it('a client that sends "Expect: 100-continue" is told to go on', async () => {
    const socket = await dial(gateway.url);
    const waiting = once(socket, 'data');
    socket.write(
      requestText(gateway.url, [
        'POST /mcp HTTP/1.1',
        ...json,
        'expect: 100-continue',
        `content-length: ${initialize.length}`,
      ]),
    );
    expect(String(await waiting)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    const answered = readAnswer(socket);
    socket.write(initialize);
    expect((await answered).status).toBe(200);
    socket.destroy();
  });

  it.each<readonly [string, readonly string[], number, string]>([
    ['an unknown transfer coding', ['POST /mcp HTTP/1.1', ...json, 'transfer-encoding: x'], 400, ''],
    ['a transfer coding that is a number', ['POST /mcp HTTP/1.1', ...json, 'transfer-encoding: 1e9'], 400, ''],
    ['one that does not end with chunked', ['POST /mcp HTTP/1.1', ...json, 'transfer-encoding: identity'], 400, ''],
    ['two transfer codings', ['POST /mcp HTTP/1.1', ...json, 'transfer-encoding: gzip, chunked'], 400, ''],
    ['the same at a path that is not there', ['POST /nowhere HTTP/1.1', ...json, 'transfer-encoding: x'], 404, ''],
    ['a wish for another protocol', ['GET /nowhere HTTP/1.1', 'connection: Upgrade', 'upgrade: h2c'], 404, ''],
    ...['h2c', 'websocket', 'HTTP/2.0, TLS/1.3'].map((wish) => {
      const lines = ['POST /mcp HTTP/1.1', ...json, 'connection: Upgrade', `upgrade: ${wish}`];
      return [`a wish for ${wish} in a POST that is served`, lines, 200, initialize] as const;
    }),
  ])(
    'the answer to a request after which nothing can be read says that the connection ends: %s',
    async (_, lines, status, body) => {
      const answer = await exchange(gateway.url, requestText(gateway.url, lines, body));
      expect([answer.status, /^connection: (.*)$/im.exec(answer.head)?.[1]?.trim()]).toEqual([status, 'close']);
      // A second request in the packet gets no answer, and its client knows that from the end of the connection.
      const socket = await dial(gateway.url);
      const ended = once(socket, 'close');
      let heard = '';
      socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
      socket.write(requestText(gateway.url, lines, body) + requestText(gateway.url, ['GET /second HTTP/1.1']));
      await ended;
      expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
      await served();
    },
  );

  it('an initialize with the id of an ended session is refused with the step that helps, and that step works', async () => {
    using ended = await RawClient.open(gateway.url);
    const post = ['POST /mcp HTTP/1.1', ...json];
    const stale = `mcp-session-id: ${ended.session}`;
    await exchange(gateway.url, requestText(gateway.url, ['DELETE /mcp HTTP/1.1', stale, 'connection: close']));
    const refused = await exchange(gateway.url, requestText(gateway.url, [...post, stale], initialize));
    const { error } = JSON.parse(refused.body) as { error: { message: string; data: object } };
    // The same request never succeeds; without the header it does.
    expect([refused.status, error.data]).toMatchObject([404, { reason: 'session.unknown', retry: 'never' }]);
    expect(error.message).toMatch(/Send initialize without Mcp-Session-Id\.$/);
    expect((await exchange(gateway.url, requestText(gateway.url, post, initialize))).status).toBe(200);
  });

  it('requests in one packet are answered in their order', async () => {
    const socket = await dial(gateway.url);
    const ended = once(socket, 'close');
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
    const post = (id: number): string =>
      requestText(
        gateway.url,
        ['POST /mcp HTTP/1.1', ...json, `mcp-session-id: ${client.session}`],
        JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }),
      );
    socket.write(
      Array.from({ length: 50 }, (_, id) => post(id)).join('') +
        requestText(gateway.url, ['GET /last HTTP/1.1', 'connection: close']),
    );
    await ended;
    expect([...heard.matchAll(/"id":(\d+),"result"/g)].map(([, id]) => Number(id))).toEqual(
      Array.from({ length: 50 }, (_, id) => id),
    );
    expect(heard).toContain('http.path_unknown');
  });

  it('bytes after a request that are not HTTP do not change its answer', async () => {
    const socket = await dial(gateway.url);
    const ended = once(socket, 'close');
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
    socket.write(
      `${requestText(gateway.url, ['GET /sse HTTP/1.1', 'accept: text/event-stream'])}\u0000\u0000 garbage\r\n\r\n`,
    );
    await ended;
    expect(heard.match(/HTTP\/1\.1/g) ?? []).toHaveLength(1);
    await served();
  });
});
