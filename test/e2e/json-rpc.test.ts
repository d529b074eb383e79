import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { Upstream } from '../support/upstream.ts';

describe('the JSON-RPC envelope', () => {
  let upstream: Upstream;
  let gateway: GatewayHere;
  let client: RawClient;

  beforeAll(async () => {
    upstream = await Upstream.start({ prompts: [{ name: 'p' }], capabilities: { logging: {} } });
    gateway = await startGatewayHere('embedded', {
      // Names that are not listed reach no server with this option.
      mcpServers: { up: { url: upstream.url, excludeTools: ['none'] } },
      limits: { maxBodyBytes: 100_000, maxJsonDepth: 20 },
    });
    client = await RawClient.open(gateway.url);
  });

  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  it.each([
    ['no JSON', '{"jsonrpc":', 400, -32_700, undefined],
    ['bytes that are no UTF-8 text', '\u{0}', 400, -32_700, undefined],
    ['a number', '7', 400, -32_600, undefined],
    ['an object without a version', '{"id":1,"method":"ping"}', 400, -32_600, 1],
    ['a misspelt method member', '{"jsonrpc":"2.0","id":"a","method_":"ping"}', 400, -32_600, 'a'],
    ['a misspelt id', '{"jsonrpc":"2.0","id_":1,"method":"tools/list"}', 400, -32_600, undefined],
    [
      'an id in capitals',
      '{"jsonrpc":"2.0","ID":1,"method":"tools/call","params":{"name":"echo"}}',
      400,
      -32_600,
      undefined,
    ],
    ['a message that asks and answers', '{"jsonrpc":"2.0","id":9,"method":"ping","result":{}}', 400, -32_600, 9],
    ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32_600, undefined],
    ['a fractional id', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32_600, undefined],
    ['params that are an array', '{"jsonrpc":"2.0","id":2,"method":"ping","params":[]}', 400, -32_600, 2],
    ['an unknown method', '{"jsonrpc":"2.0","id":3,"method":"no/such"}', 200, -32_601, 3],
    ['a call without a name', '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}}', 200, -32_602, 4],
    ['an unknown tool', '{"jsonrpc":"2.0","id":"5","method":"tools/call","params":{"name":"x"}}', 200, -32_602, '5'],
    ['an unknown prompt', '{"jsonrpc":"2.0","id":0,"method":"prompts/get","params":{"name":"x"}}', 200, -32_602, 0],
    [
      'a cursor that is not ours',
      '{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"cursor":"zzz"}}',
      200,
      -32_602,
      6,
    ],
    [
      'a cursor that is no text',
      '{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":7}}',
      200,
      -32_602,
      7,
    ],
    [
      'an unknown level',
      '{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"loud"}}',
      200,
      -32_602,
      8,
    ],
  ])('answers %s as the specification wants', async (_what, body, status, code, id) => {
    const answer = await client.post(body);
    expect(answer.status).toBe(status);
    expect(answer.last.error?.code).toBe(code);
    expect('id' in answer.last ? answer.last.id : undefined).toBe(id);
    expect(answer.body).not.toContain('"id":null');
  });

  it('refuses a request of 2026-07-28 whose id is misspelt', async () => {
    using modern = new ModernClient(gateway.url);
    const {
      body: { id, ...body },
      headers,
    } = modern.compose('tools/list', {});
    expect(await client.post({ ...body, id_: id }, headers)).toMatchObject({
      status: 400,
      last: { error: { code: -32_600 } },
    });
  });

  it('takes null for no arguments, in both eras', async () => {
    const params = { name: 'echo', arguments: null };
    using modern = new ModernClient(gateway.url);
    for (const { last } of [await client.request('tools/call', params), await modern.request('tools/call', params)])
      expect(last.result).toMatchObject({ content: [{ type: 'text' }] });
    expect(upstream.calls.values.slice(-2).map(({ args }) => args ?? {})).toEqual([{}, {}]);
  });

  it('answers ping before initialize where the connection is the session', async () => {
    const socket = new WebSocket(gateway.url.replace(/^http(.*)mcp$/, 'ws$1ws'), 'mcp');
    const answers: unknown[] = [];
    socket.addEventListener('message', ({ data }) => answers.push(JSON.parse(String(data))));
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    socket.send('{"jsonrpc":"2.0","id":"p","method":"ping"}');
    socket.send('{"jsonrpc":"2.0","id":"l","method":"tools/list"}');
    await expect
      .poll(() => answers)
      .toMatchObject([
        { id: 'p', result: {} },
        { id: 'l', error: { code: -32_600 } },
      ]);
    socket.close();
  });

  it('refuses what is too large or too deep, and goes on', async () => {
    expect(
      (await client.post({ jsonrpc: '2.0', id: 1, method: 'ping', params: { padding: 'x'.repeat(100_001) } })).status,
    ).toBe(413);
    const deep = `${'{"a":'.repeat(30)}1${'}'.repeat(30)}`;
    expect(await client.post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":${deep}}`)).toMatchObject({
      status: 400,
      last: { error: { data: { reason: 'message.too_deep' } } },
    });
    expect((await client.request('ping')).last.result).toEqual({});
  });

  it('drops and counts responses to unknown requests', async () => {
    expect((await client.post({ jsonrpc: '2.0', id: 99, result: {} })).status).toBe(202);
    expect((await client.post({ jsonrpc: '2.0', id: 99, error: { code: 1, message: 'no' } })).status).toBe(202);
    const metrics = await (await fetch(`http://${await gateway.admin(gateway.edge)}/metrics`)).text();
    expect(metrics).toContain('omnibus_dropped_messages_total{reason="response_unsolicited"} 2');
  });

  it('refuses media types it does not serve', async () => {
    expect(
      (await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'content-type': 'text/plain' })).status,
    ).toBe(415);
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { accept: 'text/html' })).status).toBe(406);
    expect(
      (
        await client.post(
          { jsonrpc: '2.0', id: 1, method: 'ping' },
          { 'content-type': 'Application/JSON; charset=utf-8' },
        )
      ).status,
    ).toBe(200);
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { accept: 'application/json' })).type).toBe(
      'application/json',
    );
    expect((await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { accept: 'text/event-stream' })).type).toBe(
      'text/event-stream',
    );
    expect((await fetch(client.url, { method: 'PUT' })).status).toBe(405);
  });

  it('refuses foreign hosts and origins, and serves pages of this machine', async () => {
    const { port } = new URL(gateway.url);
    let allowed: unknown;
    const status = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const request = httpRequest(
          { host: '127.0.0.1', port, path: '/mcp', method: 'OPTIONS', headers },
          (response) => {
            response.resume();
            allowed = response.headers['access-control-allow-headers'];
            resolve(response.statusCode);
          },
        );
        request.once('error', reject).end();
      });
    expect(await status({ host: 'evil.example.com' })).toBe(403);
    expect(await status({ origin: 'https://evil.example.com' })).toBe(403);
    expect(await status({ origin: 'null' })).toBe(403);
    expect(await status({ host: `localhost:${port}`, origin: 'http://localhost:5173' })).toBe(204);
    expect(String(allowed).split(', ')).toEqual(expect.arrayContaining(['omnibus-listing', 'omnibus-timeout-ms']));
  });

  describe('batches', () => {
    it('are answered by one array in revision 2025-03-26', async () => {
      using old = await RawClient.open(gateway.url, '2025-03-26');
      const answer = await old.post([
        { jsonrpc: '2.0', id: 1, method: 'ping' },
        { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
        { jsonrpc: '2.0', id: '1', method: 'tools/call', params: { name: 'echo', arguments: { a: 1 } } },
      ]);
      expect(answer.type).toBe('application/json');
      expect(new Map(answer.messages.map(({ id, result }) => [id, result]))).toEqual(
        new Map<unknown, unknown>([
          [1, {}],
          ['1', { content: [{ type: 'text', text: '{"a":1}' }] }],
        ]),
      );
      expect((await old.post([{ jsonrpc: '2.0', method: 'notifications/roots/list_changed' }])).status).toBe(202);
    });

    it('are answered entry by entry, even if one is no valid message', async () => {
      using old = await RawClient.open(gateway.url, '2025-03-26');
      const mixed = await old.post([
        { jsonrpc: '2.0', id: 1, method: 'ping' },
        7,
        { jsonrpc: '2.0', id: 'a', method_: 'ping' },
        { jsonrpc: '2.0', id: 2, method: 'initialize', params: {} },
      ]);
      expect(mixed.status).toBe(200);
      expect(new Map<unknown, unknown>(mixed.messages.map(({ id, error }) => [id, error?.code]))).toEqual(
        new Map<unknown, unknown>([
          [1, undefined],
          [null, -32_600],
          ['a', -32_600],
          [2, -32_600],
        ]),
      );
      expect(JSON.parse((await old.post([1])).body)).toMatchObject([
        { jsonrpc: '2.0', id: null, error: { code: -32_600 } },
      ]);
    });

    it('are refused when empty or too long', async () => {
      using old = await RawClient.open(gateway.url, '2025-03-26');
      const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
      for (const batch of [[], Array.from({ length: 101 }, () => ping)]) {
        expect(await old.post(batch)).toMatchObject({ status: 400, last: { error: { code: -32_600 } } });
      }
    });

    it('are refused in later revisions', async () => {
      expect(await client.post([{ jsonrpc: '2.0', id: 1, method: 'ping' }])).toMatchObject({
        status: 400,
        last: { error: { data: { reason: 'batch.unsupported' } } },
      });
    });
  });
});
