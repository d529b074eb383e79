/**
 * Unlisted names and undeclared capabilities: at an endpoint of one server the server answers, unless an option restricts requests
 * of it. At an endpoint of several servers the gateway answers, in the same way for clients of every revision.
 */
import {
  latestModernRevision,
  noLists,
  parseServerName,
  type CatalogRecord,
  type EndpointName,
  type JsonObject,
} from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { callerOf, WorkerUnderTest } from './worker-under-test.ts';

const revisions = ['2025-11-25', latestModernRevision] as const;
const record: Partial<CatalogRecord> = {
  revision: '2025-11-25',
  capabilities: { tools: {} },
  lists: { ...noLists, tools: [{ name: 'delete_all', inputSchema: { type: 'object' } }] },
};
const url = 'http://127.0.0.1:1/mcp';
const own = { kind: 'error', error: { code: -32_000, message: 'the server says no' } } as const;

async function start(
  servers: readonly string[],
  settings: object = {},
  more: Partial<CatalogRecord> = {},
): Promise<WorkerUnderTest> {
  const worker = await WorkerUnderTest.start(servers, settings);
  for (const server of servers) await worker.put(server, { ...record, ...more });
  return worker;
}

it('a list that the only server answers is public only if all callers see the same', async () => {
  const scopeWith = async (settings: object): Promise<unknown> => {
    const worker = await start(['up'], settings);
    worker.outcome = { kind: 'result', result: { prompts: [], ttlMs: 1_000, cacheScope: 'public' } };
    const client = await worker.open(latestModernRevision, {}, callerOf('ann'));
    const { result } = await client.ask('prompts/list');
    expect(worker.asked.values).toHaveLength(1);
    await worker.stop();
    return result?.['cacheScope'];
  };
  expect(await scopeWith({})).toBe('public');
  expect(await scopeWith({ auth: { keys: { file: 'keys.yaml' } } })).toBe('private');
});

describe.each(revisions)('for a client of %s, at an endpoint of one server', (revision) => {
  it.each<[string, JsonObject]>([
    ['tools/call', { name: 'unlisted' }],
    ['prompts/get', { name: 'unlisted' }],
    ['prompts/list', {}],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['resources/read', { uri: 'un://listed' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'unlisted' }, argument: { name: 'a', value: '' } }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'un://{x}' }, argument: { name: 'a', value: '' } }],
    ...(revision === latestModernRevision
      ? []
      : ([
          ['logging/setLevel', { level: 'error' }],
          ['resources/subscribe', { uri: 'un://listed' }],
        ] as [string, JsonObject][])),
  ])('the server itself answers %s %j, which it neither lists nor declares', async (method, params) => {
    const worker = await start(['up']);
    worker.outcome = own;
    const client = await worker.open(revision);
    expect((await client.ask(method, params)).error).toMatchObject(own.error);
    expect(worker.asked.values).toMatchObject([{ method, params }]);
    await worker.stop();
  });

  it('the answer of the server to a list that it does not declare is what the server says', async () => {
    const worker = await start(['up']);
    worker.outcome = { kind: 'result', result: { prompts: [{ name: 'say' }], nextCursor: 'more' } };
    const client = await worker.open(revision);
    expect((await client.ask('prompts/list', { cursor: 'x' })).result).toMatchObject({
      prompts: [{ name: 'say' }],
      nextCursor: 'more',
    });
    await worker.stop();
  });

  it('the server itself answers for templates that it would not list, and the gateway for those that it did', async () => {
    const templates = { capabilities: { tools: {}, resources: {} } };
    const worker = await start(['up'], {}, { ...templates, unread: ['resourceTemplates'] });
    worker.outcome = own;
    const client = await worker.open(revision);
    expect((await client.ask('resources/templates/list')).error).toMatchObject(own.error);
    expect((await client.ask('resources/list')).result).toMatchObject({ resources: [] });
    expect(worker.reached).toHaveLength(1);
    await worker.stop();
  });

  const guardrails = [{ id: 'mail', on: 'lists', what: ['up/*'], patterns: ['email'], action: 'deny' }] as const;
  it.each<[string, object, Partial<CatalogRecord>]>([
    ['the configuration leaves tools out', { mcpServers: { up: { url, excludeTools: ['delete_*'] } } }, {}],
    ['the configuration selects tools', { mcpServers: { up: { url, includeTools: ['get_*'] } } }, {}],
    ['definitions are pinned', { mcpServers: { up: { url, definitions: 'pin' } } }, {}],
    ['definitions are compared', { mcpServers: { up: { url, definitions: 'warn' } } }, {}],
    ['arguments are enforced', { mcpServers: { up: { url, validation: 'enforce' } } }, {}],
    ['something is held back', {}, { held: [{ kind: 'tools', name: 'held' }] }],
    ['guardrails look at it', { guardrails }, {}],
    [
      'a rule denies something of it',
      { access: { default: 'allow', rules: [{ who: 'everyone', deny: ['up/x'] }] } },
      {},
    ],
    [
      'a rule has something approved',
      { access: { default: 'allow', rules: [{ who: 'everyone', ask: ['up/x'], by: 'caller' }] } },
      {},
    ],
    [
      'a rule redacts something of it',
      { access: { default: 'allow', rules: [{ who: 'everyone', redact: ['up/x'], patterns: ['email'] }] } },
      {},
    ],
    ['only some of it is allowed', { access: { rules: [{ who: 'everyone', allow: ['up/get_*'] }] } }, {}],
    ['the server is down', {}, { status: 'down', problem: 'it has ended' }],
    ['names have prefixes', { prefix: 'always' }, {}],
  ])('no server is asked for what is not listed where %s', async (_why, settings, more) => {
    const worker = await start(['up'], settings, more);
    const client = await worker.open(revision);
    const prefix = 'prefix' in settings ? 'up__' : '';
    for (const name of ['unlisted', 'delete_many', 'get_it', 'held', 'Delete_All'])
      expect((await client.ask('tools/call', { name: `${prefix}${name}` })).error, name).toBeDefined();
    expect((await client.ask('prompts/get', { name: 'unlisted' })).error).toBeDefined();
    expect(worker.reached).toEqual([]);
    await worker.stop();
  });

  it.each<[string, object]>([
    ['selects tools', { tools: ['up/get_*'] }],
    ['takes tools away', { tools: ['!up/delete_all'] }],
    ['fixes arguments', { pin: { 'up/delete_all': { really: false } } }],
    ['gives tools other names', { rename: { 'up/delete_all': 'clean' } }],
  ])('no server is asked for what is not listed by a profile that %s', async (_what, profile) => {
    const worker = await start(['up'], { profiles: { some: { servers: ['up'], ...profile } } });
    const client = await worker.open(revision, {}, callerOf('ann', {}, 'some' as EndpointName));
    for (const name of ['delete_all', 'DELETE_ALL', 'unlisted', 'get_it'])
      if (name !== 'delete_all' || !('pin' in profile)) await client.ask('tools/call', { name });
    expect(worker.reached).toEqual([]);
    await worker.stop();
  });

  it('a name that a server may read as that of a listed tool leads nowhere', async () => {
    const worker = await start(['up']);
    const client = await worker.open(revision);
    for (const name of ['Delete_All', 'delete-all', ' delete_all', 'delete_all\u200b', 'ｄelete_all', 'x'.repeat(300)])
      expect((await client.ask('tools/call', { name })).error?.data, name).toMatchObject({ reason: 'tool.unknown' });
    expect(worker.reached).toEqual([]);
    await worker.stop();
  });
});

describe.each(revisions)('for a client of %s, at an endpoint of several servers', (revision) => {
  it('an unknown tool is refused with -32602, and reaches no server', async () => {
    const worker = await start(['up', 'other']);
    const client = await worker.open(revision);
    for (const name of ['unlisted', 'up__unlisted'])
      expect((await client.ask('tools/call', { name })).error).toMatchObject({
        code: -32_602,
        data: { reason: 'tool.unknown' },
      });
    expect(worker.reached).toEqual([]);
    await worker.stop();
  });

  it('the server that has a prompt gets the request to complete it, also if it does not declare completions', async () => {
    const worker = await start(['up', 'other'], {}, { capabilities: { tools: {}, prompts: {} } });
    const lists = { ...noLists, prompts: [{ name: 'say' }] };
    await worker.put('up', { ...record, capabilities: { prompts: {} }, lists });
    worker.outcome = { kind: 'result', result: { completion: { values: ['a'] } } };
    const client = await worker.open(revision);
    const complete = (): ReturnType<typeof client.ask> =>
      client.ask('completion/complete', {
        ref: { type: 'ref/prompt', name: 'up__say' },
        argument: { name: 'a', value: '' },
      });
    expect((await complete()).result).toMatchObject({ completion: { values: ['a'] } });
    worker.outcome = { kind: 'error', error: { code: -32_601, message: 'no such method' } };
    expect((await complete()).error).toMatchObject({ code: -32_601 });
    // Where others complete, a client takes a server that does not for one without suggestions.
    await worker.put('other', { ...record, capabilities: { tools: {}, completions: {} } });
    const later = await worker.open(revision);
    expect(
      (
        await later.ask('completion/complete', {
          ref: { type: 'ref/prompt', name: 'up__say' },
          argument: { name: 'a', value: '' },
        })
      ).result,
    ).toMatchObject({ completion: { values: [] } });
    expect(worker.reached).toEqual(['up', 'up', 'up']);
    await worker.stop();
  });

  const notFound = revision === latestModernRevision ? -32_602 : -32_002;
  it.each<[string, CatalogRecord['status'], readonly JsonObject[], RegExp]>([
    [
      'each server says so in its own way',
      'up',
      [
        { kind: 'error', error: { code: -32_002, message: 'none' } },
        { kind: 'error', error: { code: 0, message: 'Unknown resource' } },
      ],
      /^no server knows the resource "un:\/\/listed"$/,
    ],
    [
      'the last server fails',
      'up',
      [
        { kind: 'error', error: { code: -32_602, message: 'none' } },
        { kind: 'error', error: { code: -32_603, message: 'disk on fire' } },
      ],
      /server "other" says disk on fire/,
    ],
    [
      'the last server cannot be asked',
      'up',
      [
        { kind: 'error', error: { code: -32_602, message: 'none' } },
        { kind: 'fault', fault: { reason: 'upstream.unavailable', message: 'it is away' } },
      ],
      /of "other": it is away/,
    ],
    [
      'the first server cannot be asked',
      'up',
      [
        { kind: 'fault', fault: { reason: 'upstream.lost', message: 'it is away' } },
        { kind: 'error', error: { code: -32_602, message: 'none' } },
      ],
      /of "up": it is away/,
    ],
  ])('an unknown resource has the code of the revision where %s', async (_how, status, outcomes, words) => {
    const worker = await start(['up', 'other'], {}, { status, capabilities: { tools: {}, resources: {} } });
    const client = await worker.open(revision);
    const [first, second] = outcomes;
    worker.takes = (reply) => {
      worker.outcome = second as typeof worker.outcome;
      reply(first as typeof worker.outcome);
    };
    expect((await client.ask('resources/read', { uri: 'un://listed' })).error).toMatchObject({
      code: notFound,
      message: expect.stringMatching(words),
      data: { reason: 'resource.unknown', uri: 'un://listed' },
    });
    expect(worker.reached.map(parseServerName)).toEqual(['up', 'other']);
    await worker.stop();
  });
});
