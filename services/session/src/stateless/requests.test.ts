/** Requests without a session: whose is what, and who uses up whose room. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { subjects } from '@omnibus/bus';
import { newWorkerId, noLists, parseServerName, type CatalogRecord, type ExchangeEvent, type InputKey, type JsonObject, type ModernCommand, type ModernControl, type TaskPlace } from '@omnibus/protocol';
import { RequestsUnderTest, recordOf, type Asked, type Sent } from './requests-under-test.ts';

const question = (input: InputKey, message = 'Well?'): ExchangeEvent => ({ kind: 'input', input, method: 'elicitation/create', params: { message } });
const accepted: JsonObject = { action: 'accept', content: { yes: true } };
const done: ExchangeEvent = { kind: 'result', result: { content: [] } };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Lets time pass, and everything be delivered. */
async function pass(ms = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** A call whose server has asked something, and whose client was told. */
async function parked(test: RequestsUnderTest, origin?: string, args: JsonObject = {}): Promise<{ readonly sent: Sent; readonly asked: Asked; readonly state: unknown; readonly keys: readonly string[] }> {
  const sent = test.call(args, {}, origin);
  await pass();
  const asked = test.asked.at(-1) as Asked;
  asked.reply(question(test.asked.length));
  await pass(50);
  const { requestState, inputRequests = {} } = (sent.answer() ?? {}) as { readonly requestState?: string; readonly inputRequests?: JsonObject };
  return { sent, asked, state: requestState, keys: Object.keys(inputRequests) };
}

describe('calls that wait for their clients', () => {
  it('do not use up the room of those that run', async () => {
    const test = await RequestsUnderTest.start({ maxInFlightPerSession: 3 });
    for (let count = 0; count < 10; count += 1) expect((await parked(test)).state).toBeTypeOf('string');
    const other = test.call();
    await pass();
    test.asked.at(-1)?.reply(done);
    await pass();
    expect(other.answer()).toMatchObject({ resultType: 'complete' });
    expect([test.requests.parked, await test.metric('omnibus_kept_calls'), await test.metric('omnibus_requests_without_session')]).toEqual([10, 10, 0]);
  });

  it('of one client push out its own oldest, which is cancelled at its server, and never another\'s', async () => {
    const test = await RequestsUnderTest.start({ maxParkedPerClient: 3 });
    const others = await parked(test, '192.0.2.2');
    const mine = [];
    for (let count = 0; count < 5; count += 1) mine.push(await parked(test, '192.0.2.1', { count }));
    expect(test.cancelled).toEqual(mine.slice(0, 2).map(({ asked }) => asked.command.exchange));
    const lost = test.call({ count: 0 }, { requestState: mine[0]?.state, inputResponses: {} }, '192.0.2.1');
    const kept = test.call({}, { requestState: others.state, inputResponses: { [others.keys[0] as string]: accepted } }, '192.0.2.2');
    await pass();
    expect(lost.answer()).toMatchObject({ reason: 'state.lost' });
    others.asked.reply(done);
    await pass();
    expect(kept.answer()).toMatchObject({ resultType: 'complete' });
  });

  it('are refused, with the limit that is reached, where all are taken by others', async () => {
    const test = await RequestsUnderTest.start({ maxParked: 3 });
    for (let count = 0; count < 3; count += 1) await parked(test, `192.0.2.${count}`);
    const { sent, asked } = await parked(test, '192.0.2.9');
    expect(sent.answer()).toMatchObject({ reason: 'parked.limit', message: expect.stringContaining('limits.maxParked, 3') as string });
    expect(test.cancelled).toEqual([asked.command.exchange]);
    expect(await test.metric('omnibus_requests_without_session')).toBe(0);
  });

  it('are bounded in bytes too', async () => {
    const test = await RequestsUnderTest.start({ maxParkedBytes: 100_000 });
    const big = { text: 'x'.repeat(9_000) };
    for (let count = 0; count < 6; count += 1) await parked(test, '192.0.2.1', big);
    expect([test.cancelled.length, await test.metric('omnibus_kept_calls')]).toEqual([4, 2]);
    const { sent } = await parked(test, '192.0.2.2', { text: 'x'.repeat(30_000) });
    expect(sent.answer()).toMatchObject({ reason: 'parked.limit' });
    expect(await test.metric('omnibus_kept_calls')).toBe(2);
  });

  it('and those that ran after a round leave nothing when their time is over', async () => {
    const test = await RequestsUnderTest.start();
    const { state, keys, asked } = await parked(test);
    const again = test.call({}, { requestState: state, inputResponses: { [keys[0] as string]: accepted } });
    await pass();
    expect(await test.metric('omnibus_requests_without_session')).toBe(1);
    asked.reply(done);
    await pass();
    expect(again.answer()).toMatchObject({ resultType: 'complete' });
    expect([await test.metric('omnibus_requests_without_session'), await test.metric('omnibus_kept_calls')]).toEqual([0, 1]);
    await pass(61_000);
    expect([await test.metric('omnibus_kept_calls'), await test.metric('omnibus_kept_calls_bytes')]).toEqual([0, 0]);
  });

  it('come back later when as much runs as may, and their answers count then', async () => {
    const test = await RequestsUnderTest.start({ maxInFlightPerSession: 1 });
    const { state, keys, asked } = await parked(test);
    const running = test.call();
    await pass();
    const back = { requestState: state, inputResponses: { [keys[0] as string]: accepted } };
    const refused = test.call({}, back);
    await pass();
    expect([refused.answer(), test.answers.length]).toEqual([expect.objectContaining({ reason: 'request.limit' }), 0]);
    test.asked.at(-1)?.reply(done);
    await pass();
    expect(running.answer()).toMatchObject({ resultType: 'complete' });
    const again = test.call({}, back);
    await pass();
    expect(test.answers.length).toBe(1);
    asked.reply(done);
    await pass();
    expect(again.answer()).toMatchObject({ resultType: 'complete' });
  });

  it.each([['before', 'it comes back'], ['after', 'its server answers']])('tell a client how far they are that was away meanwhile, %s %s', async (when) => {
    const test = await RequestsUnderTest.start();
    const first = test.call({}, { _meta: { progressToken: 'first' } });
    await pass();
    const { reply } = test.asked[0] as Asked;
    const progress = (reached: number): void => reply({ kind: 'progress', progress: reached, total: 4 });
    reply(question(1));
    await pass(50);
    const { requestState, inputRequests } = first.answer() as { requestState: string; inputRequests: object };
    for (const reached of [1, 2]) progress(reached);
    await pass();
    if (when === 'after') reply(done);
    await pass();
    const again = test.call({}, { requestState, inputResponses: { [Object.keys(inputRequests)[0] as string]: accepted }, _meta: { progressToken: 'second' } });
    await pass();
    progress(3);
    if (when === 'before') reply(done);
    await pass();
    const told = again.frames.map((frame) => (frame.kind === 'message' ? (JSON.parse(frame.text) as { params?: { progressToken: string; progress: number } }).params : undefined));
    expect(told).toEqual([{ progressToken: 'second', progress: 2, total: 4 }, ...(when === 'before' ? [{ progressToken: 'second', progress: 3, total: 4 }] : []), undefined]);
    expect(again.answer()).toMatchObject({ resultType: 'complete' });
  });

  it('are waited for by a few requests at once and no more', async () => {
    const test = await RequestsUnderTest.start();
    const { state, keys } = await parked(test);
    const waiting = Array.from({ length: 40 }, () => test.call({}, { requestState: state, inputResponses: { [keys[0] as string]: accepted } }));
    await pass();
    expect(waiting.filter((sent) => sent.answer()?.['reason'] === 'session.busy').length).toBe(24);
    for (const sent of waiting) test.close(sent);
    await pass();
    expect([test.cancelled.length, await test.metric('omnibus_requests_without_session'), await test.metric('omnibus_kept_calls')]).toEqual([1, 0, 0]);
  });
});

describe('requests without a session', () => {
  it('of one client are refused before those of others, with the limit that is reached', async () => {
    const test = await RequestsUnderTest.start({ maxInFlightPerSession: 2, maxInFlightWithoutSession: 3 });
    const mine = [1, 2, 3].map(() => test.call({}, {}, '192.0.2.1'));
    const others = [2, 3].map((host) => test.call({}, {}, `192.0.2.${host}`));
    await pass();
    expect([mine[2]?.answer(), others[1]?.answer()]).toEqual([
      { reason: 'request.limit', message: expect.stringContaining('limits.maxInFlightPerSession, 2 of one client') as string },
      { reason: 'request.limit', message: expect.stringContaining('limits.maxInFlightWithoutSession, 3 of all') as string },
    ]);
    expect(test.asked.length).toBe(3);
  });

  it('whose subscriptions are as many as one client may have are refused before those of others', async () => {
    const test = await RequestsUnderTest.start({ maxListenersPerClient: 1, maxListeners: 2 });
    const listen = (origin: string): Sent => test.send('subscriptions/listen', { notifications: { toolsListChanged: true } }, origin);
    const [one, again, two, three] = [listen('192.0.2.1'), listen('192.0.2.1'), listen('192.0.2.2'), listen('192.0.2.3')];
    await pass();
    expect([again.answer()?.['message'], three.answer()?.['message']]).toEqual([expect.stringContaining('limits.maxListenersPerClient'), expect.stringContaining('limits.maxListeners,')]);
    expect(await test.metric('omnibus_listeners')).toBe(2);
    test.close(one);
    test.close(two);
    await pass();
    expect([await test.metric('omnibus_listeners'), listen('192.0.2.3').answer()]).toEqual([0, undefined]);
  });

  it('that are overtaken by the end of their stream are not carried out', async () => {
    const test = await RequestsUnderTest.start();
    const command = test.command('tools/call', { name: 'act', arguments: {} });
    test.bus.publish(subjects.modernControl, { kind: 'closed', key: command.key, reason: 'the client closed the stream' });
    await pass();
    const frames: unknown[] = [];
    test.bus.request(subjects.modern(test.worker), command, { reply: (frame) => frames.push(frame), failed: () => undefined });
    await pass(100);
    expect([test.asked.length, frames.length]).toEqual([0, 0]);
  });

  it('of a newer edge that this version does not know are refused, and what it tells is ignored and counted', async () => {
    const test = await RequestsUnderTest.start();
    const frames: unknown[] = [];
    test.bus.request(subjects.modern(test.worker), { ...test.command('tools/call', { name: 'act' }), ...JSON.parse('{"kind":"from the future"}') as Partial<ModernCommand> }, { reply: (frame) => frames.push(frame), failed: () => undefined });
    test.bus.publish(subjects.modernControl, JSON.parse('{"kind":"from the future"}') as ModernControl);
    await pass();
    expect(frames).toEqual([expect.objectContaining({ kind: 'refused' })]);
    expect(await test.metrics.text()).toContain('reason="bus_unknown"} 1');
    expect(test.faults).toEqual([]);
  });
});

describe('a subscription', () => {
  const two: CatalogRecord[] = [recordOf(parseServerName('up')), recordOf(parseServerName('down'), { lists: { ...noLists, resources: [{ uri: 'down://one', name: 'one' }] } })];
  const uris = ['up://one', 'down://one', 'nobody://knows'];
  const acknowledged = ({ frames }: Sent): unknown[] => frames.flatMap((frame) => (frame.kind === 'message' ? [(JSON.parse(frame.text) as { readonly params: JsonObject }).params['notifications']] : []));
  const commandOf = (test: RequestsUnderTest, server: string): Asked => test.asked.find((asked) => asked.server === server) as Asked;

  it('is acknowledged when each server has answered, however long that takes, with what was taken', async () => {
    const test = await RequestsUnderTest.start({}, two);
    const sent = test.send('subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: uris } });
    await pass();
    commandOf(test, 'up').reply({ kind: 'result', result: {} });
    await pass(8_000);
    expect(acknowledged(sent)).toEqual([]);
    commandOf(test, 'down').reply({ kind: 'result', result: {} });
    await pass();
    expect(acknowledged(sent)).toEqual([{ toolsListChanged: true, resourceSubscriptions: ['up://one', 'down://one'] }]);
  });

  it('does not claim what a server refuses or does not answer in the time of the request, which the client may make shorter', async () => {
    const test = await RequestsUnderTest.start({}, two);
    const listen = (more: JsonObject = {}): Sent => test.send('subscriptions/listen', { notifications: { resourceSubscriptions: uris }, ...more });
    const [usual, short] = [listen(), listen({ _meta: { 'dev.omnibus/timeoutMs': 3_000 } })];
    await pass();
    for (const { server, reply } of test.asked) if (server === 'up') reply({ kind: 'error', error: { code: -32_602, message: 'no' } });
    await pass(4_000);
    expect([acknowledged(usual), acknowledged(short)]).toEqual([[], [{ resourceSubscriptions: [] }]]);
    await pass(7_000);
    expect(acknowledged(usual)).toEqual([{ resourceSubscriptions: [] }]);
    const wrong = listen({ _meta: { 'dev.omnibus/timeoutMs': 'soon' } });
    await pass();
    expect(wrong.answer()).toMatchObject({ reason: 'params.invalid' });
  });

  it('is made again where an adapter was replaced, and told of what that one may have missed', async () => {
    const test = await RequestsUnderTest.start();
    const sent = test.send('subscriptions/listen', { notifications: { resourceSubscriptions: ['up://one'] } });
    await pass();
    test.asked[0]?.reply({ kind: 'result', result: {} });
    await pass();
    test.requests.adaptersChanged(parseServerName('up'), true);
    await pass();
    const updates = (): unknown[] => sent.frames.flatMap((frame) => (frame.kind === 'message' && frame.text.includes('notifications/resources/updated') ? [JSON.parse(frame.text)] : []));
    expect(updates()).toEqual([]);
    test.asked[1]?.reply({ kind: 'result', result: {} });
    await pass();
    expect(updates()).toMatchObject([{ params: { uri: 'up://one' } }]);
  });

  it('is made as its client\'s calls are, and a server that asks something for it is told that nobody can be asked', async () => {
    const test = await RequestsUnderTest.start();
    test.send('subscriptions/listen', { notifications: { resourceSubscriptions: ['up://one'] } });
    test.call();
    await pass();
    const [subscribed, called] = test.asked.map(({ command }) => command.context);
    expect(subscribed?.capabilities).toEqual(called?.capabilities);
    test.asked[0]?.reply(question(1));
    await pass();
    expect(test.answers).toMatchObject([{ input: 1, answer: { error: { code: -32_601 } } }]);
  });
});

describe('tasks of an older server', () => {
  const task = (status: string): ExchangeEvent => ({ kind: 'result', result: { taskId: 'task-1', status, createdAt: 'now', lastUpdatedAt: 'now', ttl: 60_000 } });

  /** A task that two programs of one server both call "task-1". */
  async function created(test: RequestsUnderTest): Promise<string> {
    const sent = test.call();
    await pass();
    test.asked.at(-1)?.reply({ kind: 'result', result: { task: { taskId: 'task-1', status: 'working', createdAt: 'now', lastUpdatedAt: 'now', ttl: 60_000 } } });
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

  it('an update answers the questions of its own task, and no other\'s; keys cannot be guessed', async () => {
    const test = await RequestsUnderTest.start();
    const [mine, others] = [await created(test), await created(test)];
    expect(mine).not.toBe(others);
    const [myKey, othersKey] = [await need(test, mine, 1), await need(test, others, 2)];
    const guesses = [`${test.worker}.1`, `${test.worker}.2`, '1', '2', othersKey, `${othersKey.slice(0, -1)}A`];
    const attack = test.send('tasks/update', { taskId: mine, inputResponses: Object.fromEntries(guesses.map((key) => [key, accepted])) });
    await pass();
    expect([attack.answer()?.['resultType'], test.answers]).toEqual(['complete', []]);
    test.send('tasks/update', { taskId: mine, inputResponses: { [myKey]: accepted } });
    await pass();
    expect(test.answers.map(({ input }) => input)).toEqual([1]);
    test.send('tasks/update', { taskId: others, inputResponses: { [othersKey]: accepted } });
    await pass();
    expect(test.answers.map(({ input }) => input)).toEqual([1, 2]);
  });

  it('of one name at two programs are asked about for whoever created them', async () => {
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
    const bad = test.send('tasks/update', { taskId, inputResponses: { [keys[0] as string]: accepted, [keys[1] as string]: 12 } });
    await pass();
    expect([bad.answer()?.['reason'], test.answers]).toEqual(['params.invalid', []]);
  });

  it('a client that goes away while it asks about one leaves nothing behind', async () => {
    const test = await RequestsUnderTest.start();
    const sent = test.send('tasks/get', { taskId: await created(test) });
    await pass();
    test.close(sent);
    await pass();
    expect([test.cancelled, await test.metric('omnibus_requests_without_session')]).toEqual([[test.asked.at(-1)?.command.exchange], 0]);
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
