/** Capabilities for clients of every revision, and the answers without a capability. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  declaredBy,
  featuresOf,
  isModernRevision,
  legacyRevisions,
  modernRevisions,
  noAnnouncements,
  ownerKey,
  type JsonObject,
} from '@omnibus/protocol';
import { callerOf, WorkerUnderTest } from '../worker-under-test.ts';

const revisions = [...legacyRevisions, ...modernRevisions];
const methods: Readonly<Record<string, JsonObject>> = {
  'prompts/list': {},
  'prompts/get': { name: 'p' },
  'resources/list': {},
  'resources/templates/list': {},
  'resources/read': { uri: 'x://1' },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } },
};
const ofSessions: Readonly<Record<string, JsonObject>> = {
  'resources/subscribe': { uri: 'x://1' },
  'resources/unsubscribe': { uri: 'x://1' },
  'logging/setLevel': { level: 'info' },
};
const ann = callerOf('ann');

let test: WorkerUnderTest;
afterEach(() => test.stop());

describe.each(revisions)('a client of %s', (revision) => {
  const all = isModernRevision(revision) ? methods : { ...methods, ...ofSessions };

  it('is offered what a server has, of one that is down too, and nothing of one that nobody has seen', async () => {
    test = await WorkerUnderTest.start(['a', 'gone', 'never']);
    await test.put('a');
    await test.put('gone', {
      status: 'down',
      problem: 'no route',
      capabilities: { prompts: {}, logging: {}, resources: { subscribe: true }, completions: {} },
    });
    const completions = featuresOf(revision).completionCapability ? { completions: {} } : {};
    expect((await test.open(revision)).greeting['capabilities']).toEqual({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      logging: {},
      ...completions,
    });
    await test.put('gone', { status: 'down', problem: 'no route', capabilities: { resources: {} } });
    expect((await test.open(revision)).greeting['capabilities']).toEqual({
      tools: { listChanged: true },
      resources: { listChanged: true },
    });
  });

  it('is told that there is no such method where no server has what it is for, and gets its tools', async () => {
    test = await WorkerUnderTest.start(['a', 'b']);
    await test.put('a');
    await test.put('b');
    const client = await test.open(revision);
    expect(client.greeting['capabilities']).toEqual({ tools: { listChanged: true } });
    for (const [method, params] of Object.entries(all))
      expect((await test.turning(client.ask(method, params))).error?.code, method).toBe(-32_601);
    expect((await test.turning(client.ask('tools/list'))).result).toMatchObject({ tools: [] });
    expect(test.asked.values).toEqual([]);
    expect(test.faults).toEqual([]);
  });

  it('is served what a server turns out to have later', async () => {
    test = await WorkerUnderTest.start(['a']);
    const client = await test.open(revision);
    expect((await test.turning(client.ask('prompts/list'))).error?.code).toBe(-32_601);
    await test.put('a', { capabilities: { prompts: {} } });
    expect((await test.turning(client.ask('prompts/list'))).result).toMatchObject({ prompts: [] });
  });

  it('is told by the name it uses what is wrong with a server that was never reached', async () => {
    test = await WorkerUnderTest.start(['a', 'b']);
    await test.put('a', { capabilities: { tools: {}, prompts: {} } });
    await test.put('b', {
      status: 'down',
      problem: 'its server answered 401',
      revision: undefined as never,
      capabilities: {},
    });
    const client = await test.open(revision);
    expect(client.greeting['instructions']).toContain('its server answered 401');
    for (const [method, name] of [
      ['tools/call', 'b__x'],
      ['prompts/get', 'b__x'],
    ] as const) {
      expect((await test.turning(client.ask(method, { name }))).error, method).toMatchObject({
        message: expect.stringContaining('its server answered 401') as string,
        data: { reason: 'upstream.unavailable', server: 'b' },
      });
    }
    expect((await test.turning(client.ask('tools/call', { name: 'a__x' }))).error).toMatchObject({
      code: -32_602,
      data: { reason: 'tool.unknown' },
    });
    expect((await test.turning(client.ask('tools/list'))).result).toMatchObject({
      _meta: {
        'omnibus.dev/missing': expect.arrayContaining([{ server: 'b', problem: 'its server answered 401' }]) as unknown,
      },
    });
  });

  it('reads of the only server that it was never reached, for a prompt and a resource too', async () => {
    test = await WorkerUnderTest.start(['b']);
    await test.put('b', {
      status: 'down',
      problem: 'its server answered 401',
      revision: undefined as never,
      capabilities: {},
    });
    const client = await test.open(revision);
    for (const [method, params] of [
      ['tools/call', { name: 'x' }],
      ['prompts/get', { name: 'x' }],
      ['resources/read', { uri: 'x://1' }],
      ['completion/complete', methods['completion/complete'] as JsonObject],
    ] as const) {
      expect((await test.turning(client.ask(method, params))).error, method).toMatchObject({
        message: expect.stringContaining('its server answered 401') as string,
        data: { reason: 'upstream.unavailable' },
      });
    }
    expect((await test.turning(client.ask('prompts/list'))).error).toMatchObject({
      code: -32_601,
      message: expect.stringContaining('its server answered 401') as string,
    });
  });
});

it('a session is told of changes of what it was offered, and of tools, but not of what it was never told of', async () => {
  test = await WorkerUnderTest.start(['a', 'b']);
  await test.put('a', { capabilities: { tools: {}, prompts: {} } });
  const client = await test.open('2025-11-25');
  const prompts = { name: 'p' };
  const resources = { uri: 'x://1', name: 'r' };
  await test.turning(client.ask('tools/list'));
  await test.put('b', {
    capabilities: { tools: {}, prompts: {}, resources: {} },
    lists: {
      tools: [{ name: 't', inputSchema: { type: 'object' } }],
      prompts: [prompts],
      resources: [resources],
      resourceTemplates: [],
    },
  });
  await client.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
  await client.pushed.untilSome(({ method }) => method === 'notifications/prompts/list_changed');
  expect((await test.turning(client.ask('resources/list'))).result?.['resources']).toEqual([resources]);
  expect(client.pushed.values.map(({ method }) => method)).not.toContain('notifications/resources/list_changed');
});

it('what a session was offered stays: an endpoint that has lost it answers with an empty list', async () => {
  test = await WorkerUnderTest.start(['a', 'b']);
  await test.put('a', { capabilities: { prompts: {} } });
  await test.put('b');
  const client = await test.open('2025-11-25');
  await test.put('a', { capabilities: { tools: {} } });
  expect((await test.turning(client.ask('prompts/list'))).result?.['prompts']).toEqual([]);
});

it('a resource that no server knows is unknown, and the servers are named that could not be asked', async () => {
  test = await WorkerUnderTest.start(['a', 'b']);
  await test.put('a', { capabilities: { resources: {} } });
  test.outcome = { kind: 'error', error: { code: -32_602, message: 'not here' } };
  const client = await test.open('2025-11-25');
  expect((await test.turning(client.ask('resources/read', { uri: 'x://1' }))).error).toMatchObject({
    code: -32_002,
    message: expect.stringContaining('"b": it has not been reached yet') as string,
    data: { reason: 'resource.unknown', uri: 'x://1', missing: [{ server: 'b' }] },
  });
  await test.put('b', { capabilities: { tools: {} } });
  expect((await test.turning(client.ask('resources/read', { uri: 'x://1' }))).error).toMatchObject({
    code: -32_002,
    message: 'no server knows the resource "x://1"',
  });
});

it('lists of 2026-07-28 say how long they can be used as their servers say', async () => {
  test = await WorkerUnderTest.start(['a', 'b']);
  await test.put('a', {
    notes: { tools: { ttlMs: 60_000, isPublic: true, meta: { 'x.example/y': 1 }, more: { total: 3 } } },
  });
  await test.put('b', { notes: { tools: { ttlMs: 90_000, isPublic: true } } });
  const client = await test.open('2026-07-28');
  expect((await test.turning(client.ask('tools/list'))).result).toEqual({
    tools: [],
    resultType: 'complete',
    ttlMs: 60_000,
    cacheScope: 'public',
    total: 3,
    _meta: { 'x.example/y': 1, 'io.modelcontextprotocol/serverInfo': expect.anything() as unknown },
  });
});

it.each([
  ['public', {}, {}],
  ['private', { auth: { keys: { file: 'keys.yaml' } } }, {}],
  ['private', { access: { default: 'allow' } }, {}],
  [
    'private',
    {},
    { owners: { [ownerKey(declaredBy({}, false, ann.principal))]: 'own' }, offers: [{ key: 'own', lists: {} }] },
  ],
] as const)(
  'a resource that its server says may be kept for everybody is %s with the settings %j and the record %j',
  async (cacheScope, settings, more) => {
    test = await WorkerUnderTest.start(['a'], settings);
    await test.put('a', { capabilities: { resources: {} }, ...more });
    test.outcome = {
      kind: 'result',
      result: { contents: [], resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' },
    };
    const client = await test.open('2026-07-28', {}, ann);
    expect((await test.turning(client.ask('resources/read', { uri: 'x://1' }))).result).toMatchObject({
      ttlMs: 60_000,
      cacheScope,
    });
  },
);

it.each([{}, { roots: {} }, { sampling: {}, elicitation: { form: {} } }])(
  'a client that declared %j and has asked for no list is told when one changes',
  async (declared) => {
    test = await WorkerUnderTest.start(['a']);
    await test.put('a');
    const client = await test.open('2025-11-25', declared);
    await test.put('a', { announcements: { ...noAnnouncements, tools: 1 } });
    await client.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
  },
);
