/** Tasks of an older server, as clients without a session see them. */
import { describe, expect, it } from 'vitest';
import { newWorkerId, type ExchangeEvent, type InputKey, type JsonObject, type TaskPlace } from '@omnibus/protocol';
import { accepted, holdTime, pass, question, RequestsUnderTest } from './requests-under-test.ts';

holdTime();

describe('tasks of an older server', () => {
  const task = (status: string): ExchangeEvent => ({
    kind: 'result',
    result: { taskId: 'task-1', status, createdAt: 'now', lastUpdatedAt: 'now', ttl: 60_000 },
  });

  /** A task that two programs of one server both call "task-1". */
  async function created(test: RequestsUnderTest): Promise<string> {
    const sent = test.call();
    await pass();
    test.asked.at(-1)?.reply({
      kind: 'result',
      result: { task: { taskId: 'task-1', status: 'working', createdAt: 'now', lastUpdatedAt: 'now', ttl: 60_000 } },
    });
    await pass();
    return sent.answer()?.['taskId'] as string;
  }

  /** The question of a task that needs something. */
  async function need(test: RequestsUnderTest, taskId: string, input: InputKey): Promise<string> {
    const sent = test.send('tasks/get', { taskId });
    await pass();
    test.asked.at(-1)?.reply(task('input_required'));
    await pass();
    test.asked.at(-1)?.reply(question(input));
    await pass();
    expect(sent.answer()?.['taskId']).toBe(taskId);
    return Object.keys(sent.answer()?.['inputRequests'] as JsonObject)[0] as string;
  }

  it("an update answers the questions of its own task, and no other's; keys cannot be guessed", async () => {
    const test = await RequestsUnderTest.start();
    const [mine, others] = [await created(test), await created(test)];
    expect(mine).not.toBe(others);
    const [myKey, othersKey] = [await need(test, mine, 1), await need(test, others, 2)];
    const guesses = [`${test.worker}.1`, `${test.worker}.2`, '1', '2', othersKey, `${othersKey.slice(0, -1)}A`];
    const attack = test.send('tasks/update', {
      taskId: mine,
      inputResponses: Object.fromEntries(guesses.map((key) => [key, accepted])),
    });
    await pass();
    expect([attack.answer()?.['resultType'], test.answers]).toEqual(['complete', []]);
    test.send('tasks/update', { taskId: mine, inputResponses: { [myKey]: accepted } });
    await pass();
    expect(test.answers.map(({ input }) => input)).toEqual([1]);
    test.send('tasks/update', { taskId: others, inputResponses: { [othersKey]: accepted } });
    await pass();
    expect(test.answers.map(({ input }) => input)).toEqual([1, 2]);
  });

  it('of one name at two programs are polled for the caller that created them', async () => {
    const test = await RequestsUnderTest.start();
    const first = test.call();
    await pass();
    const owner = test.asked.at(-1)?.command.context.session;
    test.asked.at(-1)?.reply({ kind: 'result', result: { task: { taskId: 'task-1', status: 'working' } } });
    await pass();
    await created(test);
    test.send('tasks/get', { taskId: first.answer()?.['taskId'] });
    await pass();
    expect(test.asked.at(-1)?.command).toMatchObject({ params: { taskId: 'task-1' }, context: { taskOwner: owner } });
  });

  it('are asked about where they are, under one id, whoever asks', async () => {
    const test = await RequestsUnderTest.start();
    const place: TaskPlace = { worker: newWorkerId('backend'), connection: 'run-1', isProgram: false };
    const first = test.call();
    await pass();
    test.asked.at(-1)?.reply({ kind: 'result', result: { task: { taskId: 'task-1', status: 'working' } }, place });
    await pass();
    const taskId = first.answer()?.['taskId'];
    const sent = test.send('tasks/get', { taskId }, '192.0.2.7');
    await pass();
    expect(test.asked.at(-1)?.command.context.taskPlace).toEqual(place);
    test.asked.at(-1)?.reply(task('working'));
    await pass();
    expect(sent.answer()?.['taskId']).toBe(taskId);
  });

  it('one bad answer of an update lets none of them through', async () => {
    const test = await RequestsUnderTest.start();
    const taskId = await created(test);
    const key = await need(test, taskId, 1);
    test.asked.at(-1)?.reply(question(2));
    await pass();
    const second = test.send('tasks/get', { taskId });
    await pass();
    test.asked.at(-1)?.reply(task('input_required'));
    await pass();
    const keys = Object.keys(second.answer()?.['inputRequests'] as JsonObject);
    expect(keys).toContain(key);
    const bad = test.send('tasks/update', {
      taskId,
      inputResponses: { [keys[0] as string]: accepted, [keys[1] as string]: 12 },
    });
    await pass();
    expect([bad.answer()?.['reason'], test.answers]).toEqual(['params.invalid', []]);
  });

  it('a client that goes away while it asks about one leaves nothing behind', async () => {
    const test = await RequestsUnderTest.start();
    const sent = test.send('tasks/get', { taskId: await created(test) });
    await pass();
    test.close(sent);
    await pass();
    expect([test.cancelled, await test.metric('omnibus_requests_without_session')]).toEqual([
      [test.asked.at(-1)?.command.exchange],
      0,
    ]);
  });

  it('whose state is asked for while its adapter is lost are asked for again', async () => {
    const test = await RequestsUnderTest.start();
    const sent = test.send('tasks/get', { taskId: await created(test) });
    await pass();
    const before = test.asked.length;
    test.loseAdapters();
    await pass(1_500);
    expect(test.asked.length).toBe(before + 1);
    test.asked.at(-1)?.reply(task('working'));
    await pass();
    expect(sent.answer()).toMatchObject({ status: 'working' });
  });
});
