/** Tasks and rules: a caller that may not see a tool does not see its tasks either. A session worker on a bus in memory. */
import {
  latestLegacyRevision,
  latestModernRevision,
  newWorkerId,
  noLists,
  parseServerName,
  type Caller,
  type ExchangeEvent,
  type JsonObject,
  type Revision,
  type TaskPlace,
} from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reasonOf, takingTasks } from './answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const servers = ['bank', 'other'];
const bank = parseServerName('bank');
const schema = { type: 'object' as const };
const rules = [
  { id: 'all', who: 'group:finance', allow: ['bank'] },
  { id: 'some', who: 'group:eng', allow: ['bank/look'] },
  { id: 'small', who: 'group:eng', allow: ['bank/pay'], args: { amount: { max: 10 } } },
  { id: 'no-wire', who: 'group:interns', deny: ['bank/wire'] },
  { id: 'office', who: 'group:office', allow: ['bank'], network: ['10.0.0.0/8'] },
];
const settings = { auth: { keys: { file: 'keys.yaml' } }, access: { rules } };
/** The same user with a token that says more, and with one that says less. */
const more = callerOf('ann', { groups: ['finance'] });
const less = callerOf('ann', { groups: ['eng'] });
const place: TaskPlace = { worker: newWorkerId('backend'), connection: 'run-1', isProgram: false };
const task = (taskId: string, status = 'working'): JsonObject => ({
  taskId,
  status,
  createdAt: 'now',
  lastUpdatedAt: 'now',
  ttl: 60_000,
});
const made = (taskId: string): ExchangeEvent => ({ kind: 'result', result: { task: task(taskId) }, place });

let worker: WorkerUnderTest;

async function start(given: object = settings): Promise<void> {
  worker = await WorkerUnderTest.start(servers, given);
  await worker.put('bank', {
    revision: latestLegacyRevision,
    capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    lists: {
      ...noLists,
      tools: ['look', 'pay', 'wire'].map((name) => ({
        name,
        inputSchema: schema,
        execution: { taskSupport: 'optional' },
      })),
    },
  });
}

beforeEach(() => start());

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  await worker.stop();
});

const open = (revision: Revision, by: Caller): Promise<ClientUnderTest> =>
  worker.open(revision, takingTasks(revision), by);

async function begun(
  client: ClientUnderTest,
  revision: Revision,
  tool: string,
  given: JsonObject = {},
): Promise<string> {
  worker.outcome = made(`${tool}-1`);
  const { result } = await client.ask('tools/call', {
    name: `bank__${tool}`,
    arguments: given,
    ...(revision === latestModernRevision ? {} : { task: {} }),
  });
  return ((result?.['task'] ?? result) as JsonObject)['taskId'] as string;
}

describe.each([latestLegacyRevision, latestModernRevision] as const)('in %s', (revision) => {
  const methods =
    revision === latestModernRevision
      ? ['tasks/get', 'tasks/update', 'tasks/cancel']
      : ['tasks/get', 'tasks/result', 'tasks/cancel'];

  it.each(methods)(
    '%s: the task of a tool that its caller may not see any more is unknown, and reaches no server',
    async (method) => {
      const client = await open(revision, more);
      const [wire, look] = [await begun(client, revision, 'wire'), await begun(client, revision, 'look')];
      client.become(less);
      worker.reached.length = 0;
      worker.outcome = { kind: 'result', result: task('look-1', 'cancelled') };
      expect(reasonOf(await client.ask(method, { taskId: wire, inputResponses: {} }))).toBe('task.unknown');
      expect(worker.reached).toEqual([]);
      expect(reasonOf(await client.ask(method, { taskId: look, inputResponses: {} }))).toBe('answered');
      client.become(more);
      expect(reasonOf(await client.ask(method, { taskId: wire, inputResponses: {} }))).toBe('answered');
    },
  );

  it('what was permitted by its arguments is not taken away, and by another network it is', async () => {
    const eng = await open(revision, less);
    const pay = await begun(eng, revision, 'pay', { amount: 5 });
    worker.outcome = { kind: 'result', result: task('pay-1') };
    expect(reasonOf(await eng.ask('tasks/get', { taskId: pay }))).toBe('answered');
    const office = callerOf('bob', { groups: ['office'] });
    const client = await open(revision, { ...office, address: '10.1.1.1' });
    const wire = await begun(client, revision, 'wire');
    worker.outcome = { kind: 'result', result: task('wire-1') };
    expect(reasonOf(await client.ask('tasks/get', { taskId: wire }))).toBe('answered');
    client.become({ ...office, address: '192.0.2.1' });
    expect(await client.ask('tasks/get', { taskId: wire })).toMatchObject({
      error: { data: { reason: 'policy.denied', rule: 'office' } },
    });
  });

  it('where rules are only recorded, tasks are answered, and it is counted', async () => {
    await worker.stop();
    await start({ ...settings, access: { mode: 'record', rules } });
    const client = await open(revision, more);
    const wire = await begun(client, revision, 'wire');
    client.become(less);
    worker.outcome = { kind: 'result', result: task('wire-1') };
    expect(reasonOf(await client.ask('tasks/get', { taskId: wire }))).toBe('answered');
    expect(await worker.metrics.text()).toContain('omnibus_policy_refusals_total{outcome="recorded",rule="default"} 1');
  });
});

it('a list of tasks has those of tools that its caller sees, and its ids open no more than those of calls', async () => {
  const client = await open(latestLegacyRevision, more);
  const wire = await begun(client, latestLegacyRevision, 'wire');
  const listed = async (): Promise<unknown[]> =>
    ((await client.ask('tasks/list')).result?.['tasks'] as JsonObject[]).map(({ taskId }) => taskId);
  const list: ExchangeEvent = {
    kind: 'result',
    place,
    result: { tasks: [task('look-1'), task('wire-1'), task('odd-1')] },
    tools: ['look', 'wire', undefined],
  };
  worker.outcome = list;
  const all = await listed();
  expect(all).toHaveLength(3);
  expect(all[1]).toBe(wire);
  client.become(less);
  expect(await listed()).toEqual([all[0]]);
  // Only callers that may use all of the server see a task with an unknown tool.
  expect(reasonOf(await client.ask('tasks/get', { taskId: all[2] }))).toBe('task.unknown');
  // An adapter of an older version names no tools of tasks.
  worker.outcome = { kind: 'result', place, result: { tasks: [task('look-1'), task('wire-1')] } };
  expect(await listed()).toEqual([]);
  client.become(more);
  const [unnamed] = await listed();
  worker.outcome = { kind: 'result', result: task('look-1') };
  expect(reasonOf(await client.ask('tasks/get', { taskId: unnamed }))).toBe('answered');
  // It may be the task of a tool that is denied.
  client.become(callerOf('ann', { groups: ['finance', 'interns'] }));
  expect(reasonOf(await client.ask('tasks/get', { taskId: unnamed }))).toBe('task.unknown');
});

it('what is said of a task is for who sees its tool, under the id that its call was answered with', async () => {
  const client = await open(latestLegacyRevision, more);
  const wire = await begun(client, latestLegacyRevision, 'wire');
  const say = (tool: string, status: string): void =>
    worker.notice({
      kind: 'task-status',
      server: bank,
      task: task(`${tool}-1`, status),
      place,
      tool,
      sessions: [client.key as never],
    });
  say('wire', 'working');
  const [first] = await client.pushed
    .untilSome(({ method }) => method === 'notifications/tasks/status')
    .then(() => client.pushed.values);
  expect((first?.['params'] as JsonObject)['taskId']).toBe(wire);
  client.become(less);
  await client.ask('ping');
  say('wire', 'completed');
  worker.notice({
    kind: 'question',
    server: bank,
    input: 7 as never,
    method: 'elicitation/create',
    params: { message: 'wire it?', requestedSchema: schema },
    place,
    tool: 'wire',
    sessions: [client.key as never],
  });
  say('look', 'completed');
  await client.pushed.untilSome(
    ({ method, params }) => method === 'notifications/tasks/status' && (params as JsonObject)['status'] === 'completed',
  );
  expect(JSON.stringify(client.pushed.values)).not.toContain('wire it?');
  expect(client.pushed.values.filter(({ method }) => method === 'notifications/tasks/status')).toHaveLength(2);
  await worker.controls.untilSome(({ kind }) => kind === 'answer');
});
