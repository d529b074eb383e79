/** Few tools in the list, and all others found and called through them, with servers that a test writes into the catalogue. */
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  latestLegacyRevision,
  latestModernRevision,
  legacyRevisions,
  modernRevisions,
  newRequestKey,
  noLists,
  parseEndpointName,
  repeatKey,
  repeatMs,
  repeatsKey,
  type CatalogRecord,
  type ExchangeEvent,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { subjects } from '@omnibus/bus';
import { firstReply } from '@omnibus/bus/testing';
import { finderNames, finders } from '@omnibus/catalog';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const revisions: readonly Revision[] = [...legacyRevisions, ...modernRevisions];
const finding = Object.values(finderNames);

const github: Partial<CatalogRecord> = {
  revision: latestLegacyRevision,
  instructions: 'Works with repositories.',
  lists: {
    ...noLists,
    tools: [
      {
        name: 'create_issue',
        description: 'Opens an issue in a repository. Long explanation.',
        inputSchema: {
          type: 'object',
          properties: { repo: { type: 'string' }, title: { type: 'string' }, body: {} },
          required: ['repo', 'title'],
        },
      },
      {
        name: 'list_issues',
        description: 'Lists issues.',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
      },
    ],
  },
};
const mail: Partial<CatalogRecord> = {
  revision: latestLegacyRevision,
  lists: {
    ...noLists,
    tools: [
      {
        name: 'send',
        description: 'Sends a message.',
        inputSchema: { type: 'object' },
        annotations: { destructiveHint: true },
      },
    ],
  },
};

async function started(settings: object = { listing: 'search' }): Promise<WorkerUnderTest> {
  up = await WorkerUnderTest.start(['github', 'mail'], settings);
  await up.put('github', github);
  await up.put('mail', mail);
  return up;
}

async function listed(client: ClientUnderTest): Promise<readonly JsonObject[]> {
  return ((await client.ask('tools/list')).result?.['tools'] ?? []) as readonly JsonObject[];
}

async function namesOf(client: ClientUnderTest): Promise<readonly unknown[]> {
  return (await listed(client)).map(({ name }) => name);
}

async function said(client: ClientUnderTest, name: string, given: JsonObject): Promise<string> {
  const { result } = await client.ask('tools/call', { name, arguments: given });
  return (result?.['content'] as readonly { readonly text: string }[])[0]?.text ?? '';
}

const find = (client: ClientUnderTest, query: string, more: JsonObject = {}): Promise<string> =>
  said(client, finderNames.find, { query, ...more });

it('a call of a found tool that its client repeats with a key is made once', async () => {
  const worker = await started();
  // The worker is old enough to know each call that a client may repeat now.
  const startedAt = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => startedAt + 2 * repeatMs);
  const taken = Promise.withResolvers<(event: ExchangeEvent) => void>();
  worker.takes = taken.resolve;
  const call = (more: JsonObject): Promise<unknown> =>
    worker.turning(
      firstReply(worker.bus, subjects.modern(undefined), {
        kind: 'request',
        key: newRequestKey(),
        caller: callerOf('ann'),
        request: {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: {
            name: finderNames.call,
            arguments: { name: 'mail__send', arguments: {} },
            _meta: { [repeatKey]: 'a-random-key-of-a-client', ...more },
          },
        },
        context: { capabilities: {}, logLevel: undefined },
        parameterHeaders: undefined,
      }),
    );
  const first = call({});
  const reply = await taken.promise;
  const again = call({ [repeatsKey]: true });
  await setImmediate();
  reply({ kind: 'result', result: { content: [] } });
  expect([await first, await again]).toMatchObject([{ kind: 'message' }, { kind: 'message' }]);
  vi.restoreAllMocks();
  expect(worker.reached).toEqual(['mail']);
});

describe.each(revisions)('a client of %s at an endpoint with `listing: search`', (revision) => {
  it('is listed three tools of at most 450 tokens, which its client is asked to keep loaded', async () => {
    const client = await (await started()).open(revision);
    const tools = await listed(client);
    expect(tools.map(({ name }) => name)).toEqual(finding);
    expect(JSON.stringify(tools).length / 4).toBeLessThanOrEqual(450);
    for (const tool of tools) expect(tool['_meta']).toEqual({ 'anthropic/alwaysLoad': true });
  });

  it('finds tools by words, with their parameters and hints', async () => {
    const client = await (await started()).open(revision);
    expect(await find(client, 'open an issue', { limit: 1 })).toBe(
      'github__create_issue(repo*, title*, body): Opens an issue in a repository',
    );
    expect(await find(client, 'list issues', { limit: 1 })).toBe('github__list_issues() [read-only]: Lists issues.');
    expect(await find(client, 'message', { server: 'mail' })).toBe('mail__send() [destructive]: Sends a message.');
  });

  it('finds a tool of which a parameter has a very long name, which is cut', async () => {
    const worker = await started();
    const properties = { [`a\u0007${'x'.repeat(90_000)}`]: { type: 'string' } };
    await worker.put('mail', {
      ...mail,
      lists: { ...noLists, tools: [{ name: 'send', inputSchema: { type: 'object', properties } }] },
    });
    expect(await find(await worker.open(revision), 'send', { limit: 1 })).toBe(`mail__send(a ${'x'.repeat(38)}…)`);
  });

  it('finds and reads tools among 500, of which the index is made in steps', async () => {
    const worker = await started();
    const tools = Array.from({ length: 500 }, (_none, at) => ({
      name: `work_${at}`,
      description: `Does the work ${at}.`,
      inputSchema: { type: 'object' },
    }));
    await worker.put('mail', { ...mail, lists: { ...noLists, tools } });
    const client = await worker.open(revision);
    const [found, described] = await Promise.all([
      find(client, 'work 321', { limit: 1 }),
      said(client, finderNames.describe, { names: ['mail__work_7'] }),
    ]);
    expect(found).toBe('mail__work_321(): Does the work 321.');
    expect(described).toContain('Does the work 7.');
  });

  it('reads the definitions of tools that it found', async () => {
    const client = await (await started()).open(revision);
    const [definition, unknown] = (
      await said(client, finderNames.describe, { names: ['github__create_issue', 'nothing'] })
    ).split('\n');
    expect(JSON.parse(definition ?? '')).toMatchObject({ ...github.lists?.tools[0], name: 'github__create_issue' });
    expect(unknown).toBe('There is no tool "nothing" here. find_tools finds names.');
  });

  it('calls a tool that it found, which gets its own name and arguments', async () => {
    const worker = await started();
    const client = await worker.open(revision);
    worker.outcome = { kind: 'result', result: { content: [{ type: 'text', text: 'done' }] } };
    const { result } = await client.ask('tools/call', {
      name: finderNames.call,
      arguments: { name: 'github__create_issue', arguments: { repo: 'a', title: 'b' } },
    });
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'done' }] });
    expect(worker.asked.values.at(-1)).toMatchObject({
      method: 'tools/call',
      params: { name: 'create_issue', arguments: { repo: 'a', title: 'b' } },
    });
    // A model often writes arguments as text.
    await said(client, finderNames.call, { name: 'mail__send', arguments: '{"to":"ann"}' });
    expect(worker.asked.values.at(-1)).toMatchObject({ params: { name: 'send', arguments: { to: 'ann' } } });
    // A found tool can be called by its name alone.
    await client.ask('tools/call', { name: 'mail__send', arguments: {} });
    expect(worker.reached).toEqual(['github', 'mail', 'mail']);
  });

  it('is answered what it can do where nothing fits', async () => {
    const client = await (await started()).open(revision);
    expect(await find(client, 'quantum chromodynamics')).toBe(
      'Nothing fits "quantum chromodynamics". Searched servers: github, mail.\nSay it in other words, such as a verb and a thing.',
    );
    expect(await find(client, 'issue', { server: 'jira' })).toBe(
      'There is no server "jira" here. Servers: github, mail.',
    );
  });

  it('is answered a mistake in its arguments as a result that a model can read', async () => {
    const client = await (await started()).open(revision);
    const cases: readonly (readonly [string, JsonObject, string])[] = [
      [finderNames.find, {}, 'find_tools needs "query"'],
      [finderNames.find, { query: 'x'.repeat(2_001) }, 'find_tools needs "query"'],
      [finderNames.find, { query: 'x', limit: 0 }, '"limit" must be'],
      [finderNames.describe, { names: [] }, 'describe_tools needs "names"'],
      [finderNames.describe, { names: Array.from({ length: 21 }, () => 'x') }, 'describe_tools needs "names"'],
      [finderNames.call, {}, 'call_tool needs "name"'],
      [finderNames.call, { name: 'mail__send', arguments: [] }, '"arguments" of call_tool must be an object'],
      [finderNames.call, { name: finderNames.call, arguments: {} }, 'Call call_tool itself'],
    ];
    for (const [name, given, text] of cases) {
      const { result } = await client.ask('tools/call', { name, arguments: given });
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(text) }] });
    }
    expect(
      (await client.ask('tools/call', { name: finderNames.call, arguments: { name: 'no_such' } })).error,
    ).toMatchObject({
      data: { reason: 'tool.unknown' },
    });
  });

  it('finds what servers offer now, without a change of its list', async () => {
    const worker = await started();
    const client = await worker.open(revision);
    expect(await find(client, 'volcano')).toContain('Nothing fits');
    await worker.put('mail', {
      ...mail,
      lists: {
        ...noLists,
        tools: [{ name: 'erupt', description: 'Wakes a volcano.', inputSchema: { type: 'object' } }],
      },
      announcements: { tools: 1, prompts: 0, resources: 0 },
    });
    expect(await find(client, 'volcano')).toBe('mail__erupt(): Wakes a volcano.');
    expect(await find(client, 'message')).toContain('Nothing fits');
    await worker.put('mail', { status: 'down', problem: 'it was stopped', lists: mail.lists ?? noLists });
    expect(await find(client, 'message')).toBe(
      'mail__send() [destructive] [server not available: it was stopped]: Sends a message.',
    );
    await worker.put('mail', {
      ...mail,
      held: [{ kind: 'tools', name: 'wire_money', deviations: [] }],
    } as unknown as Partial<CatalogRecord>);
    expect(await find(client, 'wire money')).toBe('mail__wire_money() [held back until its definition is approved]');
    expect(client.pushed.values.map(({ method }) => method)).not.toContain('notifications/tools/list_changed');
  });

  it('finds nothing of what its rights do not show, by name, number or rank', async () => {
    const rules = {
      listing: 'search',
      access: { rules: [{ id: 'issues', who: 'everyone', allow: ['github/list_*'] }] },
    };
    const worker = await started(rules);
    const client = await worker.open(revision, {}, callerOf('ann'));
    expect(await find(client, 'issue message send create')).toBe('github__list_issues() [read-only]: Lists issues.');
    expect(await find(client, 'message')).toBe(
      'Nothing fits "message". Searched servers: github.\nSay it in other words, such as a verb and a thing.',
    );
    expect(await find(client, 'x', { server: 'mail' })).toBe('There is no server "mail" here. Servers: github.');
    expect(await said(client, finderNames.describe, { names: ['mail__send'] })).toBe(
      'There is no tool "mail__send" here. find_tools finds names.',
    );
    const denied = await client.ask('tools/call', { name: finderNames.call, arguments: { name: 'mail__send' } });
    const direct = await client.ask('tools/call', { name: 'mail__send' });
    expect(denied.error).toEqual(direct.error);
    expect(worker.reached).toEqual([]);
  });
});

it('tools that `show` names stay in the list within the budget', async () => {
  const show = ['github/*'];
  const worker = await started({ listing: { mode: 'search', show } });
  const client = await worker.open(latestModernRevision);
  expect(await namesOf(client)).toEqual([...finding, 'github__create_issue', 'github__list_issues']);
  await worker.apply(['github', 'mail'], { listing: { mode: 'search', show, budget: { tools: 1 } } });
  expect(await namesOf(client)).toEqual([...finding, 'github__create_issue']);
  await worker.apply(['github', 'mail'], { listing: { mode: 'search', show, budget: { tokens: 10 } } });
  expect(await namesOf(client)).toEqual(finding);
});

it('a full list that exceeds its budget shows what fits, and how the rest is found', async () => {
  const worker = await started({ listing: { budget: { tools: 2 }, show: ['mail/*'] } });
  const client = await worker.open(latestLegacyRevision);
  expect(await namesOf(client)).toEqual([...finding, 'github__create_issue', 'mail__send']);
  expect(await find(client, 'list issues', { limit: 1 })).toContain('github__list_issues');
  await worker.apply(['github', 'mail'], { listing: { budget: { tools: 3 } } });
  expect(await namesOf(client)).toEqual(['github__create_issue', 'github__list_issues', 'mail__send']);
});

it('a profile has a list of its own', async () => {
  const worker = await started({ profiles: { few: { listing: 'search' } } });
  const by = callerOf('ann', {}, parseEndpointName('few'));
  expect(await namesOf(await worker.open(latestModernRevision, {}, by))).toEqual(finding);
  expect(await namesOf(await worker.open(latestModernRevision))).toHaveLength(3);
  expect(await namesOf(await worker.open(latestModernRevision))).not.toEqual(finding);
});

it.each(revisions)(
  'a client of %s that declares the extension is shown few tools, and no server hears of it',
  async (revision) => {
    const worker = await started({});
    const wishing = await worker.open(revision, { extensions: { 'dev.omnibus/search': {} } });
    expect(await namesOf(wishing)).toEqual(finding);
    expect(await namesOf(await worker.open(revision))).toEqual([
      'github__create_issue',
      'github__list_issues',
      'mail__send',
    ]);
    await said(wishing, finderNames.call, { name: 'mail__send' });
    expect(worker.reached).toEqual(['mail']);
  },
);

it("a server's tool that has the name of one of the three gets the name of its server before it", async () => {
  up = await WorkerUnderTest.start(['github'], { listing: { mode: 'search', show: ['*/*'] } });
  await up.put('github', {
    revision: latestLegacyRevision,
    lists: {
      ...noLists,
      tools: [
        { name: 'call_tool', inputSchema: { type: 'object' } },
        { name: 'other', inputSchema: { type: 'object' } },
      ],
    },
  });
  const client = await up.open(latestModernRevision);
  expect(await namesOf(client)).toEqual([...finding, 'github__call_tool', 'other']);
  await said(client, finderNames.call, { name: 'github__call_tool' });
  expect(up.asked.values.at(-1)).toMatchObject({ params: { name: 'call_tool' } });
});

it('only clients of revisions with sessions are told that a call through `call_tool` may be a task, and only where one may', async () => {
  expect(finders.entries(false).some((entry) => 'execution' in entry)).toBe(false);
  const worker = await started();
  await worker.put('mail', {
    ...mail,
    ...mail,
    revision: latestLegacyRevision,
    capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
  });
  const execution = async (revision: Revision): Promise<unknown> =>
    (await listed(await worker.open(revision))).find(({ name }) => name === finderNames.call)?.['execution'];
  expect(await execution(latestLegacyRevision)).toEqual({ taskSupport: 'optional' });
  for (const revision of modernRevisions) expect(await execution(revision)).toBeUndefined();
});

it('definitions can be slimmed, and have the words of the operator, where they are listed, described and searched', async () => {
  up = await WorkerUnderTest.start(['github'], {
    listing: { slim: true, descriptions: { 'github/list_issues': 'Shows every bug.' } },
    profiles: { plain: { listing: 'full' } },
  });
  const definition = {
    name: 'list_issues',
    title: 'List issues',
    description: 'Lists.',
    inputSchema: { $schema: 'x', type: 'object' },
  };
  await up.put('github', { revision: latestLegacyRevision, lists: { ...noLists, tools: [definition] } });
  const slim = { name: 'list_issues', description: 'Shows every bug.', inputSchema: { type: 'object' } };
  expect(await listed(await up.open(latestModernRevision))).toEqual([slim]);
  expect(
    await listed(await up.open(latestModernRevision, {}, callerOf('ann', {}, parseEndpointName('plain')))),
  ).toEqual([definition]);
  const wishing = await up.open(latestModernRevision, { extensions: { 'dev.omnibus/search': {} } });
  expect(await find(wishing, 'bug')).toBe('list_issues(): Shows every bug.');
  expect(JSON.parse(await said(wishing, finderNames.describe, { names: ['list_issues'] }))).toEqual(slim);
});
