/** Requests, notifications and capabilities that no revision defines, in both directions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient, type Answer, type Message } from '../support/raw-client.ts';
import { Speaker, type SayArguments } from '../support/speaker.ts';

const experimental = { 'example.com/sums': { digits: 3 } };
const servers = ['old', 'new'] as const;
const custom = (method: string, params: JsonObject): JsonObject | undefined =>
  ({
    'example/sum': {
      sum: Number(params['a']) + Number(params['b']),
      odd: { heard: params['odd'] },
      _meta: { 'example.com/sum': 1 },
    },
    'resources/list': { resources: [{ uri: 'speaker://one', name: 'one' }], ttlMs: 0, cacheScope: 'private' },
    'resources/templates/list': { resourceTemplates: [], ttlMs: 0, cacheScope: 'private' },
    'resources/subscribe': {},
  })[method];
const notice = (method: string, data: unknown): JsonObject => ({
  method,
  params: { data, _meta: { 'example.com/n': 1 } },
});

interface Caller {
  request(endpoint: string, method: string, params: JsonObject): Promise<Answer>;
}

describe('methods that no revision defines', () => {
  const speakers = new Map<string, Speaker>();
  let gateway: GatewayHere;
  const clients = new Map<string, RawClient>();
  const callers: Record<string, Caller> = {
    '2025-11-25': { request: (endpoint, method, params) => client(endpoint).request(method, params) },
    '2026-07-28': {
      request: (endpoint, method, params) => new ModernClient(`${gateway.url}${endpoint}`, {}).request(method, params),
    },
  };

  const speaker = (name: string): Speaker => speakers.get(name) as Speaker;
  const client = (endpoint: string): RawClient => clients.get(endpoint) as RawClient;
  const open = (endpoint: string): Promise<RawClient> => RawClient.open(`${gateway.url}${endpoint}`);
  const say = (of: RawClient, args: SayArguments): Promise<Answer> => of.callTool('say', args);
  const saidBy = (method: string, { messages }: Answer): (JsonObject | undefined)[] =>
    messages.filter((message) => message.method === method).map(({ params }) => params);

  beforeAll(async () => {
    for (const name of servers)
      speakers.set(
        name,
        await Speaker.start({
          isModern: name === 'new',
          capabilities: { experimental, resources: { subscribe: true } },
          custom,
        }),
      );
    gateway = await startGatewayHere('embedded', {
      mcpServers: Object.fromEntries(servers.map((name) => [name, { url: speaker(name).url }])),
      profiles: { narrow: { servers: ['old'], tools: ['old/say'] } },
    });
    for (const endpoint of ['', '/old', '/new', '/narrow']) clients.set(endpoint, await open(endpoint));
    await client('').untilTools((names) => names.length === 4);
  });

  afterAll(async () => {
    for (const each of clients.values()) each[Symbol.dispose]();
    await gateway[Symbol.asyncDispose]();
    for (const each of speakers.values()) await each[Symbol.asyncDispose]();
  });

  const pairs = ['2025-11-25', '2026-07-28'].flatMap((era) => servers.map((server) => [era, server] as const));

  it.each(pairs)(
    'a request of a client of %s goes to the only server of its endpoint, here the %s one, and the answer comes back unchanged',
    async (era, server) => {
      const caller = callers[era] as Caller;
      const answer = await caller.request(`/${server}`, 'example/sum', {
        a: 1,
        b: 2,
        odd: [1],
        _meta: { 'example.com/kept': true },
      });
      expect(answer.last.result).toMatchObject({ sum: 3, odd: { heard: [1] }, _meta: { 'example.com/sum': 1 } });
      expect(speaker(server).latest('example/sum')?.params).toMatchObject({
        a: 1,
        b: 2,
        odd: [1],
        _meta: { 'example.com/kept': true },
      });
      const unknown = await caller.request(`/${server}`, 'example/nothing', {});
      expect(unknown).toMatchObject({
        status: era === '2026-07-28' ? 404 : 200,
        last: { error: { code: -32_601, message: 'no example/nothing here' } },
      });
    },
  );

  it.each(pairs)(
    'at an endpoint of several servers a request of a client of %s has to name its server, or is told how: the %s one',
    async (era, server) => {
      const caller = callers[era] as Caller;
      const named = await caller.request('', 'example/sum', { a: 2, b: 2, _meta: { 'dev.omnibus/server': server } });
      expect(named.last.result?.['sum']).toBe(4);
      expect(Object.keys(speaker(server).latest('example/sum')?.params?.['_meta'] as object)).not.toContain(
        'dev.omnibus/server',
      );
      const unnamed = await caller.request('', 'example/sum', { a: 2, b: 2 });
      expect(unnamed.last.error).toMatchObject({
        code: -32_601,
        message: expect.stringMatching(/several servers.*\/mcp\/<server>.*dev\.omnibus\/server/s) as string,
      });
      for (const wrong of ['nobody', 7])
        expect(
          (await caller.request('', 'example/sum', { _meta: { 'dev.omnibus/server': wrong } })).last.error?.code,
        ).toBe(-32_602);
    },
  );

  it("an endpoint with a selection of tools forwards no methods of a server's own, and methods of other revisions and directions are not forwarded", async () => {
    const count = speaker('old').heard.values.length;
    expect((await client('/narrow').request('example/sum', { a: 1, b: 2 })).last.error?.code).toBe(-32_601);
    for (const method of [
      'sampling/createMessage',
      'server/discover',
      'roots/list',
      'tasks/update',
      'rpc.discover',
      'notifications/initialized',
      'x'.repeat(300),
    ]) {
      expect((await client('/old').request(method, {})).last.error?.code, method).toBe(-32_601);
    }
    for (const method of [
      'initialize',
      'ping',
      'logging/setLevel',
      'resources/subscribe',
      'roots/list',
      'notifications/initialized',
    ]) {
      expect(await callers['2026-07-28']?.request('/old', method, {}), method).toMatchObject({
        status: 404,
        last: { error: { code: -32_601 } },
      });
    }
    expect(speaker('old').heard.values.length).toBe(count);
  });

  it("an endpoint of one server offers that server's experimental capabilities, one of several servers none; those of a client are sent to servers", async () => {
    const offered = async (endpoint: string): Promise<unknown[]> => {
      const legacy = await new RawClient(`${gateway.url}${endpoint}`).initialize('2025-11-25');
      const modern = await new ModernClient(`${gateway.url}${endpoint}`).request('server/discover');
      return [legacy, modern].map(({ last }) => (last.result?.['capabilities'] as JsonObject)['experimental']);
    };
    expect(await offered('/old')).toEqual([experimental, experimental]);
    expect(await offered('/new')).toEqual([experimental, experimental]);
    expect(await offered('')).toEqual([undefined, undefined]);
    expect(await offered('/narrow')).toEqual([undefined, undefined]);
    const mine = { 'example.com/asks': {} };
    await new ModernClient(`${gateway.url}/new`, { experimental: mine }).call('say');
    expect(speaker('new').latest('tools/call')?.params?.['_meta']).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { experimental: mine },
    });
    await new ModernClient(`${gateway.url}/old`, { experimental: mine }).call('say');
    expect(speaker('old').latest('initialize')?.params?.['capabilities']).toEqual({ experimental: mine });
  });

  it.each(pairs)(
    'a notification on the stream of a call reaches the call of a client of %s: the %s server',
    async (era, server) => {
      const answer = await (callers[era] as Caller).request(`/${server}`, 'tools/call', {
        name: 'say',
        arguments: { messages: [notice('notifications/example/half', 50), notice('example/spoken', 'x')] },
      });
      expect(saidBy('notifications/example/half', answer)).toEqual([{ data: 50, _meta: { 'example.com/n': 1 } }]);
      expect(saidBy('example/spoken', answer)).toEqual([{ data: 'x', _meta: { 'example.com/n': 1 } }]);
    },
  );

  it('a notification of a client reaches the server of its endpoint', async () => {
    await client('/old').post({
      jsonrpc: '2.0',
      method: 'notifications/example/typed',
      params: { keys: 3, _meta: { 'example.com/n': 1 } },
    });
    const heard = await speaker('old').heard.untilSome(({ method }) => method === 'notifications/example/typed');
    expect(heard.params).toEqual({ keys: 3, _meta: { 'example.com/n': 1 } });
  });

  it('a request of a server during a call is passed to a client with a session, and its answer back; a client of 2026-07-28 cannot be asked', async () => {
    const ask: SayArguments = { messages: [{ id: 'q', method: 'example/ask', params: { how: 'well' } }], asks: 'q' };
    const session = client('/old');
    let last: Message | undefined;
    await session.stream(
      { jsonrpc: '2.0', id: 'asking', method: 'tools/call', params: { name: 'say', arguments: ask } },
      async (message) => {
        last = message;
        if (message.method === 'example/ask')
          await session.post({ jsonrpc: '2.0', id: message.id, result: { very: message.params?.['how'] } });
      },
    );
    expect(last?.result?.['structuredContent']).toEqual({ result: { very: 'well' } });
    const modern = await callers['2026-07-28']?.request('/old', 'tools/call', {
      name: 'say',
      arguments: { ...ask, messages: [{ id: 'q2', method: 'example/ask', params: {} }], asks: 'q2' },
    });
    expect(modern?.last.result?.['structuredContent']).toMatchObject({ error: { code: -32_601 } });
  });

  it('further members of an update of a resource are passed on', async () => {
    const heard = await client('/old').standing();
    await client('/old').request('resources/subscribe', { uri: 'speaker://one' });
    const params = { uri: 'speaker://one', title: 'The first', _meta: { 'example.com/by': 'me' } };
    speaker('old').announce({ method: 'notifications/resources/updated', params });
    expect((await heard.untilSome(({ method }) => method === 'notifications/resources/updated')).params).toEqual(
      params,
    );
  });

  it('a notification that belongs to no request reaches the only session that uses the server', async () => {
    await using alone = await Speaker.start({ custom });
    await using own = await startGatewayHere('embedded', { mcpServers: { alone: { url: alone.url } } });
    using session = await RawClient.open(own.url);
    await session.untilTools((names) => names.length === 2);
    const heard = await session.standing();
    await say(session, {});
    alone.announce(notice('notifications/example/news', 'n'));
    expect((await heard.untilSome(({ method }) => method === 'notifications/example/news')).params).toEqual({
      data: 'n',
      _meta: { 'example.com/n': 1 },
    });
    alone.announce({ id: 'outside', method: 'example/ask', params: {} });
    expect((await alone.heard.untilSome((message) => message.id === 'outside')).error?.code).toBe(-32_601);
  });

  it('a message that belongs to no request, and that two sessions may have caused, reaches neither', async () => {
    using other = await open('/old');
    await say(other, {});
    await say(client('/old'), {});
    const streams = await Promise.all([other.standing(), client('/old').standing()]);
    const before = speaker('old').heard.values.length;
    speaker('old').announce(notice('notifications/example/secret', 's'));
    speaker('old').announce({ id: 'stray', method: 'example/ask', params: {} });
    const refused = await speaker('old').heard.untilSome((message) => message.id === 'stray');
    expect(refused.error?.code).toBe(-32_601);
    expect(before).toBeLessThan(speaker('old').heard.values.length);
    await say(other, {});
    expect(
      streams
        .flatMap(({ values }) => values.map(({ method }) => method))
        .filter((method) => method?.includes('example') === true),
    ).toEqual([]);
  });
});
