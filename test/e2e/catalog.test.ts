import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject, JsonRpcRequest } from '@omnibus/protocol';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

/** Serves 25 tools in pages of 10 with the empty string as the second cursor, or the same page without end. */
function paging(loops: boolean) {
  const all = Array.from({ length: 25 }, (_, index) => tool(`t${index}`));
  const starts = new Map([
    [undefined, 0],
    ['', 10],
    ['last', 20],
  ]);
  const next = ['', 'last', undefined];
  return ({ method, params }: JsonRpcRequest): JsonObject | undefined => {
    if (method !== 'tools/list') return undefined;
    const start = loops ? 0 : (starts.get(params?.['cursor'] as string | undefined) ?? 0);
    const cursor = loops ? 'again' : next[start / 10];
    return { tools: all.slice(start, start + 10), ...(cursor === undefined ? {} : { nextCursor: cursor }) };
  };
}

describe.each(shapesOfLane)('the catalogue, %s', (shape) => {
  let a: Upstream;
  let b: Upstream;
  let paged: Upstream;
  let looping: Upstream;
  let gateway: GatewayHere;

  beforeAll(async () => {
    const shared = { uri: 'file:///shared', name: 'shared' };
    a = await Upstream.start({
      tools: [tool('search'), tool('a.dotted/name'), { name: 'broken' }],
      resources: [shared, { uri: 'a://one', name: 'one' }],
      prompts: [{ name: 'ask' }],
      onCall: (call) => call.answer({ content: [{ type: 'resource_link', uri: 'hidden://a', name: 'hidden' }] }),
    });
    b = await Upstream.start({
      tools: [tool('search'), tool('x'.repeat(80))],
      resources: [shared],
      onCall: (call) =>
        call.answer({ content: [{ type: 'resource', resource: { uri: 'file:///shared', text: 'b' } }] }),
    });
    paged = await Upstream.start({ onRequest: paging(false) });
    looping = await Upstream.start({ onRequest: paging(true) });
    gateway = await startGatewayHere(shape, {
      pageSize: 20,
      mcpServers: { a: { url: a.url }, b: { url: b.url }, paged: { url: paged.url }, looping: { url: looping.url } },
      profiles: {
        small: {
          servers: ['b', 'a'],
          tools: ['*/search'],
          rename: { 'a/search': 'find' },
          pin: { 'b/search': { scope: 'team' } },
          prefix: 'never',
        },
      },
    });
    using client = await RawClient.open(`${gateway.url}/looping`);
    await client.untilTools((names) => names.length > 0);
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    for (const upstream of [a, b, paged, looping]) await upstream[Symbol.asyncDispose]();
  });

  it('has every page of every server, in the order of the configuration, in pages of its own', async () => {
    using client = await RawClient.open(gateway.url);
    const names: string[] = [];
    let cursor: unknown;
    let pages = 0;
    do {
      const { last } = await client.request('tools/list', cursor === undefined ? {} : { cursor });
      names.push(...(last.result?.['tools'] as { name: string }[]).map(({ name }) => name));
      cursor = last.result?.['nextCursor'];
      pages += 1;
    } while (cursor !== undefined);
    expect(pages).toBe(2);
    expect(names.slice(0, 2)).toEqual(['a__search', expect.stringMatching(/^a__a_dotted_name_[0-9a-f]{8}$/)]);
    expect(names.filter((name) => name.startsWith('paged__'))).toEqual(
      Array.from({ length: 25 }, (_, index) => `paged__t${index}`),
    );
    expect(names.filter((name) => name.startsWith('looping__'))).toHaveLength(10);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it('is the same bytes for every connection', async () => {
    using one = await RawClient.open(gateway.url);
    using two = await RawClient.open(gateway.url, '2025-03-26');
    expect((await one.request('tools/list', {}, 1)).body).toBe((await two.request('tools/list', {}, 1)).body);
  });

  it("maps a public name to the server's own", async () => {
    using client = await RawClient.open(gateway.url);
    const [, dotted] = await client.toolNames();
    await client.callTool(dotted as string);
    expect(a.calls.values.at(-1)?.name).toBe('a.dotted/name');
  });

  it('shows one server unprefixed at its own endpoint', async () => {
    using client = await RawClient.open(`${gateway.url}/a`);
    expect((await client.toolNames())[0]).toBe('search');
    expect((await client.request('prompts/list')).last.result).toEqual({ prompts: [{ name: 'ask' }] });
  });

  it('shows a profile its selection, names and fixed arguments', async () => {
    using client = await RawClient.open(`${gateway.url}/small`);
    expect(await client.toolNames()).toEqual(['search', 'find']);
    await client.callTool('search', { scope: 'mine', q: 1 });
    expect(b.calls.values.at(-1)?.args).toEqual({ scope: 'team', q: 1 });
    expect((await client.callTool('paged__t1')).last.error?.data).toMatchObject({ reason: 'tool.unknown' });
  });

  it('gives a URI that two servers list an alias for the later one, wherever it stands', async () => {
    using client = await RawClient.open(gateway.url);
    const { resources } = (await client.request('resources/list')).last.result as { resources: { uri: string }[] };
    expect(resources.map(({ uri }) => uri)).toEqual(['file:///shared', 'a://one', 'omnibus://b/file:///shared']);
    const read = (await client.request('resources/read', { uri: 'omnibus://b/file:///shared' })).last.result;
    expect(read?.['contents']).toEqual([{ uri: 'omnibus://b/file:///shared', text: 'content of file:///shared' }]);
    expect(b.requests.at(-1)?.params).toMatchObject({ uri: 'file:///shared' });
    const call = (await client.callTool('b__search')).last.result;
    expect(call?.['content']).toEqual([
      { type: 'resource', resource: { uri: 'omnibus://b/file:///shared', text: 'b' } },
    ]);
  });

  it('sends a URI that a result linked to back to its server, and asks all servers only for unknown ones', async () => {
    using client = await RawClient.open(gateway.url);
    await client.callTool('a__search');
    const before = b.requests.length;
    expect((await client.request('resources/read', { uri: 'hidden://a' })).last.result?.['contents']).toEqual([
      { uri: 'hidden://a', text: 'content of hidden://a' },
    ]);
    expect(b.requests.length).toBe(before);
  });

  it('notifies every session of a change, on exactly one of its streams, and answers from the new list', async () => {
    using one = await RawClient.open(gateway.url);
    using two = await RawClient.open(`${gateway.url}/a`);
    using elsewhere = await RawClient.open(`${gateway.url}/b`);
    const heard = [await one.listen(), await one.listen(), await two.listen(), await elsewhere.listen()] as const;
    a.tools = [...a.tools, tool('added')];
    a.notify('notifications/tools/list_changed');
    // Announcements are sent on the latest stream, which is most likely the one that the client reads.
    expect(await heard[1].until(1)).toEqual([{ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }]);
    await heard[2].until(1);
    expect(await two.toolNames()).toContain('added');
    expect((await two.callTool('added')).last.result).toBeDefined();
    expect(heard[0].values).toEqual([]);
    expect(heard[3].values).toEqual([]);
  });

  it('passes on an announced change although the list is the same', async () => {
    using client = await RawClient.open(`${gateway.url}/a`);
    const heard = await client.listen();
    a.notify('notifications/prompts/list_changed');
    expect(await heard.until(1)).toEqual([{ jsonrpc: '2.0', method: 'notifications/prompts/list_changed' }]);
  });

  it('stores a notification for a client that has no stream yet', async () => {
    using client = await RawClient.open(`${gateway.url}/b`);
    using witness = await RawClient.open(`${gateway.url}/b`);
    const seen = await witness.listen();
    b.notify('notifications/tools/list_changed');
    await seen.until(1);
    expect(await (await client.listen()).until(1)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
    ]);
  });

  it('notifies subscribed sessions of an updated resource, with a single subscription at the server', async () => {
    using one = await RawClient.open(gateway.url);
    using two = await RawClient.open(gateway.url);
    using other = await RawClient.open(gateway.url);
    const [heardOne, heardTwo, heardOther] = [await one.listen(), await two.listen(), await other.listen()];
    for (const client of [one, two])
      expect((await client.request('resources/subscribe', { uri: 'a://one' })).last.result).toEqual({});
    expect(a.requests.filter(({ method }) => method === 'resources/subscribe')).toHaveLength(1);
    a.notify('notifications/resources/updated', { uri: 'a://one/part' });
    for (const heard of [heardOne, heardTwo])
      expect((await heard.until(1))[0]).toEqual({
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri: 'a://one/part' },
      });
    await one.request('resources/unsubscribe', { uri: 'a://one' });
    expect(a.requests.filter(({ method }) => method === 'resources/unsubscribe')).toHaveLength(0);
    await two.request('resources/unsubscribe', { uri: 'a://one' });
    expect(a.requests.filter(({ method }) => method === 'resources/unsubscribe')).toHaveLength(1);
    expect(heardOther.values).toEqual([]);
  });
});

it('a list of a thousand tools costs no request to any server', async () => {
  await using upstream = await Upstream.start({
    tools: Array.from({ length: 1_000 }, (_, index) => tool(`t${index}`)),
    onCall: (call) => call.answer(text('x')),
  });
  await using gateway = await startGatewayHere('embedded', { mcpServers: { up: { url: upstream.url } } });
  using client = await RawClient.open(gateway.url);
  const before = upstream.requests.length;
  for (let round = 0; round < 20; round += 1) expect(await client.toolNames()).toHaveLength(1_000);
  expect(upstream.requests.length).toBe(before);
});
