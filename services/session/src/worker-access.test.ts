/** What callers see and may by rules, in every revision: a session worker on a bus in memory, with two known callers. */
import {
  clientMethods,
  latestModernRevision,
  legacyRevisions,
  methodRow,
  noAnnouncements,
  noLists,
  parseServerName,
  serverKey,
  type Caller,
  type CatalogRecord,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callerOf as knownCaller, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const servers = ['open', 'shut'];
const schema = { type: 'object' as const };
const capabilities = {
  tools: {},
  prompts: {},
  resources: { subscribe: true },
  completions: {},
  logging: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { 'io.modelcontextprotocol/skills': {}, 'io.modelcontextprotocol/tasks': {} },
};

/** The entries of a server: the same names everywhere, so that only the server distinguishes them. */
function recordOf(server: string, more: Partial<CatalogRecord> = {}): Partial<CatalogRecord> {
  return {
    revision: '2025-11-25',
    capabilities,
    instructions: `the ${server} server`,
    lists: {
      ...noLists,
      tools: ['get', 'delete', 'refund'].map((name) => ({ name, inputSchema: schema })),
      prompts: [{ name: 'ask' }],
      resources: [
        { uri: `${server}://listed`, name: 'listed' },
        { uri: 'both://same', name: 'same' },
      ],
      resourceTemplates: [{ uriTemplate: `${server}://one/{id}`, name: 'one' }],
    },
    ...more,
  };
}

const callerOf = (subject: string, ...groups: string[]): Caller => knownCaller(subject, { groups });

const rules = [
  { id: 'open', who: ['group:eng', 'group:ops'], allow: ['open'] },
  { id: 'ops', who: 'group:ops', allow: ['shut'] },
  { id: 'no-delete', who: 'everyone', deny: ['*/delete'], because: 'ask an admin' },
  {
    id: 'small',
    who: 'everyone',
    except: 'group:ops',
    deny: ['open/refund'],
    args: { amount: { min: 101, optional: true } },
    because: 'more is refunded by finance',
  },
];
const settings = { auth: { keys: { file: 'keys.yaml' } }, access: { rules } };
const ann = callerOf('ann', 'eng');
const bob = callerOf('bob', 'ops');
const revisions: readonly Revision[] = [...legacyRevisions, latestModernRevision];

let worker: WorkerUnderTest;

async function start(given: object = settings): Promise<void> {
  worker = await WorkerUnderTest.start(servers, given);
  for (const server of servers) await worker.put(server, recordOf(server));
}

beforeEach(() => start());

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  await worker.stop();
});

const entries = async (
  { ask }: ClientUnderTest,
  kind: string,
  member: string,
  method = `${kind}/list`,
): Promise<unknown[]> =>
  ((await ask(method)).result?.[kind.includes('templates') ? 'resourceTemplates' : kind] as JsonObject[]).map(
    (entry) => entry[member],
  );

describe.each(revisions)('a client of %s', (revision) => {
  const open = (who: Caller): Promise<ClientUnderTest> => worker.open(revision, {}, who);

  it('sees of lists and instructions what its caller may, under the names that everybody sees', async () => {
    const [hers, his] = [await open(ann), await open(bob)];
    expect(await entries(hers, 'tools', 'name')).toEqual(['open__get', 'open__refund']);
    expect(await entries(his, 'tools', 'name')).toEqual(['open__get', 'open__refund', 'shut__get', 'shut__refund']);
    expect(await entries(hers, 'prompts', 'name')).toEqual(['open__ask']);
    expect(await entries(hers, 'resources', 'uri')).toEqual(['open://listed', 'both://same']);
    expect(await entries(his, 'resources', 'uri')).toEqual([
      'open://listed',
      'both://same',
      'shut://listed',
      'omnibus://shut/both://same',
    ]);
    expect(await entries(hers, 'resources/templates', 'uriTemplate')).toEqual(['open://one/{id}']);
    expect(JSON.stringify(hers.greeting)).toContain('the open server');
    expect(JSON.stringify(hers.greeting)).not.toContain('shut');
    expect(JSON.stringify(his.greeting)).toContain('the shut server');
    expect(await entries(await open(callerOf('carol')), 'tools', 'name')).toEqual([]);
  });

  it('is told with the rule why what it sees is refused, and what the rule permits is done', async () => {
    const { ask } = await open(ann);
    const call = (amount: unknown): Promise<JsonObject> =>
      ask('tools/call', { name: 'open__refund', arguments: { amount } });
    expect(await call(101)).toMatchObject({
      error: {
        message: 'this is not permitted (rule "small"): more is refunded by finance',
        data: { reason: 'policy.denied', retry: 'never', rule: 'small', because: 'more is refunded by finance' },
      },
    });
    expect(await call('1')).toMatchObject({ error: { data: { reason: 'policy.denied' } } });
    expect(worker.reached).toEqual([]);
    expect(await call(100)).toHaveProperty('result');
    expect(await worker.metrics.text()).toContain('omnibus_policy_refusals_total{outcome="denied",rule="small"} 2');
  });

  it('hears that lists changed when a fresh token says less of its caller, and what went is unknown from then on', async () => {
    const client = await open(bob);
    expect(await entries(client, 'tools', 'name')).toHaveLength(4);
    client.become(callerOf('bob', 'eng'));
    expect(await entries(client, 'tools', 'name')).toEqual(['open__get', 'open__refund']);
    expect(await client.ask('tools/call', { name: 'shut__get', arguments: {} })).toMatchObject({
      error: { data: { reason: 'tool.unknown' } },
    });
    // A subscription without a session is its own request, and ends with its token.
    if (revision !== latestModernRevision)
      await client.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
  });

  it('hears that lists changed by other rules, where its own did', async () => {
    const [hers, his] = [await open(ann), await open(bob)];
    await Promise.all([entries(hers, 'tools', 'name'), entries(his, 'tools', 'name')]);
    await worker.apply(servers, { ...settings, access: { rules: rules.filter(({ id }) => id !== 'ops') } });
    await his.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
    expect(await entries(his, 'tools', 'name')).toEqual(['open__get', 'open__refund']);
    await worker.put(
      'open',
      recordOf('open', { lists: { ...noLists, tools: [{ name: 'new', inputSchema: schema }] } }),
    );
    await hers.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
    expect(hers.pushed.values.filter(({ method }) => method === 'notifications/tools/list_changed')).toHaveLength(1);
  });

  it('hears nothing of changes, messages and resources of a server that is out of its sight', async () => {
    const client = await open(ann);
    await entries(client, 'tools', 'name');
    const sessions = [client.key];
    if (client.key !== undefined) {
      for (const server of servers) {
        worker.notice({
          kind: 'log',
          server: parseServerName(server),
          params: { level: 'error', data: server },
          sessions: sessions as never,
        });
        worker.notice({
          kind: 'resource-updated',
          server: parseServerName(server),
          uri: `${server}://listed`,
          sessions: sessions as never,
        });
      }
    }
    await worker.put(
      'shut',
      recordOf('shut', {
        announcements: { ...noAnnouncements, tools: 5 },
        lists: { ...noLists, tools: [{ name: 'other', inputSchema: schema }] },
      }),
    );
    await worker.put('open', recordOf('open', { announcements: { ...noAnnouncements, prompts: 5 } }));
    await client.pushed.untilSome(({ method }) => method === 'notifications/prompts/list_changed');
    expect(client.pushed.values.map(({ method }) => method)).not.toContain('notifications/tools/list_changed');
    expect(JSON.stringify(client.pushed.values)).not.toContain('shut');
    if (client.key !== undefined)
      expect(client.pushed.values.map(({ method }) => method)).toEqual([
        'notifications/message',
        'notifications/resources/updated',
        'notifications/prompts/list_changed',
      ]);
  });
});

/** What names something of a server, as a client says it. */
const naming: Readonly<Record<string, (server: string) => JsonObject>> = {
  'tools/call': (server) => ({ name: `${server}__get`, arguments: {} }),
  'prompts/get': (server) => ({ name: `${server}__ask` }),
  'resources/read': (server) => ({ uri: `${server}://listed` }),
  'resources/subscribe': (server) => ({ uri: `${server}://listed` }),
  'resources/unsubscribe': (server) => ({ uri: `${server}://listed` }),
  'completion/complete': (server) => ({
    ref: { type: 'ref/prompt', name: `${server}__ask` },
    argument: { name: 'a', value: '' },
  }),
  'skills/get': (server) => ({ uri: `${server}://skill` }),
  'resources/directory/read': (server) => ({ uri: `${server}://skill/` }),
  'tasks/get': () => ({ taskId: 'nobody-gave-this' }),
  'tasks/result': () => ({ taskId: 'nobody-gave-this' }),
  'tasks/cancel': () => ({ taskId: 'nobody-gave-this' }),
  'tasks/update': () => ({ taskId: 'nobody-gave-this', inputResponses: {} }),
  'tasks/list': () => ({}),
  'skills/list': () => ({}),
  'logging/setLevel': () => ({ level: 'info' }),
};
/** Methods that the gateway answers itself; lists and greetings are tried above. */
const ownMethods = [
  'initialize',
  'ping',
  'server/discover',
  'subscriptions/listen',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
];

it('every method of a client has a row here, and every one that is carried one where it is decided', () => {
  expect([...Object.keys(naming), ...ownMethods].toSorted()).toEqual([...clientMethods].toSorted());
  expect(
    [...clientMethods].filter((method) => {
      const row = methodRow(method);
      return (row?.isCarried === true) !== (row?.asksFor !== undefined);
    }),
  ).toEqual([]);
});

describe.each(['2025-11-25', latestModernRevision] as const)('in %s', (revision) => {
  const words = (answer: JsonObject, server: string): string =>
    JSON.stringify({ ...answer, id: 0 }).replaceAll(server, 'SERVER');

  it.each(Object.keys(naming))(
    '%s: what a caller may not see is answered as what is not there, and reaches no server',
    async (method) => {
      const [hers, his] = [
        await worker.open(revision, { extensions: { 'io.modelcontextprotocol/tasks': {} } }, ann),
        await worker.open(revision, { extensions: { 'io.modelcontextprotocol/tasks': {} } }, bob),
      ];
      const params = naming[method] as (server: string) => JsonObject;
      expect(words(await hers.ask(method, params('shut')), 'shut')).toBe(
        words(await hers.ask(method, params('none')), 'none'),
      );
      expect(worker.reached).not.toContain('shut');
      // It exists for callers that may see it.
      const answer = await his.ask(method, params('shut'));
      if (/^(tools|prompts|completion|resources\/read)/.test(method))
        expect([answer, worker.reached.at(-1)]).toEqual([
          { ...answer, result: expect.anything() as JsonObject },
          'shut',
        ]);
    },
  );

  it('by no other name: alias, case, other letters, the own name of the server, a URI that is on no list', async () => {
    const { ask } = await worker.open(revision, {}, ann);
    for (const name of [
      'shut__get',
      'Shut__get',
      'shut__GET',
      'ѕhut__get',
      'shut/get',
      'get',
      'open__delete',
      'open__Delete',
      'open__delete\u200b',
      'omnibus://shut/get',
    ]) {
      expect(await ask('tools/call', { name, arguments: {} }), name).toMatchObject({
        error: { data: { reason: 'tool.unknown' } },
      });
    }
    for (const uri of [
      'shut://listed',
      'SHUT://listed',
      'omnibus://shut/shut://listed',
      'omnibus://shut/both://same',
      'shut://one/7',
      'shut://unlisted',
    ])
      await ask('resources/read', { uri });
    expect(worker.reached).not.toContain('shut');
  });

  it('nothing that nobody has a name for goes to a server of which a caller may not use everything', async () => {
    const { ask } = await worker.open(revision, {}, ann);
    const answers = [
      await ask('x/unheard', { _meta: { [serverKey]: 'shut' } }),
      await ask('x/unheard', { _meta: { [serverKey]: 'none' } }),
      await ask('x/unheard', { _meta: { [serverKey]: 'open' } }),
    ];
    expect(new Set(answers.map((answer) => words(answer, 'x')))).toHaveProperty('size', 1);
    expect(worker.reached).toEqual([]);
  });

  it('where rules are only recorded, everything is seen and done, and counted', async () => {
    await worker.stop();
    await start({ ...settings, access: { mode: 'record', rules } });
    const client = await worker.open(revision, {}, ann);
    expect(await entries(client, 'tools', 'name')).toHaveLength(6);
    expect(await client.ask('tools/call', { name: 'shut__get', arguments: {} })).toHaveProperty('result');
    expect(await client.ask('tools/call', { name: 'open__delete', arguments: {} })).toHaveProperty('result');
    const text = await worker.metrics.text();
    expect(text).toContain('omnibus_policy_refusals_total{outcome="recorded",rule="default"} 1');
    expect(text).toContain('omnibus_policy_refusals_total{outcome="recorded",rule="no-delete"} 1');
  });
});

it('a call that waits for its client goes on by the rules as they are then, and else ends at its server', async () => {
  const client = await worker.open(latestModernRevision, { elicitation: { form: {} } }, bob);
  await worker.put('shut', recordOf('shut', { revision: '2025-11-25' }));
  worker.takes = (reply) =>
    reply({
      kind: 'input',
      input: 'i1' as never,
      method: 'elicitation/create',
      params: { message: 'sure?', requestedSchema: { type: 'object', properties: {} } },
    });
  const params = { name: 'shut__get', arguments: {} };
  const { result } = await client.ask('tools/call', params);
  const { requestState, inputRequests } = result as {
    readonly requestState: string;
    readonly inputRequests: JsonObject;
  };
  const again = {
    ...params,
    requestState,
    inputResponses: Object.fromEntries(
      Object.keys(inputRequests).map((key) => [key, { action: 'accept', content: {} }]),
    ),
  };
  await worker.apply(servers, { ...settings, access: { rules: rules.filter(({ id }) => id !== 'ops') } });
  expect(await client.ask('tools/call', again)).toMatchObject({ error: { data: { reason: 'tool.unknown' } } });
  await worker.controls.untilSome(({ kind }) => kind === 'cancel');
  expect(worker.controls.values.some(({ kind }) => kind === 'answer')).toBe(false);
});

it('a request that is held back until offers are known is served with the rights it came with, whoever asked since', async () => {
  worker.saysOffers = false;
  const older = (server: string, more: Partial<CatalogRecord> = {}): Promise<void> =>
    worker.put(server, recordOf(server, { revision: '2025-11-25', ...more }));
  for (const server of servers) await older(server);
  const [less, more] = [callerOf('bob', 'eng'), callerOf('bob', 'ops')];
  const client = await worker.open('2025-11-25', { sampling: {} }, less);
  const held = [
    entries(client, 'tools', 'name'),
    client.ask('tools/call', { name: 'shut__new', arguments: {} }),
  ] as const;
  client.become(more);
  const later = [
    entries(client, 'tools', 'name'),
    client.ask('tools/call', { name: 'shut__new', arguments: {} }),
  ] as const;
  client.become(less);
  await client.ask('ping');
  const offer = {
    key: 'sampling',
    lists: { tools: { entries: [{ name: 'new', inputSchema: schema }], without: ['get', 'delete', 'refund'] } },
  };
  for (const server of servers) await older(server, { offers: [offer] });
  expect(await held[0]).toEqual(['open__new']);
  expect(await held[1]).toMatchObject({ error: { data: { reason: 'tool.unknown' } } });
  expect(await later[0]).toEqual(['open__new', 'shut__new']);
  expect(await later[1]).toHaveProperty('result');
  expect(await entries(client, 'tools', 'name')).toEqual(['open__new']);
});
