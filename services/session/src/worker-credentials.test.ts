/** Limits of credentials: tools of an API key, and scopes of a token that certain things need. A session worker on a bus in memory. */
import {
  latestModernRevision,
  noLists,
  parseEndpointName,
  serverKey,
  type Caller,
  type CatalogRecord,
  type JsonObject,
} from '@omnibus/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const servers = ['git', 'shell'];
const lists = {
  ...noLists,
  tools: ['get', 'delete'].map((name) => ({ name, inputSchema: { type: 'object' as const } })),
  prompts: [{ name: 'ask' }],
  resources: [{ uri: 'doc://one', name: 'one' }],
};
const record: Partial<CatalogRecord> = {
  revision: '2025-11-25',
  capabilities: { tools: {}, prompts: {}, resources: { subscribe: true } },
  instructions: 'how to use it',
  lists,
};
const keys = { auth: { keys: { file: 'keys.yaml' } } };
const revisions = ['2025-11-25', '2025-03-26', latestModernRevision] as const;

let worker: WorkerUnderTest;

async function start(settings: object): Promise<void> {
  worker = await WorkerUnderTest.start(servers, settings);
  for (const server of servers) await worker.put(server, record);
}

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  await worker.stop();
});

const entries = async ({ ask }: ClientUnderTest, kind: string): Promise<unknown[]> =>
  ((await ask(`${kind}/list`)).result?.[kind] as JsonObject[]).map(({ name }) => name);
const call = ({ ask }: ClientUnderTest, name: string): Promise<JsonObject> =>
  ask('tools/call', { name, arguments: {} });
const holder = (...tools: readonly string[]): Caller =>
  callerOf('ci', { issuer: 'omnibus:keys', key: 'k1', isUnscoped: true, ...(tools.length === 0 ? {} : { tools }) });

describe.each(revisions)('in %s, the holder of an API key for some tools alone', (revision) => {
  it.each([
    ['there are no rules', {}],
    ['rules permit its subject everything', { access: { rules: [{ who: 'everyone', allow: '*' }] } }],
    ['rules are only recorded', { access: { mode: 'record', rules: [{ who: 'key:ci', allow: 'shell' }] } }],
  ])('sees and may use those, where %s, and is told of nothing else', async (_where, rules) => {
    await start({ ...keys, ...rules });
    const client = await worker.open(revision, {}, holder('git/g*'));
    expect(await entries(client, 'tools')).toEqual(['git__get']);
    expect([await entries(client, 'prompts'), await entries(client, 'resources')]).toEqual([[], []]);
    expect(await call(client, 'git__get')).toHaveProperty('result');
    const unknown = JSON.stringify({ ...(await call(client, 'git__none')), id: 0 }).replaceAll('none', 'NAME');
    for (const name of ['delete'])
      expect(JSON.stringify({ ...(await call(client, `git__${name}`)), id: 0 }).replaceAll(name, 'NAME')).toBe(unknown);
    for (const [method, params] of [
      ['tools/call', { name: 'shell__get', arguments: {} }],
      ['prompts/get', { name: 'git__ask' }],
      ['resources/read', { uri: 'doc://one' }],
      ['x/unheard', { _meta: { [serverKey]: 'git' } }],
    ] as const) {
      expect(await client.ask(method, params), method).toHaveProperty('error');
    }
    expect(worker.reached).toEqual(['git']);
    expect(JSON.stringify(client.greeting)).not.toContain('shell');
    expect(await worker.metrics.text()).toContain('omnibus_policy_refusals_total{outcome="hidden",rule="API key"}');
  });

  it('may have no more than the rules permit', async () => {
    await start({
      ...keys,
      access: {
        rules: [
          { id: 'ci', who: 'key:ci', allow: ['git/*', 'shell/get'] },
          { id: 'careful', who: 'everyone', deny: 'git/delete', args: { n: { max: 5 } }, because: 'one by one' },
        ],
      },
    });
    const client = await worker.open(revision, {}, holder('git', 'prompt:shell/*'));
    expect(await entries(client, 'tools')).toEqual(['git__get', 'git__delete']);
    expect(await entries(client, 'prompts')).toEqual([]);
    expect(await call(client, 'git__delete')).toMatchObject({
      error: { data: { reason: 'policy.denied', rule: 'careful' } },
    });
    expect(await call(client, 'shell__get')).toMatchObject({ error: { data: { reason: 'tool.unknown' } } });
  });

  it('is told when another key of the same subject shows it other tools', async () => {
    await start(keys);
    const client = await worker.open(revision, {}, holder('git/get'));
    expect(await entries(client, 'tools')).toEqual(['git__get']);
    client.become(holder());
    expect(await entries(client, 'tools')).toHaveLength(4);
    client.become(holder('shell/get', 'prompt:git/ask'));
    expect([await entries(client, 'tools'), await entries(client, 'prompts')]).toEqual([['shell__get'], ['git__ask']]);
    if (revision !== latestModernRevision)
      await client.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
  });
});

it('a pattern that this version cannot read permits nothing', async () => {
  await start(keys);
  expect(await entries(await worker.open('2025-11-25', {}, holder('!git/get', 'git/get')), 'tools')).toEqual([]);
});

describe.each(revisions)('in %s, a token', (revision) => {
  const stepUp = {
    auth: {
      issuers: [{ issuer: 'https://login.example' }],
      scopes: ['mcp'],
      stepUp: [
        { scope: 'git:write', for: 'git/delete', impliedBy: ['git:admin'] },
        { scope: 'shell', for: ['shell', 'prompt:shell/*'] },
        { scope: 'ops', endpoints: ['git'] },
      ],
    },
    publicUrl: 'https://mcp.example',
  };
  const user = (...scopes: readonly string[]): Caller => callerOf('ann', { scopes: ['mcp', ...scopes] });
  const lacking = (...requiredScopes: readonly string[]): object => ({
    error: {
      message: `this needs a token with the scope ${requiredScopes.join(' ')}`,
      data: { reason: 'auth.scope', retry: 'never', requiredScopes },
    },
  });

  it('without the scope of a tool shows it, and is told all scopes that calling it needs; with it, the call is made', async () => {
    await start(stepUp);
    const client = await worker.open(revision, {}, user());
    expect(await entries(client, 'tools')).toEqual(['git__get', 'git__delete', 'shell__get', 'shell__delete']);
    expect(await call(client, 'git__get')).toHaveProperty('result');
    expect(await call(client, 'git__delete')).toMatchObject(lacking('mcp', 'git:write'));
    for (const [method, params] of [
      ['tools/call', { name: 'shell__get', arguments: {} }],
      ['prompts/get', { name: 'shell__ask' }],
      ['x/unheard', { _meta: { [serverKey]: 'shell' } }],
    ] as const) {
      expect(await client.ask(method, params), method).toMatchObject(lacking('mcp', 'shell'));
    }
    // A method that no revision knows may do the same as the tool.
    expect(await client.ask('x/unheard', { _meta: { [serverKey]: 'git' } })).toMatchObject(lacking('mcp', 'git:write'));
    expect(worker.reached).toEqual(['git']);
    for (const enough of ['git:write', 'git:admin']) {
      client.become(user(enough));
      expect(await call(client, 'git__delete')).toHaveProperty('result');
    }
    expect(await call(client, 'shell__get')).toMatchObject(lacking('mcp', 'shell'));
  });

  it('is told the scopes of its endpoint with those of a tool', async () => {
    await start(stepUp);
    const client = await worker.open(
      revision,
      {},
      callerOf('ann', { scopes: ['mcp', 'ops'] }, parseEndpointName('git')),
    );
    expect(await call(client, 'delete')).toMatchObject(lacking('mcp', 'git:write', 'ops'));
  });

  it('is told of no scope where the rules hide or deny a thing', async () => {
    await start({
      ...stepUp,
      access: {
        mode: 'enforce',
        rules: [
          { id: 'git', who: 'everyone', allow: 'git' },
          { id: 'never', who: 'everyone', deny: 'git/delete', args: { n: { max: 5 } } },
        ],
      },
    });
    const client = await worker.open(revision, {}, user());
    expect(await call(client, 'shell__get')).toMatchObject({ error: { data: { reason: 'tool.unknown' } } });
    expect(await call(client, 'git__delete')).toMatchObject({
      error: { data: { reason: 'policy.denied', rule: 'never' } },
    });
  });

  it('has scopes, and an API key has none and is asked for none', async () => {
    await start(stepUp);
    expect(await call(await worker.open(revision, {}, holder()), 'git__delete')).toHaveProperty('result');
    expect(await call(await worker.open(revision, {}, holder('git/delete')), 'git__delete')).toHaveProperty('result');
  });
});

describe('a subscription without a session to resources, by a token that lacks the scope of some', () => {
  const stepUp = {
    auth: {
      issuers: [{ issuer: 'https://login.example' }],
      scopes: ['mcp'],
      stepUp: [
        { scope: 'git:read', for: 'resource:git/git://*' },
        { scope: 'shell', for: 'resource:shell/*' },
      ],
    },
    publicUrl: 'https://mcp.example',
  };
  const user = (...scopes: readonly string[]): Caller => callerOf('ann', { scopes: ['mcp', ...scopes] });
  const listen = ({ ask }: ClientUnderTest, ...uris: readonly string[]): Promise<JsonObject> =>
    ask('subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: uris } });
  const honoured = (...uris: readonly string[]): object => ({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { toolsListChanged: true, resourceSubscriptions: uris } },
  });

  async function begin(settings: object = stepUp): Promise<void> {
    await start(settings);
    for (const server of servers)
      await worker.put(server, {
        ...record,
        lists: {
          ...noLists,
          resources: [
            { uri: `${server}://one`, name: 'one' },
            { uri: `file://${server}`, name: 'two' },
          ],
        },
      });
  }

  it('gets all missing ones at once, in the words of a request to read, and subscribes to nothing', async () => {
    await begin();
    const client = await worker.open(latestModernRevision, {}, user());
    const [read, refused] = [
      await client.ask('resources/read', { uri: 'git://one' }),
      await listen(client, 'file://git', 'git://one'),
    ];
    expect(refused).toMatchObject({
      error: {
        message: 'this needs a token with the scope mcp git:read',
        data: { reason: 'auth.scope', requiredScopes: ['mcp', 'git:read'] },
      },
    });
    expect(refused['error']).toEqual(read['error']);
    expect(await listen(client, 'git://one', 'shell://one', 'file://shell', 'nobody://knows')).toMatchObject({
      error: { data: { reason: 'auth.scope', requiredScopes: ['mcp', 'git:read', 'shell'] } },
    });
    expect(worker.reached).toEqual([]);
    expect(await listen(client, 'file://git')).toMatchObject(honoured('file://git'));
    client.become(user('git:read', 'shell'));
    expect(await listen(client, 'git://one', 'shell://one')).toMatchObject(honoured('git://one', 'shell://one'));
    expect(worker.reached).toEqual(['git', 'git', 'shell']);
  });

  it('is told of no scope for what the rules hide or deny, which is left out as what nobody has', async () => {
    await begin({
      ...stepUp,
      access: { rules: [{ id: 'git', who: 'everyone', allow: ['git', 'resource:git/file://*'] }] },
    });
    const client = await worker.open(latestModernRevision, {}, user());
    expect(await listen(client, 'file://git', 'shell://one')).toMatchObject(honoured('file://git'));
  });
});
