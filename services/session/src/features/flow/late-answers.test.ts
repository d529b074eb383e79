/** Answers of clients to questions of tasks, and to questions outside calls, are decided by the labels of their own time. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  latestLegacyRevision,
  latestModernRevision,
  newWorkerId,
  noLists,
  parseServerName,
  tasksExtension,
  type ExchangeEvent,
  type InputKey,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';

const rules = [
  { id: 'all', who: 'everyone', allow: '*' },
  { id: 'from-web', who: 'everyone', label: 'web', as: 'untrusted' },
];
const denied: JsonObject = { deny: 'mail/send', after: 'untrusted' };
const form: JsonObject = { message: 'what shall I send?', requestedSchema: { type: 'object', properties: {} } };
const accepted: JsonObject = { action: 'accept', content: { text: 'private' } };
const ann = callerOf('ann');

let up: WorkerUnderTest;
afterEach(async () => {
  expect(up.faults).toEqual([]);
  await up.stop();
});

async function started(revision: Revision, way: JsonObject = denied): Promise<void> {
  up = await WorkerUnderTest.start(['web', 'mail'], {
    auth: { keys: { file: 'keys.yaml' } },
    access: { rules: [...rules, { id: 'no-way-out', who: 'everyone', ...way }] },
  });
  for (const [server, tool] of [
    ['web', 'read'],
    ['mail', 'send'],
  ] as const)
    await up.put(server, {
      revision,
      capabilities: {
        tools: {},
        ...(revision === latestModernRevision
          ? { extensions: { [tasksExtension]: {} } }
          : { tasks: { requests: { tools: { call: {} } } } }),
      },
      lists: {
        ...noLists,
        tools: [{ name: tool, inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
      },
    });
}

const task = (status: string): JsonObject => ({
  taskId: 'send-1',
  status,
  createdAt: 'now',
  lastUpdatedAt: 'now',
  ttl: 60_000,
});

/** A task of the tool that sends. @returns its id for the client. */
async function begun(client: ClientUnderTest, revision: Revision): Promise<unknown> {
  up.outcome = {
    kind: 'result',
    result: revision === latestModernRevision ? { ...task('working'), resultType: 'task' } : { task: task('working') },
    place: { worker: newWorkerId('backend'), connection: 'run-1', isProgram: false },
  } as ExchangeEvent;
  const { result } = await client.ask('tools/call', { name: 'mail__send', arguments: {} });
  up.outcome = { kind: 'result', result: { content: [] } };
  return result?.['taskId'];
}

const openModern = (): Promise<ClientUnderTest> =>
  up.open(latestModernRevision, { extensions: { [tasksExtension]: {} }, elicitation: { form: {} } }, ann);

describe('an update of a task', () => {
  it.each([
    ['after something untrusted was read', true, 'no-way-out', 'private'],
    ['before', false, 'private', 'no-way-out'],
  ])('of an older server, %s', async (_when, isLabelled, expected, unexpected) => {
    await started(latestLegacyRevision);
    const client = await openModern();
    const taskId = await begun(client, latestLegacyRevision);
    const asking = Promise.withResolvers<(event: ExchangeEvent) => void>();
    up.takes = (reply) => {
      up.takes = asking.resolve;
      reply({ kind: 'result', result: task('input_required') });
    };
    const got = client.ask('tasks/get', { taskId });
    const reply = await up.turning(asking.promise);
    reply({ kind: 'input', input: 0, method: 'elicitation/create', params: form });
    const { result } = await up.turning(got);
    const [key = ''] = Object.keys(result?.['inputRequests'] as JsonObject);
    if (isLabelled) await up.turning(client.ask('tools/call', { name: 'web__read', arguments: {} }));
    await up.turning(client.ask('tasks/update', { taskId, inputResponses: { [key]: accepted } }));
    const heard = JSON.stringify(await up.turning(up.controls.untilSome(({ kind }) => kind === 'answer')));
    expect(heard).toContain(expected);
    expect(heard).not.toContain(unexpected);
    reply({ kind: 'result', result: { content: [] } });
  });

  it.each([denied, { ask: 'mail/send', after: 'untrusted' }])(
    'of a server of 2026-07-28 is refused after something untrusted was read (%j)',
    async (way) => {
      await started(latestModernRevision, way);
      const client = await openModern();
      const taskId = await begun(client, latestModernRevision);
      const update = (): Promise<JsonObject> =>
        up.turning(client.ask('tasks/update', { taskId, inputResponses: { key: accepted } }));
      up.outcome = { kind: 'result', result: {} };
      expect((await update())['error']).toBeUndefined();
      await up.turning(client.ask('tools/call', { name: 'web__read', arguments: {} }));
      up.reached.length = 0;
      expect(await update()).toMatchObject({ error: { data: { reason: 'policy.denied', rule: 'no-way-out' } } });
      expect(up.reached).toEqual([]);
      // It can still be looked at and cancelled.
      up.outcome = { kind: 'result', result: task('cancelled') };
      for (const method of ['tasks/get', 'tasks/cancel'])
        expect((await up.turning(client.ask(method, { taskId }))).error).toBeUndefined();
    },
  );
});

describe('a question outside calls', () => {
  const asked = (client: ClientUnderTest, server: string): void =>
    up.notice({
      kind: 'question',
      server: parseServerName(server),
      input: 7 as InputKey,
      method: 'elicitation/create',
      params: form,
      sessions: [client.key as never],
    });

  it.each([
    ['after something untrusted was read', true, 'no-way-out', 'private'],
    ['before', false, 'private', 'no-way-out'],
  ])('is answered %s', async (_when, isLabelled, expected, unexpected) => {
    await started(latestLegacyRevision);
    const client = await up.open(latestLegacyRevision, { elicitation: { form: {} } }, ann);
    asked(client, 'mail');
    const { id } = await client.pushed.untilSome(({ method }) => method === 'elicitation/create');
    if (isLabelled) await client.ask('tools/call', { name: 'web__read', arguments: {} });
    client.say({ kind: 'response', message: { jsonrpc: '2.0', id: id as number, result: accepted } });
    const heard = JSON.stringify(await up.controls.untilSome(({ kind }) => kind === 'answer'));
    expect(heard).toContain(expected);
    expect(heard).not.toContain(unexpected);
  });

  it('labels the conversation', async () => {
    await started(latestLegacyRevision);
    const client = await up.open(latestLegacyRevision, { elicitation: { form: {} } }, ann);
    asked(client, 'web');
    await client.pushed.untilSome(({ method }) => method === 'elicitation/create');
    expect(await client.ask('tools/call', { name: 'mail__send', arguments: {} })).toMatchObject({
      error: { data: { rule: 'no-way-out' } },
    });
  });
});
