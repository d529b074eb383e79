/** Requests about tasks of scripts by clients whose rights have changed since the script began. */
import { coderNames } from '@omnibus/catalog';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  parseEndpointName,
  tasksExtension,
  type ExchangeEvent,
  type JsonObject,
} from '@omnibus/protocol';
import { afterEach, expect, it } from 'vitest';
import { textOf } from '../../../answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from '../../../worker-under-test.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const extension = { extensions: { [tasksExtension]: {} } };

async function started(settings: object): Promise<WorkerUnderTest> {
  up = await WorkerUnderTest.start(['crm'], { listing: 'code', ...settings });
  await up.put('crm', { lists: { ...noLists, tools: [{ name: 'plain', inputSchema: { type: 'object' } }] } });
  return up;
}

const run = (client: ClientUnderTest, more: JsonObject = {}): ReturnType<ClientUnderTest['ask']> =>
  client.ask('tools/call', { name: coderNames.run, arguments: { code: 'return await servers.crm.plain();' }, ...more });

/** Begins a script whose call a server holds. @returns the id of its task, and a way to end it. */
async function begun(
  worker: WorkerUnderTest,
  client: ClientUnderTest,
): Promise<{ readonly taskId: unknown; readonly end: () => Promise<void> }> {
  let answer: (event: ExchangeEvent) => void = () => undefined;
  worker.takes = (reply) => {
    answer = reply;
  };
  const answered = run(client, client.key === undefined ? {} : { task: {} });
  await worker.asked.until(1);
  const { result = {} } = await worker.turning(answered);
  const { taskId } = client.key === undefined ? result : (result['task'] as JsonObject);
  const end = async (): Promise<void> => {
    answer(textOf('done'));
    while ((await client.ask('tasks/get', { taskId })).result?.['status'] !== 'completed')
      await new Promise((resolve) => setImmediate(resolve));
  };
  return { taskId, end };
}

const unknown = { error: { data: { reason: 'task.unknown' } } };

it.each([
  [latestLegacyRevision, {}, ['tasks/get', 'tasks/result', 'tasks/cancel']],
  [latestModernRevision, extension, ['tasks/get', 'tasks/update', 'tasks/cancel']],
])('does not exist for a client of %s that may not use its tools any more', async (revision, capabilities, methods) => {
  const worker = await started({});
  const client = await worker.open(revision, capabilities);
  const { taskId, end } = await begun(worker, client);
  await end();
  const rules = [
    { who: 'everyone', allow: '*' },
    { who: 'everyone', deny: 'crm/plain' },
  ];
  await worker.apply(['crm'], { listing: 'code', access: { rules } });
  for (const method of methods) expect(await client.ask(method, { taskId })).toMatchObject(unknown);
  if (client.key !== undefined) expect(await client.ask('tasks/list')).toMatchObject({ result: { tasks: [] } });
});

it('does not exist at another endpoint', async () => {
  const worker = await started({ auth: { keys: { file: 'keys.yaml' } }, profiles: { few: { listing: 'code' } } });
  const client = await worker.open(latestModernRevision, extension, callerOf('ann'));
  const { taskId, end } = await begun(worker, client);
  client.become(callerOf('ann', {}, parseEndpointName('few')));
  for (const method of ['tasks/get', 'tasks/cancel'])
    expect(await client.ask(method, { taskId })).toMatchObject(unknown);
  client.become(callerOf('ann'));
  await end();
});

it.each(['', null])('is in a list that is asked for with the cursor %j', async (cursor) => {
  const worker = await started({});
  const client = await worker.open(latestLegacyRevision);
  const { taskId, end } = await begun(worker, client);
  expect(await client.ask('tasks/list', { cursor })).toMatchObject({ result: { tasks: [{ taskId }] } });
  await end();
});

it('has the whole error of a script that was refused later', async () => {
  const rules = [{ id: 'one', what: [`omnibus/${coderNames.run}`], quota: '1/day' }];
  const worker = await started({ auth: { keys: { file: 'keys.yaml' } }, limits: { rules } });
  const client = await worker.open(latestLegacyRevision, {}, callerOf('ann'));
  await run(client);
  const { result } = await run(client, { task: {} });
  const plain = await run(client);
  expect(plain.error?.data).toMatchObject({ reason: 'limit.quota' });
  const { taskId } = result?.['task'] as JsonObject;
  const { error } = await client.ask('tasks/result', { taskId });
  expect(Object.keys(error?.data ?? {})).toEqual(Object.keys(plain.error?.data ?? {}));
  expect(error?.data).toMatchObject({ reason: 'limit.quota' });
});

it('is one refusal, however often a client reads the error of a script that was refused', async () => {
  const rules = [{ id: 'one', what: [`omnibus/${coderNames.run}`], quota: '1/day' }];
  const worker = await started({ auth: { keys: { file: 'keys.yaml' } }, limits: { rules } });
  const client = await worker.open(latestLegacyRevision, {}, callerOf('ann'));
  await run(client);
  const { result } = await run(client, { task: {} });
  const { taskId } = result?.['task'] as JsonObject;
  for (let count = 1; count <= 3; count += 1)
    expect((await client.ask('tasks/result', { taskId })).error?.data).toMatchObject({ reason: 'limit.quota' });
  expect(await worker.metrics.text()).toContain('omnibus_refusals_total{reason="limit.quota"} 1\n');
});
