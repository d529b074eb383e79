/** A changed configuration: open calls are finished, new servers are available at once, and unchanged ones are not affected. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const contentOf = ({ last }: Answer): string => (last.result?.['content'] as { text: string }[])[0]?.text ?? '';

describe('a configuration that changes while a server works', () => {
  let upstream: Upstream;
  let gateway: GatewayHere;
  let held: { answer: (result: JsonObject) => void }[] = [];
  const pipe = { command: 'node', args: [fixturePath('stdio-server')] };
  const servers = (header: string, more: object = {}): object => ({
    timeouts: { drain: '20s' },
    mcpServers: { web: { url: upstream.url, headers: { authorization: header } }, pipe, ...more },
  });
  /** Number of configurations that have been applied. */
  let applied = 0;
  const configure = async (config: object): Promise<void> => {
    applied += 1;
    await gateway.configure(config);
    await upstream.initialized.until(applied + 1);
  };

  beforeAll(async () => {
    upstream = await Upstream.start({
      tools: [tool('slow'), tool('echo')],
      resources: [{ uri: 'up://one', name: 'one' }],
      onCall: (call) => (call.name === 'slow' ? held.push(call) : call.answer(text(call.session))),
    });
    gateway = await startGatewayHere('embedded', servers('one'));
  });

  beforeEach(() => {
    held = [];
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  it('lets the slow call finish, serves others at once, always shows every list, and does not touch other servers', async () => {
    using client = await RawClient.open(gateway.url);
    const names = await client.untilTools((all) => all.includes('web__slow') && all.includes('pipe__pid'));
    const pid = contentOf(await client.callTool('pipe__pid'));
    const slow = client.callTool('web__slow');
    await expect.poll(() => held.length).toBe(1);
    const before = contentOf(await client.callTool('web__echo'));
    const over = new AbortController();
    const lists: string[][] = [];
    const failures: unknown[] = [];
    const watching = (async () => {
      while (!over.signal.aborted) {
        lists.push(await client.toolNames());
        const { last } = await client.callTool('web__echo', {}, undefined, `watch ${lists.length}`);
        if (last.error !== undefined) failures.push(last.error);
      }
    })();
    for (const header of ['two', 'three', 'four']) await configure(servers(header));
    await expect.poll(async () => contentOf(await client.callTool('web__echo'))).not.toBe(before);
    over.abort();
    await watching;
    expect(failures).toEqual([]);
    expect(new Set(lists.map(String))).toEqual(new Set([String(names)]));
    held[0]?.answer(text('at last'));
    expect(contentOf(await slow)).toBe('at last');
    expect(contentOf(await client.callTool('pipe__pid'))).toBe(pid);
  });

  it('repeats the subscriptions of sessions at the new connection', async () => {
    using client = await RawClient.open(gateway.url);
    await client.untilTools((all) => all.includes('web__slow'));
    const heard = await client.standing();
    await client.request('resources/subscribe', { uri: 'up://one' });
    const count = upstream.requests.length;
    await configure(servers('five'));
    await upstream.answered.untilSome(
      (request) => request.method === 'resources/subscribe' && upstream.requests.indexOf(request) >= count,
    );
    await upstream.listening.until(upstream.listening.values.length);
    await expect
      .poll(() => {
        upstream.notify('notifications/resources/updated', { uri: 'up://one' });
        return heard.values.some(({ method }) => method === 'notifications/resources/updated');
      })
      .toBe(true);
  });

  it('repeats the subscriptions of sessions when a removed server is added again', async () => {
    using client = await RawClient.open(gateway.url);
    await client.untilTools((all) => all.includes('web__slow'));
    const heard = await client.standing();
    await client.request('resources/subscribe', { uri: 'up://one' });
    await gateway.configure({ timeouts: { drain: '20s' }, mcpServers: { pipe } });
    await client.untilTools((all) => all.every((name) => !name.startsWith('web')));
    const count = upstream.requests.length;
    await configure(servers('seven'));
    await upstream.answered.untilSome(
      (request) => request.method === 'resources/subscribe' && upstream.requests.indexOf(request) >= count,
    );
    await expect
      .poll(() => {
        upstream.notify('notifications/resources/updated', { uri: 'up://one' });
        return heard.values.some(({ method }) => method === 'notifications/resources/updated');
      })
      .toBe(true);
  });

  it('lets the running call of a removed server finish, even if the server is added again meanwhile', async () => {
    using client = await RawClient.open(gateway.url);
    await client.untilTools((all) => all.includes('web__slow'));
    const slow = client.callTool('web__slow');
    await expect.poll(() => held.length).toBe(1);
    await gateway.configure({ timeouts: { drain: '20s' }, mcpServers: { pipe } });
    await client.untilTools((all) => all.every((name) => !name.startsWith('web')));
    await configure(servers('six'));
    await client.untilTools((all) => all.includes('web__slow'));
    held[0]?.answer(text('at last'));
    expect(contentOf(await slow)).toBe('at last');
    expect(contentOf(await client.callTool('web__echo'))).not.toBe('');
  });
});
