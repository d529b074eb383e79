/** Limits and tasks: a task that runs on counts as a running call until it ends, and its result for the characters of results. A session worker on a bus in memory. */
import {
  latestLegacyRevision,
  latestModernRevision,
  newWorkerId,
  noLists,
  parseServerName,
  type ExchangeEvent,
  type JsonObject,
  type Revision,
  type TaskPlace,
} from '@omnibus/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { reasonOf, takingTasks } from './answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const servers = ['bank', 'other'];
const place: TaskPlace = { worker: newWorkerId('backend'), connection: 'run-1', isProgram: false };
const task = (taskId: string, status = 'working'): JsonObject => ({
  taskId,
  status,
  createdAt: 'now',
  lastUpdatedAt: 'now',
  ttl: 60_000,
  pollInterval: 1_000,
});
const ann = callerOf('ann');

let worker: WorkerUnderTest;

async function start(rule: JsonObject): Promise<void> {
  worker = await WorkerUnderTest.start(servers, {
    auth: { keys: { file: 'keys.yaml' } },
    limits: { rules: [{ id: 'one', what: ['bank'], ...rule }] },
  });
  await worker.put('bank', {
    revision: latestLegacyRevision,
    capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    lists: {
      ...noLists,
      tools: [{ name: 'pay', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
    },
  });
}

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  await worker.stop();
});

const open = (revision: Revision): Promise<ClientUnderTest> => worker.open(revision, takingTasks(revision), ann);

/** Starts a task; the outcome is that of the call. */
async function call(
  client: ClientUnderTest,
  revision: Revision,
  outcome: ExchangeEvent = { kind: 'result', result: { task: task('one') }, place },
): Promise<{ readonly reason: unknown; readonly taskId: string }> {
  worker.outcome = outcome;
  const answered = await client.ask('tools/call', {
    name: 'bank__pay',
    arguments: {},
    ...(revision === latestModernRevision ? {} : { task: {} }),
  });
  const { result } = answered;
  return {
    reason: reasonOf(answered),
    taskId: String(((result?.['task'] ?? result) as JsonObject | undefined)?.['taskId']),
  };
}

describe.each([latestLegacyRevision, latestModernRevision] as const)('in %s', (revision) => {
  it('a task holds its place until its client sees that it has ended', async () => {
    await start({ concurrency: 1 });
    const client = await open(revision);
    const { taskId } = await call(client, revision);
    expect((await call(client, revision)).reason).toBe('limit.concurrency');
    worker.outcome = { kind: 'result', result: task('one') };
    expect(reasonOf(await client.ask('tasks/get', { taskId }))).toBe('answered');
    expect((await call(client, revision)).reason).toBe('limit.concurrency');
    worker.outcome = { kind: 'result', result: task('one', 'cancelled') };
    expect(reasonOf(await client.ask('tasks/cancel', { taskId }))).toBe('answered');
    expect((await call(client, revision)).reason).toBe('answered');
  });

  it('and until its server says so, of its own accord or when it is asked', async () => {
    await start({ concurrency: 1 });
    const client = await open(revision);
    await call(client, revision);
    worker.notice({
      kind: 'task-status',
      server: parseServerName('bank'),
      task: task('one', 'completed'),
      place,
      tool: 'pay',
      sessions: [],
    });
    expect((await call(client, revision)).reason).toBe('answered');
    expect(await worker.metrics.text()).toContain('omnibus_limit_keys{table="tasks"} 1');
    worker.outcome = { kind: 'result', result: task('one', 'failed') };
    await worker.asked.untilSome(({ method }) => method === 'tasks/get');
    await expect.poll(() => worker.metrics.text()).toContain('omnibus_limit_keys{table="tasks"} 0');
    expect((await call(client, revision)).reason).toBe('answered');
  });

  it('a call that is answered with a task that has ended holds no place', async () => {
    await start({ concurrency: 1 });
    const client = await open(revision);
    await call(client, revision, { kind: 'result', result: { task: task('one', 'completed') }, place });
    expect((await call(client, revision)).reason).toBe('answered');
  });

  it('the result of a task counts when it is fetched, and not for the number of calls', async () => {
    await start({ bytes: '10000/day', quota: '2/day' });
    const client = await open(revision);
    const { taskId } = await call(client, revision);
    const large = { content: [{ type: 'text', text: 'x'.repeat(20_000) }] };
    worker.takes =
      revision === latestModernRevision
        ? (reply) => {
            worker.takes = (next) => next({ kind: 'result', result: large });
            reply({ kind: 'result', result: task('one', 'completed') });
          }
        : (reply) => reply({ kind: 'result', result: large });
    const method = revision === latestModernRevision ? 'tasks/get' : 'tasks/result';
    expect(reasonOf(await client.ask(method, { taskId }))).toBe('answered');
    expect(reasonOf(await client.ask(method, { taskId }))).toBe('limit.quota');
    expect((await call(client, revision)).reason).toBe('limit.quota');
    expect(await worker.metrics.text()).not.toContain('kind="quota"');
  });
});

it('tasks of a session that has ended count until their server forgets them', async () => {
  await start({ concurrency: 1 });
  const client = await open(latestLegacyRevision);
  await call(client, latestLegacyRevision);
  client.end();
  const later = await open(latestLegacyRevision);
  expect((await call(later, latestLegacyRevision)).reason).toBe('limit.concurrency');
  await expect
    .poll(() => {
      worker.turn(task('one')['ttl'] as number);
      return worker.metrics.text();
    })
    .toContain('omnibus_limit_keys{table="tasks"} 0');
  expect((await call(later, latestLegacyRevision)).reason).toBe('answered');
});
