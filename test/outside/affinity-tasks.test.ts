/** Two backend workers, each with its own program of one server: a task is in one of them, and every request for it must reach that one. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { ModernClient } from '../support/modern-client.ts';
import { end, fixturePath, type RunningProcess } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';

const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
/** So many requests would not all reach the right worker by chance. */
const many = Array.from({ length: 16 }, (_, index) => index);

describe('tasks of programs of two backend workers', () => {
  let folder: string;
  let gateway: GatewayUnderTest;
  let second: RunningProcess;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-affinity-'));
    const keeper = (name: string, revision: string): object => ({
      command: 'node',
      args: [fixturePath('keeper-stdio'), revision, name, join(folder, 'notes')],
    });
    gateway = await startGateway('nats', {
      mcpServers: { older: keeper('older', '2025-11-25'), newer: keeper('newer', '2026-07-28') },
    });
    [second] = await Promise.all([gateway.startPart('backend'), gateway.startPart('session')]);
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('older__task') && names.includes('newer__job'));
    await Promise.all(['older', 'newer'].map((name) => second.line(new RegExp(`"server":"${name}".*server is up`))));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const taskOf = ({ last }: Answer): string => {
    const { task, taskId } = last.result ?? {};
    return String(isObject(task) ? task['taskId'] : taskId);
  };
  const create = (client: RawClient, marker: string): Promise<Answer> =>
    client.request('tools/call', { name: 'older__task', arguments: { marker }, task: { ttl: 60_000 } });
  const resultOf = (answer: Answer): JsonObject | undefined => answer.last.result;

  it('a session whose first calls come at the same time reaches each of its tasks, and lists all of them', async () => {
    for (const round of many.slice(0, 4)) {
      using client = await RawClient.open(gateway.url);
      const created = await Promise.all(many.slice(0, 4).map((index) => create(client, `m-${round}-${index}`)));
      for (const [index, answer] of created.entries()) {
        const taskId = taskOf(answer);
        expect(resultOf(await client.request('tasks/get', { taskId }))).toMatchObject({ taskId });
        expect(JSON.stringify(resultOf(await client.request('tasks/result', { taskId })))).toContain(
          `task of m-${round}-${index}`,
        );
      }
      const { tasks: listed } = resultOf(await client.request('tasks/list')) as {
        readonly tasks: readonly JsonObject[];
      };
      expect(new Set(listed.map(({ taskId }) => taskId))).toEqual(new Set(created.map(taskOf)));
    }
  });

  it('a session finds the task of another session if it is given its id', async () => {
    using owner = await RawClient.open(gateway.url);
    const taskId = taskOf(await create(owner, 'm-handed-1'));
    for (const _ of many.slice(0, 8)) {
      using other = await RawClient.open(gateway.url);
      await other.callTool('older__echo', { marker: 'm-other-1' });
      expect(resultOf(await other.request('tasks/get', { taskId }))).toMatchObject({ taskId });
    }
  });

  it('a client without a session finds its tasks, answers their questions, and gets their results', async () => {
    using client = new ModernClient(gateway.url, tasks);
    for (const index of many) {
      const newer = taskOf(await client.call('newer__job', { arguments: { marker: `m-newer-${index}` } }));
      const asked = resultOf(await client.request('tasks/get', { taskId: newer })) as {
        readonly inputRequests: JsonObject;
      };
      expect(Object.keys(asked.inputRequests)).toEqual(['wanted']);
      await client.request('tasks/update', {
        taskId: newer,
        inputResponses: { wanted: { action: 'accept', content: { answer: `m-newer-${index}` } } },
      });
      expect(JSON.stringify(resultOf(await client.request('tasks/get', { taskId: newer })))).toContain(
        `job of m-newer-${index}`,
      );
    }
  });

  it('a task outlives its session worker: clients of both revisions find it, and get its result', async () => {
    const isSession = ({ child: { spawnargs } }: RunningProcess): boolean => spawnargs.includes('session');
    const before = gateway.processes.filter(isSession);
    using older = await RawClient.open(gateway.url);
    using newer = new ModernClient(gateway.url, tasks);
    const olderTask = taskOf(await create(older, 'm-outlives-1'));
    const newerTask = taskOf(await newer.call('newer__job', { arguments: { marker: 'm-outlives-2' } }));
    await gateway.startPart('session');
    await gateway.lose(...before);
    expect(resultOf(await older.request('tasks/get', { taskId: olderTask }))).toMatchObject({ taskId: olderTask });
    const result = await older.request('tasks/result', { taskId: olderTask });
    expect(JSON.stringify(resultOf(result))).toContain('task of m-outlives-1');
    await newer.request('tasks/update', {
      taskId: newerTask,
      inputResponses: { wanted: { action: 'accept', content: { answer: 'm-outlives-2' } } },
    });
    const job = await newer.request('tasks/get', { taskId: newerTask });
    expect(JSON.stringify(resultOf(job))).toContain('job of m-outlives-2');
  });

  it('a task whose program has ended is lost, and a task with the same id in the restarted program is not confused with it', async () => {
    using session = await RawClient.open(gateway.url);
    const old = taskOf(await create(session, 'm-ended-1'));
    const notes = (await readFile(join(folder, 'notes'), 'utf8'))
      .split('\n')
      .filter((line) => line.includes('"older/'))
      .map((line) => JSON.parse(line) as { readonly connection: string });
    for (const connection of new Set(notes.map((note) => note.connection)))
      process.kill(Number(connection.split('/')[1]));
    // Ids of this server are sequential, so soon there is another task with the id of the old one.
    await expect.poll(async () => (await create(session, 'm-again-1')).last.error?.data?.['reason']).toBeUndefined();
    await Promise.all(many.map((index) => create(session, `m-again-${index + 2}`)));
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect((await session.request(method, { taskId: old })).last.error).toMatchObject({
        data: { reason: 'task.lost', server: 'older' },
      });
    }
  });

  it('a request for a task whose worker is gone gets task.lost, and never another task of the same id', async () => {
    using client = new ModernClient(gateway.url, tasks);
    const ids = await Promise.all(
      many.map(async (index) => taskOf(await client.call('newer__job', { arguments: { marker: `m-lost-${index}` } }))),
    );
    using session = await RawClient.open(gateway.url);
    const own = await Promise.all(many.map(async (index) => taskOf(await create(session, `m-own-${index}`))));
    await gateway.startPart('backend');
    await Promise.all([gateway.lose(gateway.backend), end(second, 'SIGTERM')]);
    for (const [index, taskId] of [...ids, ...own].entries()) {
      const ask = (): Promise<Answer> =>
        index < ids.length ? client.request('tasks/get', { taskId }) : session.request('tasks/get', { taskId });
      await expect.poll(async () => (await ask()).last.error?.data?.['reason']).toBe('task.lost');
    }
  });
});
