/** No request of clients reaches a blocked server, by any method. A session worker on a bus in memory, before two servers. */
import { Blocks } from '@omnibus/bus';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  parseServerName,
  tasksExtension,
  type JsonObject,
  type ServerName,
} from '@omnibus/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callerOf, WorkerUnderTest } from './worker-under-test.ts';

const servers = ['open', 'shut'];
const shut = parseServerName('shut');
const capabilities = {
  tools: {},
  prompts: {},
  resources: { subscribe: true },
  completions: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { 'io.modelcontextprotocol/skills': {}, 'example.org/own': {} },
};
const ann = callerOf('ann');

let worker: WorkerUnderTest;
let blocks: Blocks;

beforeEach(async () => {
  worker = await WorkerUnderTest.start(servers);
  for (const server of servers) {
    await worker.put(server, {
      revision: latestLegacyRevision,
      capabilities,
      lists: {
        ...noLists,
        tools: [{ name: 'run', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
        prompts: [{ name: 'ask' }],
        resources: [{ uri: `${server}://one`, name: 'one' }],
      },
    });
  }
  blocks = await Blocks.open(worker.bus);
});

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  blocks.close();
  await worker.stop();
});

/** Lets messages on the bus arrive. */
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** Resolves when the worker has heard of it, as far as it reads the same bus. */
async function block(name: ServerName): Promise<void> {
  const heard = new Promise<void>((resolve) => {
    blocks.onChanged((added) => {
      if (added?.name === name) resolve();
    });
  });
  await blocks.add({ kind: 'server', name, by: 'test', at: 0 });
  await heard;
  await turn();
}

const outcomeOf = async (
  answering: Promise<{ readonly error?: { readonly data?: JsonObject }; readonly result?: JsonObject }>,
): Promise<unknown> => {
  const { error } = await answering;
  return error === undefined ? 'answered' : error.data?.['reason'];
};

it('is refused by every method that names something of it, whether or not the method is charged for', async () => {
  const { ask } = await worker.open(latestLegacyRevision, { tasks: {} }, ann);
  worker.outcome = {
    kind: 'result',
    result: { task: { taskId: 'one', status: 'working', createdAt: 'now', lastUpdatedAt: 'now', ttl: 1_000 } },
  };
  const started = (await ask('tools/call', { name: 'shut__run', arguments: {}, task: {} })).result?.[
    'task'
  ] as JsonObject;
  worker.reached.length = 0;
  await block(shut);
  const asked: readonly (readonly [string, JsonObject])[] = [
    ['tools/call', { name: 'shut__run' }],
    ['prompts/get', { name: 'shut__ask' }],
    ['resources/read', { uri: 'shut://one' }],
    ['resources/subscribe', { uri: 'shut://one' }],
    ['resources/unsubscribe', { uri: 'shut://one' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'shut__ask' }, argument: { name: 'a', value: '' } }],
    ['tasks/get', { taskId: started['taskId'] }],
    ['tasks/result', { taskId: started['taskId'] }],
    ['tasks/cancel', { taskId: started['taskId'] }],
  ];
  const outcomes: unknown[] = [];
  for (const [method, params] of asked) outcomes.push([method, await outcomeOf(ask(method, params))]);
  expect(outcomes).toEqual(asked.map(([method]) => [method, 'call.blocked']));
  expect(worker.reached).toEqual([]);
});

it('is left out where several are asked, and said to be blocked where no other is left', async () => {
  const { ask } = await worker.open(latestLegacyRevision, { tasks: {} }, ann);
  await block(shut);
  worker.outcome = { kind: 'error', error: { code: -32_002, message: 'not here' } };
  await ask('resources/read', { uri: 'nobody://knows' });
  let cursor: unknown;
  for (let page = 0; page < 3; page += 1)
    cursor = (await ask('tasks/list', cursor === undefined ? {} : { cursor })).result?.['nextCursor'];
  expect(new Set(worker.reached)).toEqual(new Set(['open']));
  await block(parseServerName('open'));
  worker.reached.length = 0;
  expect([
    await outcomeOf(ask('resources/read', { uri: 'nobody://knows' })),
    await outcomeOf(ask('tasks/list')),
  ]).toEqual(['call.blocked', 'call.blocked']);
  expect(worker.reached).toEqual([]);
});

it('is not asked next by a search that began before it was blocked', async () => {
  const { ask } = await worker.open(latestLegacyRevision, {}, ann);
  const asked = Promise.withResolvers<() => void>();
  worker.takes = (reply) =>
    asked.resolve(() => reply({ kind: 'error', error: { code: -32_002, message: 'not here' } }));
  const answer = ask('resources/read', { uri: 'nobody://knows' });
  const goOn = await asked.promise;
  const other = worker.reached[0] === 'open' ? shut : parseServerName('open');
  await block(other);
  goOn();
  await answer;
  expect(worker.reached).not.toContain(other);
});

it('tells a session nothing of its resources, and is not subscribed to again', async () => {
  const client = await worker.open(latestLegacyRevision, {}, ann);
  worker.outcome = { kind: 'result', result: {} };
  for (const server of servers) await client.ask('resources/subscribe', { uri: `${server}://one` });
  await block(shut);
  worker.reached.length = 0;
  const sessions = client.key === undefined ? [] : [client.key];
  for (const server of ['shut', 'open'].map(parseServerName)) worker.notice({ kind: 'adapter-changed', server });
  await expect.poll(() => worker.reached).toContain('open');
  for (const server of ['shut', 'open'].map(parseServerName))
    worker.notice({ kind: 'resource-updated', server, uri: `${server}://one`, sessions });
  await client.pushed.untilSome(({ params }) => (params as JsonObject | undefined)?.['uri'] === 'open://one');
  expect(worker.reached).toEqual(['open']);
  expect(JSON.stringify(client.pushed.values)).not.toContain('shut://one');
});

it('is not asked for its tasks by clients without a session, and who waits for one is told', async () => {
  const { ask } = await worker.open(latestModernRevision, { extensions: { [tasksExtension]: {} } }, ann);
  worker.outcome = {
    kind: 'result',
    result: { task: { taskId: 'one', status: 'working', createdAt: 'now', lastUpdatedAt: 'now', ttl: 1_000 } },
  };
  const taskId = (await ask('tools/call', { name: 'shut__run', arguments: {} })).result?.['taskId'];
  const asked = Promise.withResolvers<undefined>();
  worker.takes = () => asked.resolve(undefined);
  const waiting = outcomeOf(ask('tasks/get', { taskId }));
  await asked.promise;
  await block(shut);
  expect(await waiting).toBe('call.blocked');
  worker.reached.length = 0;
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    expect(await outcomeOf(ask(method, { taskId }))).toBe('call.blocked');
  expect(worker.reached).toEqual([]);
});

it('is sent nothing new while it is paused, and what runs there goes on', async () => {
  const { ask } = await worker.open(latestLegacyRevision, { tasks: {} }, ann);
  worker.outcome = {
    kind: 'result',
    result: { task: { taskId: 'one', status: 'working', createdAt: 'now', lastUpdatedAt: 'now', ttl: 1_000 } },
  };
  const taskId = (
    (await ask('tools/call', { name: 'shut__run', arguments: {}, task: {} })).result?.['task'] as JsonObject
  )['taskId'];
  const taken = Promise.withResolvers<() => void>();
  worker.takes = (reply) => taken.resolve(() => reply({ kind: 'result', result: { content: [] } }));
  const running = ask('tools/call', { name: 'shut__run', arguments: {} });
  const finish = await taken.promise;
  const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
  blocks.onChanged(() => hear());
  await blocks.add({ kind: 'server', name: shut, by: 'test', at: 0, isPause: true, because: 'it is mended' });
  await heard;
  await turn();
  const { error } = await ask('tools/call', { name: 'shut__run', arguments: {} });
  expect(error).toMatchObject({
    message: expect.stringMatching(/paused the server "shut": it is mended/) as string,
    data: { reason: 'upstream.paused', retry: 'same' },
  });
  expect(await outcomeOf(ask('resources/subscribe', { uri: 'shut://one' }))).toBe('upstream.paused');
  finish();
  expect(await outcomeOf(running)).toBe('answered');
  worker.takes = undefined;
  worker.outcome = { kind: 'result', result: {} };
  expect(await outcomeOf(ask('tasks/cancel', { taskId }))).not.toBe('upstream.paused');
  expect(await outcomeOf(ask('tools/call', { name: 'open__run', arguments: {} }))).toBe('answered');
  expect(await blocks.remove('pause', shut)).toBe(true);
  expect(await blocks.remove('pause', shut)).toBe(false);
  await turn();
  expect(await outcomeOf(ask('tools/call', { name: 'shut__run', arguments: {} }))).toBe('answered');
});
