/** Access rules in the running gateway: two known callers, two servers, one process and several. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Shape } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';

const rules = [
  { id: 'eng', who: ['group:eng', 'group:ops'], allow: ['open'] },
  { id: 'ops', who: 'group:ops', allow: ['shut'] },
  {
    id: 'small',
    who: 'everyone',
    deny: ['open/refund'],
    args: { amount: { min: 101 } },
    because: 'more is refunded by finance',
  },
  { id: 'here', who: 'group:eng', deny: ['open/far'], network: ['127.0.0.0/8'], because: 'not from here' },
];
const groups = { ann: ['eng'], bob: ['ops'] };
const newest = '2025-11-25';

describe.each<Shape>(['embedded', 'nats'])('the gateway, %s', (shape) => {
  let keys: Keys;
  let open: Upstream;
  let shut: Upstream;
  let gateway: GatewayHere;
  const config = (given: readonly object[]): object => ({
    auth: keys.auth,
    mcpServers: { open: { url: open.url }, shut: { url: shut.url } },
    access: { rules: given },
  });
  const names = async (answer: Promise<Answer>): Promise<readonly string[]> =>
    ((await answer).last.result?.['tools'] as { readonly name: string }[]).map(({ name }) => name);
  const modern = (who: keyof typeof groups): ModernClient => new ModernClient(gateway.url, {}, keys.headersOf(who));

  beforeAll(async () => {
    keys = await Keys.makeOf(groups);
    [open, shut] = await Promise.all([
      Upstream.start({ tools: ['get', 'refund', 'far'].map(tool) }),
      Upstream.start({ tools: [tool('get')] }),
    ]);
    gateway = await startGatewayHere(shape, config(rules));
    using his = await RawClient.open(gateway.url, newest, keys.headersOf('bob'));
    await his.untilTools((seen) => seen.length === 4);
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await Promise.all([open, shut, keys].map((each) => each[Symbol.asyncDispose]()));
  });

  it('shows each caller what it may see, and answers for the rest as for something that does not exist', async () => {
    using hers = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    using his = await RawClient.open(gateway.url, newest, keys.headersOf('bob'));
    using alone = modern('ann');
    expect(await names(hers.request('tools/list'))).toEqual(['open__get', 'open__refund', 'open__far']);
    expect(await names(alone.request('tools/list'))).toEqual(['open__get', 'open__refund', 'open__far']);
    expect(await names(his.request('tools/list'))).toEqual(['open__get', 'open__refund', 'open__far', 'shut__get']);
    const before = shut.requests.length;
    for (const ask of [(name: string) => hers.callTool(name, {}, undefined, 7), (name: string) => alone.call(name)]) {
      const [hidden, missing] = [await ask('shut__get'), await ask('nope__get')];
      expect([hidden.status, hidden.body.replace('shut', 'nope').replace(/"id":\d+/, '')]).toEqual([
        missing.status,
        missing.body.replace(/"id":\d+/, ''),
      ]);
    }
    expect(shut.requests.length).toBe(before);
    expect((await his.callTool('shut__get')).last).toHaveProperty('result');
  });

  it("names the rule when it refuses something visible because of arguments or the client's address", async () => {
    using hers = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    using alone = modern('ann');
    for (const ask of [
      (name: string, args: object) => hers.callTool(name, { ...args }),
      (name: string, args: object) => alone.call(name, { arguments: args }),
    ]) {
      expect((await ask('open__refund', { amount: 101 })).last.error).toMatchObject({
        message: 'this is not permitted (rule "small"): more is refunded by finance',
        data: { reason: 'policy.denied', rule: 'small' },
      });
      expect((await ask('open__refund', { amount: 100 })).last).toHaveProperty('result');
      expect((await ask('open__far', {})).last.error).toMatchObject({
        data: { rule: 'here', because: 'not from here' },
      });
    }
    using his = await RawClient.open(gateway.url, newest, keys.headersOf('bob'));
    expect((await his.callTool('open__far')).last).toHaveProperty('result');
    await Promise.any(gateway.processes.map((running) => running.line(/"rule":"small".*"msg":"refused by a rule"/)));
  });

  it('follows changed groups of a caller, and changed rules, all of them or none', async () => {
    using his = await RawClient.open(gateway.url, newest, keys.headersOf('bob'));
    const heard = await his.listen();
    expect(await names(his.request('tools/list'))).toContain('shut__get');
    await keys.write({ ...groups, bob: ['eng'] });
    await expect.poll(() => names(his.request('tools/list'))).not.toContain('shut__get');
    await heard.untilSome(({ method }) => method === 'notifications/tools/list_changed');
    expect((await his.callTool('shut__get')).last.error).toMatchObject({ data: { reason: 'tool.unknown' } });
    await gateway.configure(config([...rules, { id: 'wrong', who: 'bobs', allow: ['shut'] }]));
    await Promise.all(gateway.processes.map((running) => running.line(/the changed configuration is not applied/)));
    expect(await names(his.request('tools/list'))).not.toContain('shut__get');
    await gateway.configure(config([...rules, { id: 'right', who: 'key:bob', allow: ['shut/get'] }]));
    await expect.poll(() => names(his.request('tools/list'))).toContain('shut__get');
    expect((await his.callTool('shut__get')).last).toHaveProperty('result');
    await keys.write(groups);
  });
});
