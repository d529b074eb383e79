/** Scripts that run as tasks: for clients of 2025-11-25, which ask for a task, and for clients of the extension, which take one. */
import type { AuditEvent } from '@omnibus/audit';
import { Blocks, MemoryBus, sessionsBucket, subjects } from '@omnibus/bus';
import { coderNames } from '@omnibus/catalog';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  latestLegacyRevision,
  latestModernRevision,
  newWorkerId,
  noLists,
  ownServer,
  rootEndpoint,
  parseServerName,
  tasksExtension,
  type ExchangeEvent,
  type JsonObject,
  type SessionKey,
  type SessionRecord,
} from '@omnibus/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { auditIn, textIn, textOf } from '../../../answers-under-test.ts';
import type { OwnTaskRequest } from '../../../call/own-tasks.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from '../../../worker-under-test.ts';
import { newTaskId } from './script-task.ts';
import { ScriptTasks } from './script-tasks.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const events: AuditEvent[] = [];
const extension = { extensions: { [tasksExtension]: {} } };
const day = 24 * 60 * 60_000;
const slow = `return await servers.crm.plain();`;

class SharedBus extends MemoryBus {
  override readonly isShared = true;
}

async function started(
  settings: object = {},
  makeBus?: Parameters<typeof WorkerUnderTest.start>[3],
): Promise<WorkerUnderTest> {
  events.length = 0;
  up = await WorkerUnderTest.start(['crm'], { listing: 'code', ...settings }, auditIn(events), makeBus);
  await up.put('crm', { lists: { ...noLists, tools: [{ name: 'plain', inputSchema: { type: 'object' } }] } });
  return up;
}

/** The next call of a server waits. @returns its answer. */
function held(worker: WorkerUnderTest): { answer: (event?: ExchangeEvent) => void } {
  const holding = { answer: (): void => undefined } as { answer: (event?: ExchangeEvent) => void };
  worker.takes = (reply) => {
    holding.answer = (event = textOf('done')) => reply(event);
  };
  return holding;
}

const begin = (client: ClientUnderTest, code: string, more: JsonObject = {}): ReturnType<ClientUnderTest['ask']> =>
  client.ask('tools/call', { name: coderNames.run, arguments: { code }, ...more });

/** Begins a script of which a server holds a call. @returns its task. */
async function begun(worker: WorkerUnderTest, client: ClientUnderTest, more: JsonObject = {}): Promise<JsonObject> {
  const answered = begin(client, slow, client.key === undefined ? more : { task: { ttl: 60_000 }, ...more });
  await worker.asked.until(1);
  const { result = {} } = await worker.turning(answered);
  return client.key === undefined ? result : (result['task'] as JsonObject);
}

/** The deadlines of a wheel that are at least half a day away. */
function longDeadlines(wheel: DeadlineWheel): ReadonlySet<Deadline> {
  const open = new Set<Deadline>();
  const schedule = wheel.schedule.bind(wheel);
  wheel.schedule = (delayMs, callback) => {
    const made = schedule(delayMs, callback);
    if (delayMs < day / 2) return made;
    const counted: Deadline = {
      extend: (more) => made.extend(more),
      cancel: () => {
        open.delete(counted);
        made.cancel();
      },
    };
    open.add(counted);
    return counted;
  };
  return open;
}

/** The state of a task once it is another than before. */
async function stateAfter(client: ClientUnderTest, { taskId, status }: JsonObject): Promise<JsonObject> {
  for (;;) {
    const { result = {} } = await client.ask('tasks/get', { taskId });
    if (result['status'] !== status) return result;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('is offered to clients of both eras', async () => {
  const worker = await started();
  const older = await worker.open(latestLegacyRevision);
  expect(older.greeting['capabilities']).toMatchObject({
    tasks: { requests: { tools: { call: {} } }, cancel: {}, list: {} },
  });
  const { result } = await older.ask('tools/list');
  expect(result?.['tools']).toContainEqual(
    expect.objectContaining({ name: coderNames.run, execution: { taskSupport: 'optional' } }),
  );
  const newer = await worker.open(latestModernRevision);
  expect(newer.greeting['capabilities']).toMatchObject(extension);
  expect(JSON.stringify((await newer.ask('tools/list')).result)).not.toContain('taskSupport');
});

it('a client of 2025-11-25 gets a task at once, its progress, and its result', async () => {
  const worker = await started();
  const client = await worker.open(latestLegacyRevision);
  const server = held(worker);
  const task = await begun(worker, client, { _meta: { progressToken: 'p' } });
  expect(task).toMatchObject({ status: 'working', ttl: 60_000, pollInterval: expect.any(Number) as number });
  server.answer({ kind: 'progress', progress: 1, message: 'half' });
  expect(await client.pushed.untilSome(({ method }) => method === 'notifications/progress')).toMatchObject({
    params: { progressToken: 'p', progress: 1, message: 'half' },
  });
  expect(await client.ask('tasks/get', { taskId: task['taskId'] })).toMatchObject({
    result: { status: 'working', statusMessage: 'half' },
  });
  const awaited = client.ask('tasks/result', { taskId: task['taskId'] });
  server.answer();
  const { result = {} } = await awaited;
  expect(textIn(result)).toBe('done');
  expect(result['_meta']).toEqual({ 'io.modelcontextprotocol/related-task': { taskId: task['taskId'] } });
  expect(await client.ask('tasks/get', { taskId: task['taskId'] })).toMatchObject({ result: { status: 'completed' } });
  expect(await client.ask('tasks/list')).toMatchObject({ result: { tasks: [{ status: 'completed' }] } });
  expect(await client.pushed.untilSome(({ method }) => method === 'notifications/tasks/status')).toMatchObject({
    params: { taskId: task['taskId'], status: 'completed' },
  });
});

it('a client of the extension gets a task for a script that takes long, and the result of another one at once', async () => {
  const worker = await started();
  const client = await worker.open(latestModernRevision, extension);
  worker.outcome = textOf('quick');
  const { result: first = {} } = await begin(client, slow);
  // On a machine that stalls, no script takes less than a second.
  const quick = first['resultType'] === 'task' ? (await stateAfter(client, first))['result'] : first;
  expect(textIn(quick as JsonObject)).toBe('quick');
  const server = held(worker);
  const answered = begin(client, slow);
  await worker.asked.until(2);
  const { result: task = {} } = await worker.turning(answered);
  expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: expect.any(Number) as number });
  server.answer();
  const ended = await stateAfter(client, task);
  expect(ended).toMatchObject({ taskId: task['taskId'], status: 'completed' });
  expect(textIn(ended['result'] as JsonObject)).toBe('done');
});

it.each([
  [latestLegacyRevision, {}],
  [latestModernRevision, extension],
])('ends with its calls when a client of %s cancels it', async (revision, capabilities) => {
  const worker = await started();
  const client = await worker.open(revision, capabilities);
  held(worker);
  const task = await begun(worker, client);
  const { result } = await client.ask('tasks/cancel', { taskId: task['taskId'] });
  expect(result).toMatchObject(client.key === undefined ? { resultType: 'complete' } : { status: 'cancelled' });
  await worker.controls.untilSome(({ kind }) => kind === 'cancel');
  expect(await client.ask('tasks/get', { taskId: task['taskId'] })).toMatchObject({ result: { status: 'cancelled' } });
  expect(events.filter(({ target }) => target === coderNames.run)).toMatchObject([{ outcome: 'cancelled' }]);
  const again = await client.ask('tasks/cancel', { taskId: task['taskId'] });
  if (client.key === undefined) expect(again.result).toMatchObject({ resultType: 'complete' });
  else {
    expect(again.error?.data).toMatchObject({ reason: 'params.invalid' });
    expect((await client.ask('tasks/result', { taskId: task['taskId'] })).error?.message).toContain('was cancelled');
  }
});

const question: ExchangeEvent = {
  kind: 'input',
  input: 1,
  method: 'elicitation/create',
  params: { message: 'sure?', requestedSchema: { type: 'object', properties: {} } },
};

it('a client of 2025-11-25 is asked on the stream of tasks/result, whenever that comes', async () => {
  const worker = await started();
  const client = await worker.open(latestLegacyRevision, { elicitation: { form: {} } });
  const server = held(worker);
  const { taskId } = await begun(worker, client);
  server.answer(question);
  expect(await stateAfter(client, { taskId, status: 'working' })).toMatchObject({ status: 'input_required' });
  const awaited = client.ask('tasks/result', { taskId });
  const { id, params } = await client.asked.untilSome(({ method }) => method === 'elicitation/create');
  expect(params).toMatchObject({ message: 'sure?', _meta: { 'io.modelcontextprotocol/related-task': { taskId } } });
  client.say({ kind: 'response', message: { jsonrpc: '2.0', id: id as number, result: { action: 'decline' } } });
  expect(await worker.controls.untilSome(({ kind }) => kind === 'answer')).toMatchObject({
    answer: { result: { action: 'decline' } },
  });
  expect(await client.ask('tasks/get', { taskId })).toMatchObject({ result: { status: 'working' } });
  server.answer();
  expect(textIn((await awaited).result ?? {})).toBe('done');
});

describe('a client of 2025-11-25 that cancels a tasks/result', () => {
  const asking = async (): Promise<{
    readonly worker: WorkerUnderTest;
    readonly client: ClientUnderTest;
    readonly server: ReturnType<typeof held>;
    readonly taskId: unknown;
    readonly cancelLast: () => void;
  }> => {
    const worker = await started();
    const client = await worker.open(latestLegacyRevision, { elicitation: { form: {} } });
    const server = held(worker);
    const { taskId } = await begun(worker, client);
    const cancelLast = (): void => {
      const params = { requestId: client.lastId(), reason: 'later' };
      client.say({ kind: 'notification', message: { jsonrpc: '2.0', method: 'notifications/cancelled', params } });
    };
    return { worker, client, server, taskId, cancelLast };
  };
  const answer = (client: ClientUnderTest, { id }: JsonObject): void =>
    client.say({ kind: 'response', message: { jsonrpc: '2.0', id: id as number, result: { action: 'decline' } } });

  it('is asked on the stream of the next one', async () => {
    const { worker, client, server, taskId, cancelLast } = await asking();
    void client.ask('tasks/result', { taskId });
    cancelLast();
    server.answer(question);
    expect(await stateAfter(client, { taskId, status: 'working' })).toMatchObject({ status: 'input_required' });
    const awaited = client.ask('tasks/result', { taskId });
    answer(client, await client.asked.untilSome(({ method }) => method === 'elicitation/create'));
    await worker.controls.untilSome(({ kind }) => kind === 'answer');
    server.answer();
    expect(textIn((await awaited).result ?? {})).toBe('done');
  });

  it('is asked on the stream of another one, and may still answer what it was asked before', async () => {
    const { worker, client, server, taskId, cancelLast } = await asking();
    const awaited = client.ask('tasks/result', { taskId });
    void client.ask('tasks/result', { taskId });
    server.answer(question);
    const [before = {}] = await client.asked.until(1);
    cancelLast();
    const { id: requestId } = (await client.asked.until(2))[1] ?? {};
    answer(client, before);
    await worker.controls.untilSome(({ kind }) => kind === 'answer');
    const withdrawn = await client.asked.untilSome(({ method }) => method === 'notifications/cancelled');
    expect(withdrawn).toMatchObject({ params: { requestId } });
    server.answer();
    expect(textIn((await awaited).result ?? {})).toBe('done');
  });

  it('is asked as often as it does so', async () => {
    const { worker, client, server, taskId, cancelLast } = await asking();
    server.answer(question);
    for (let count = 1; count <= 300; count += 1) {
      void client.ask('tasks/result', { taskId });
      await client.asked.until(count);
      cancelLast();
    }
    answer(client, client.asked.values.at(-1) ?? {});
    expect(await worker.controls.untilSome(({ kind }) => kind === 'answer')).toMatchObject({
      answer: { result: { action: 'decline' } },
    });
    server.answer();
  });
});

it('a client of the extension finds questions in the state, and answers them with tasks/update', async () => {
  const worker = await started();
  const client = await worker.open(latestModernRevision, { ...extension, elicitation: { form: {} } });
  const server = held(worker);
  const { taskId } = await begun(worker, client);
  server.answer(question);
  const { status, inputRequests } = await stateAfter(client, { taskId, status: 'working' });
  expect(status).toBe('input_required');
  const [[key, asked] = ['']] = Object.entries(inputRequests as JsonObject);
  expect(asked).toMatchObject({ method: 'elicitation/create', params: { message: 'sure?' } });
  expect(await client.ask('tasks/update', { taskId, inputResponses: { [key]: 'yes' } })).toMatchObject({
    error: { data: { reason: 'params.invalid' } },
  });
  await client.ask('tasks/update', { taskId, inputResponses: { [key]: { action: 'accept' } } });
  expect(await worker.controls.untilSome(({ kind }) => kind === 'answer')).toMatchObject({
    answer: { result: { action: 'accept' } },
  });
  server.answer();
  expect(await stateAfter(client, { taskId, status: 'working' })).toMatchObject({ status: 'completed' });
});

describe('two calls of one script that need an approval', () => {
  const rules = [
    { id: 'soon', who: 'everyone', ask: ['crm/plain'], args: { of: { in: ['soon'] } }, expires: '1m' },
    { id: 'late', who: 'everyone', ask: ['crm/plain'] },
  ];
  const settings = { auth: 'none', access: { rules } };
  const both = `const got = await Promise.allSettled(['soon', 'late'].map((of) => servers.crm.plain({ of })));
    return got.map(({ status }) => status).join(' ');`;
  const forms = { elicitation: { form: {} } };
  const approved = { action: 'accept', content: { approve: true } };

  /** Both wait for their user. */
  async function bothWait(): Promise<void> {
    while (events.filter(({ name }) => name === 'approval.asked').length < 2)
      await new Promise((resolve) => setImmediate(resolve));
  }

  /** The keys of the questions, by the argument that they show. */
  function keysOf(inputRequests: unknown): readonly string[] {
    const entries = Object.entries(inputRequests as JsonObject);
    return ['soon', 'late'].flatMap((of) =>
      entries.filter(([, asked]) => JSON.stringify(asked).includes(of)).map(([key]) => key),
    );
  }

  it('are answered one after the other with tasks/update', async () => {
    const worker = await started(settings);
    const client = await worker.open(latestModernRevision, { ...extension, ...forms });
    const answered = begin(client, both);
    await bothWait();
    const { result: { taskId } = {} } = await worker.turning(answered);
    const { result } = await client.ask('tasks/get', { taskId });
    const [soon = '', late = ''] = keysOf(result?.['inputRequests']);
    await client.ask('tasks/update', { taskId, inputResponses: { [soon]: approved } });
    await worker.asked.until(1);
    const left = await client.ask('tasks/get', { taskId });
    expect(left).toMatchObject({ result: { status: 'input_required' } });
    expect(keysOf(left.result?.['inputRequests'])).toEqual([late]);
    await client.ask('tasks/update', { taskId, inputResponses: { [late]: approved } });
    await worker.asked.until(2);
    const ended = await stateAfter(client, { taskId, status: 'working' });
    expect(textIn(ended['result'] as JsonObject)).toBe('fulfilled fulfilled');
  });

  it('are both asked on the stream of tasks/result', async () => {
    const worker = await started(settings);
    const client = await worker.open(latestLegacyRevision, forms);
    const { result: { task } = {} } = await begin(client, both, { task: {} });
    await bothWait();
    const awaited = client.ask('tasks/result', { taskId: (task as JsonObject)['taskId'] });
    for (const { id } of await client.asked.until(2))
      client.say({ kind: 'response', message: { jsonrpc: '2.0', id: id as number, result: approved } });
    expect(textIn((await awaited).result ?? {})).toBe('fulfilled fulfilled');
  });

  it('lose only the question that has expired, without a task too', async () => {
    const worker = await started(settings);
    const client = await worker.open(latestModernRevision, forms);
    const { result = {} } = await begin(client, both);
    await bothWait();
    worker.turn(61_000);
    const [late = ''] = keysOf(result['inputRequests']).slice(-1);
    const { requestState } = result;
    const { result: done = {} } = await begin(client, both, { requestState, inputResponses: { [late]: approved } });
    expect(textIn(done)).toBe('rejected fulfilled');
  });
});

it('is for its own session alone, and ends with that', async () => {
  const worker = await started();
  const [client, other] = [await worker.open(latestLegacyRevision), await worker.open(latestLegacyRevision)];
  held(worker);
  const { taskId } = await begun(worker, client);
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
    expect(await other.ask(method, { taskId })).toMatchObject({ error: { data: { reason: 'task.unknown' } } });
  expect(await other.ask('tasks/list')).toMatchObject({ result: { tasks: [] } });
  client.end();
  await worker.controls.untilSome(({ kind }) => kind === 'cancel');
});

it('fails when another worker has taken its session over', async () => {
  const worker = await started();
  const client = await worker.open(latestLegacyRevision);
  held(worker);
  await begun(worker, client);
  const records = await worker.bus.keyValue(sessionsBucket);
  const key = client.key as SessionKey;
  await expect.poll(() => records.get(key)).toBeDefined();
  const { value, revision } = (await records.get(key)) as { value: SessionRecord; revision: number };
  await records.update(key, { ...value, worker: newWorkerId('session') }, revision);
  worker.bus.publish(subjects.sessionTaken(value.worker), { key });
  await worker.controls.untilSome(({ kind }) => kind === 'cancel');
  expect(await client.pushed.untilSome(({ method }) => method === 'notifications/tasks/status')).toMatchObject({
    params: { status: 'failed', statusMessage: expect.stringContaining('gateway') as string },
  });
});

it('fails before its worker waits for other requests, when that stops; the request that awaits it is answered', async () => {
  const worker = await started({}, (onFault) => new SharedBus(onFault));
  const client = await worker.open(latestLegacyRevision);
  held(worker);
  const { taskId } = await begun(worker, client);
  const server = held(worker);
  const plain = begin(client, slow);
  await worker.asked.until(2);
  const awaited = client.ask('tasks/result', { taskId });
  await client.ask('tasks/get', { taskId });
  const stopped = worker.stop();
  up = undefined;
  await worker.controls.untilSome(({ kind }) => kind === 'cancel');
  expect((await awaited).error?.data).toMatchObject({ reason: 'code.lost' });
  server.answer();
  expect(textIn((await plain).result ?? {})).toBe('done');
  await worker.turning(stopped);
});

it('is for its own caller alone', async () => {
  const worker = await started({ auth: { keys: { file: 'keys.yaml' } } });
  const [ann, bob] = [
    await worker.open(latestModernRevision, extension, callerOf('ann')),
    await worker.open(latestModernRevision, extension, callerOf('bob')),
  ];
  const server = held(worker);
  const task = await begun(worker, ann);
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    expect(await bob.ask(method, { taskId: task['taskId'] })).toMatchObject({
      error: { data: { reason: 'task.unknown' } },
    });
  server.answer();
  expect(await stateAfter(ann, task)).toMatchObject({ status: 'completed' });
});

it.each([
  ['before it is answered with the task', false],
  ['after that', true],
])('ends its calls that its caller may not make any more, %s', async (_when, isAnswered) => {
  const worker = await started();
  const client = await worker.open(latestModernRevision, extension);
  const blocks = await Blocks.open(worker.bus);
  held(worker);
  const answered = begin(client, `try { ${slow} } catch (error) { return error.reason; }`);
  await worker.asked.until(1);
  if (isAnswered) await worker.turning(answered);
  await blocks.add({ kind: 'server', name: parseServerName('crm'), by: 'test', at: 0 });
  await worker.controls.untilSome(({ kind }) => kind === 'cancel');
  const { result = {} } = await worker.turning(answered);
  const state = async (): Promise<JsonObject> =>
    (await client.ask('tasks/get', { taskId: result['taskId'] })).result ?? {};
  const isTask = result['resultType'] === 'task';
  if (isTask) {
    // Meanwhile it is out of reach, like what it has called.
    await blocks.remove('server', 'crm');
    await expect.poll(async () => (await state())['status']).toBe('completed');
  }
  expect(textIn((isTask ? (await state())['result'] : result) as JsonObject)).toBe('call.blocked');
  blocks.close();
});

it('hears the progress of a tool that runs as a task at its server', async () => {
  const worker = await started();
  await worker.put('crm', {
    revision: latestLegacyRevision,
    capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
    lists: {
      ...noLists,
      tools: [{ name: 'plain', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }],
    },
  });
  const client = await worker.open(latestLegacyRevision);
  const server = held(worker);
  const { taskId } = await begun(worker, client, { _meta: { progressToken: 'p' } });
  const ofServer = { taskId: 't1', status: 'working', createdAt: '2026-01-01T00:00:00Z', ttl: null };
  const result = held(worker);
  server.answer({ kind: 'result', result: { task: ofServer } });
  await worker.asked.until(2);
  worker.notice({
    kind: 'task-progress',
    server: parseServerName('crm'),
    taskId: 't1',
    tool: 'plain',
    progress: { kind: 'progress', progress: 1, message: 'half' },
    sessions: [client.key as SessionKey],
  });
  expect(await client.pushed.untilSome(({ method }) => method === 'notifications/progress')).toMatchObject({
    params: { progressToken: 'p', message: 'half' },
  });
  result.answer();
  expect(textIn((await client.ask('tasks/result', { taskId })).result ?? {})).toBe('done');
});

it('is refused without a task while as many scripts run as its caller may have', async () => {
  const worker = await started({ code: { runsPerCaller: 1 } });
  const client = await worker.open(latestLegacyRevision);
  const server = held(worker);
  const task = await begun(worker, client);
  expect(await begin(client, slow, { task: {} })).toMatchObject({ error: { data: { reason: 'code.busy' } } });
  expect(await client.ask('tasks/list')).toMatchObject({ result: { tasks: [{ taskId: task['taskId'] }] } });
  server.answer();
  expect(textIn((await client.ask('tasks/result', { taskId: task['taskId'] })).result ?? {})).toBe('done');
});

it('has failed for a client of 2025-11-25 if its script has, and is completed in the extension', async () => {
  const worker = await started();
  const fails = `await servers.crm.plain(); throw new Error('no');`;
  const older = await worker.open(latestLegacyRevision);
  const { result } = await begin(older, fails, { task: {} });
  const task = result?.['task'] as JsonObject;
  expect((await older.ask('tasks/result', { taskId: task['taskId'] })).result).toMatchObject({ isError: true });
  expect(await older.ask('tasks/get', { taskId: task['taskId'] })).toMatchObject({ result: { status: 'failed' } });
  const newer = await worker.open(latestModernRevision, extension);
  const server = held(worker);
  const answered = begin(newer, fails);
  await worker.asked.until(2);
  const { result: taken = {} } = await worker.turning(answered);
  server.answer();
  expect(await stateAfter(newer, taken)).toMatchObject({ status: 'completed', result: { isError: true } });
});

it('keeps the last tasks of a caller, and those that run, and no deadlines of others', async () => {
  const worker = await started();
  const client = await worker.open(latestLegacyRevision);
  const deadlines = longDeadlines(worker.wheel);
  const server = held(worker);
  const first = await begun(worker, client);
  const ids: unknown[] = [];
  for (let count = 0; count < 18; count += 1) {
    const { result } = await begin(client, `return ${count};`, { task: { ttl: day } });
    const { taskId } = result?.['task'] as JsonObject;
    ids.push(taskId);
    await client.ask('tasks/result', { taskId });
  }
  const { result } = await client.ask('tasks/list');
  expect((result?.['tasks'] as JsonObject[]).map(({ taskId }) => taskId)).toEqual([first['taskId'], ...ids.slice(-16)]);
  const awaited = client.ask('tasks/result', { taskId: first['taskId'] });
  server.answer();
  // It began first, and ends last.
  expect(textIn((await awaited).result ?? {})).toBe('done');
  expect((await client.ask('tasks/get', { taskId: ids.at(-16) })).error?.data).toMatchObject({
    reason: 'task.unknown',
  });
  // The first one has a short time to live.
  expect(deadlines.size).toBe(15);
  client.end();
  await expect.poll(() => deadlines.size).toBe(0);
});

describe('a task of another worker', () => {
  const [here, there] = [newWorkerId('session'), newWorkerId('session')];
  const id = newTaskId();
  const owner = 'a session' as SessionKey;
  const place = { worker: there, connection: '', isProgram: false };
  const asked = (
    method: OwnTaskRequest['method'],
    by: Pick<OwnTaskRequest, 'session' | 'gone'>,
  ): ReturnType<ScriptTasks['serve']> =>
    new ScriptTasks(here).serve({
      method,
      params: { taskId: 'public' },
      task: { server: ownServer, id, owner, place, tool: coderNames.run },
      endpoint: rootEndpoint,
      mayHave: () => true,
      ...by,
    });
  const failed = { result: { taskId: 'public', status: 'failed', createdAt: expect.stringMatching(/^20/) as string } };

  it('is there, as far as a client without a session knows', () => {
    expect(asked('tasks/get', { session: undefined })).toEqual({ elsewhere: there });
  });

  it('has failed once that worker is gone, and is not run again', () => {
    const gone = { session: undefined, gone: there };
    expect(asked('tasks/get', gone)).toMatchObject({
      result: { ...failed.result, error: { data: { reason: 'code.lost' } } },
    });
    expect(asked('tasks/update', gone)).toMatchObject({ fault: { reason: 'code.lost' } });
  });

  it('has failed for its session, which is here now', () => {
    expect(asked('tasks/get', { session: owner })).toMatchObject(failed);
    expect(asked('tasks/result', { session: owner })).toMatchObject({ fault: { reason: 'code.lost' } });
  });
});
