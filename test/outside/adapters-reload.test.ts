/** A changed configuration: what was begun is finished, what is new is served at once, and what did not change is not touched. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const contentOf = ({ last }: Answer): string => (last.result?.['content'] as { text: string }[])[0]?.text ?? '';

describe('a configuration that changes while a server works', () => {
  let upstream: Upstream;
  let gateway: GatewayUnderTest;
  let held: { answer: (result: JsonObject) => void }[] = [];
  const pipe = { command: 'node', args: [fixturePath('stdio-server')] };
  const servers = (header: string, more: object = {}): object => ({ timeouts: { drain: '20s' }, mcpServers: { web: { url: upstream.url, headers: { authorization: header } }, pipe, ...more } });
  /** Resolves when a configuration is in force. */
  let applied = 0;
  const configure = async (config: object): Promise<void> => {
    applied += 1;
    await gateway.configure(config);
    await upstream.initialized.until(applied + 1);
  };

  beforeAll(async () => {
    upstream = await Upstream.start({
      tools: [tool('slow'), tool('echo')], resources: [{ uri: 'up://one', name: 'one' }],
      onCall: (call) => (call.name === 'slow' ? held.push(call) : call.answer(text(call.session))),
    });
    gateway = await startGateway('embedded', servers('one'));
  });

  beforeEach(() => {
    held = [];
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  it('finishes the slow call, serves others at once, shows every list all the time, and leaves other servers alone', async () => {
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

  it('says again to the server what sessions listen to', async () => {
    using client = await RawClient.open(gateway.url);
    await client.untilTools((all) => all.includes('web__slow'));
    const heard = await client.standing();
    await client.request('resources/subscribe', { uri: 'up://one' });
    const count = upstream.requests.length;
    await configure(servers('five'));
    await upstream.answered.untilSome((request) => request.method === 'resources/subscribe' && upstream.requests.indexOf(request) >= count);
    await upstream.listening.until(upstream.listening.values.length);
    await expect.poll(() => {
      upstream.notify('notifications/resources/updated', { uri: 'up://one' });
      return heard.values.some(({ method }) => method === 'notifications/resources/updated');
    }).toBe(true);
  });

  it('lets the running call of a server that is taken out finish, and takes the server back meanwhile', async () => {
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
