/** Requests without a session: owners, and their shares of room. */
import { describe, expect, it } from 'vitest';
import { subjects } from '@omnibus/bus';
import type { ModernCommand, ModernControl } from '@omnibus/protocol';
import {
  accepted,
  done,
  holdTime,
  parked,
  pass,
  question,
  RequestsUnderTest,
  type Asked,
  type Sent,
} from './requests-under-test.ts';

holdTime();

describe('calls that wait for their clients', () => {
  it('do not use up the room of those that run', async () => {
    const test = await RequestsUnderTest.start({ maxInFlightPerSession: 3 });
    for (let count = 0; count < 10; count += 1) expect((await parked(test)).state).toBeTypeOf('string');
    const other = test.call();
    await pass();
    test.asked.at(-1)?.reply(done);
    await pass();
    expect(other.answer()).toMatchObject({ resultType: 'complete' });
    expect([
      test.requests.parked,
      await test.metric('omnibus_kept_calls'),
      await test.metric('omnibus_requests_without_session'),
    ]).toEqual([10, 10, 0]);
  });

  it("of one client push out its own oldest, which is cancelled at its server, and never another's", async () => {
    const test = await RequestsUnderTest.start({ maxParkedPerClient: 3 });
    const others = await parked(test, '192.0.2.2');
    const mine = [];
    for (let count = 0; count < 5; count += 1) mine.push(await parked(test, '192.0.2.1', { count }));
    expect(test.cancelled).toEqual(mine.slice(0, 2).map(({ asked }) => asked.command.exchange));
    const lost = test.call({ count: 0 }, { requestState: mine[0]?.state, inputResponses: {} }, '192.0.2.1');
    const kept = test.call(
      {},
      { requestState: others.state, inputResponses: { [others.keys[0] as string]: accepted } },
      '192.0.2.2',
    );
    await pass();
    expect(lost.answer()).toMatchObject({ reason: 'state.lost' });
    others.asked.reply(done);
    await pass();
    expect(kept.answer()).toMatchObject({ resultType: 'complete' });
  });

  it('are no longer known a while after the time of their client, which hears that it is late, and not that a process is gone', async () => {
    const test = await RequestsUnderTest.start();
    const { state } = await parked(test);
    await pass(3 * 60 * 60_000);
    const late = test.call({}, { requestState: state, inputResponses: {} });
    await pass();
    expect(late.answer()).toMatchObject({ reason: 'state.invalid' });
  });

  it('are refused, with the exceeded limit, if others use all of them', async () => {
    const test = await RequestsUnderTest.start({ maxParked: 3 });
    for (let count = 0; count < 3; count += 1) await parked(test, `192.0.2.${count}`);
    const { sent, asked } = await parked(test, '192.0.2.9');
    expect(sent.answer()).toMatchObject({
      reason: 'parked.limit',
      message: expect.stringContaining('limits.maxParked, 3') as string,
    });
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
    expect([await test.metric('omnibus_requests_without_session'), await test.metric('omnibus_kept_calls')]).toEqual([
      0, 1,
    ]);
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

  it.each([
    ['before', 'it comes back'],
    ['after', 'its server answers'],
  ])('tell a client how far they are that was away meanwhile, %s %s', async (when) => {
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
    const again = test.call(
      {},
      {
        requestState,
        inputResponses: { [Object.keys(inputRequests)[0] as string]: accepted },
        _meta: { progressToken: 'second' },
      },
    );
    await pass();
    progress(3);
    if (when === 'before') reply(done);
    await pass();
    const told = again.frames.map((frame) =>
      frame.kind === 'message'
        ? (JSON.parse(frame.text) as { params?: { progressToken: string; progress: number } }).params
        : undefined,
    );
    expect(told).toEqual([
      { progressToken: 'second', progress: 2, total: 4 },
      ...(when === 'before' ? [{ progressToken: 'second', progress: 3, total: 4 }] : []),
      undefined,
    ]);
    expect(again.answer()).toMatchObject({ resultType: 'complete' });
  });

  it('are waited for by a few requests at once and no more', async () => {
    const test = await RequestsUnderTest.start();
    const { state, keys } = await parked(test);
    const waiting = Array.from({ length: 40 }, () =>
      test.call({}, { requestState: state, inputResponses: { [keys[0] as string]: accepted } }),
    );
    await pass();
    expect(waiting.filter((sent) => sent.answer()?.['reason'] === 'session.busy').length).toBe(24);
    for (const sent of waiting) test.close(sent);
    await pass();
    expect([
      test.cancelled.length,
      await test.metric('omnibus_requests_without_session'),
      await test.metric('omnibus_kept_calls'),
    ]).toEqual([1, 0, 0]);
  });
});

describe('requests without a session', () => {
  it('of one client are refused before those of others, with the limit that is reached', async () => {
    const test = await RequestsUnderTest.start({ maxInFlightPerSession: 2, maxInFlightWithoutSession: 3 });
    const mine = [1, 2, 3].map(() => test.call({}, {}, '192.0.2.1'));
    const others = [2, 3].map((host) => test.call({}, {}, `192.0.2.${host}`));
    await pass();
    expect([mine[2]?.answer(), others[1]?.answer()]).toEqual([
      {
        reason: 'request.limit',
        message: expect.stringContaining('limits.maxInFlightPerSession, 2 of one client') as string,
      },
      {
        reason: 'request.limit',
        message: expect.stringContaining('limits.maxInFlightWithoutSession, 3 of all') as string,
      },
    ]);
    expect(test.asked.length).toBe(3);
  });

  it('beyond the subscriptions of one client are refused before those of others', async () => {
    const test = await RequestsUnderTest.start({ maxListenersPerClient: 1, maxListeners: 2 });
    const listen = (origin: string): Sent =>
      test.send('subscriptions/listen', { notifications: { toolsListChanged: true } }, origin);
    const [one, again, two, three] = [
      listen('192.0.2.1'),
      listen('192.0.2.1'),
      listen('192.0.2.2'),
      listen('192.0.2.3'),
    ];
    await pass();
    expect([again.answer()?.['message'], three.answer()?.['message']]).toEqual([
      expect.stringContaining('limits.maxListenersPerClient'),
      expect.stringContaining('limits.maxListeners,'),
    ]);
    expect(await test.metric('omnibus_listeners')).toBe(2);
    test.close(one);
    test.close(two);
    await pass();
    expect([await test.metric('omnibus_listeners'), listen('192.0.2.3').answer()]).toEqual([0, undefined]);
  });

  it('that are overtaken by the end of their stream are not carried out', async () => {
    const test = await RequestsUnderTest.start();
    const command = test.command('tools/call', { name: 'act', arguments: {} });
    test.bus.publish(subjects.modernControl, {
      kind: 'closed',
      key: command.key,
      reason: 'the client closed the stream',
    });
    await pass();
    const frames: unknown[] = [];
    test.bus.request(subjects.modern(test.worker), command, {
      reply: (frame) => frames.push(frame),
      failed: () => undefined,
    });
    await pass(100);
    expect([test.asked.length, frames.length]).toEqual([0, 0]);
  });

  it('of a newer edge that this version does not know are refused, and its notices are ignored and counted', async () => {
    const test = await RequestsUnderTest.start();
    const frames: unknown[] = [];
    test.bus.request(
      subjects.modern(test.worker),
      {
        ...test.command('tools/call', { name: 'act' }),
        ...(JSON.parse('{"kind":"from the future"}') as Partial<ModernCommand>),
      },
      { reply: (frame) => frames.push(frame), failed: () => undefined },
    );
    test.bus.publish(subjects.modernControl, JSON.parse('{"kind":"from the future"}') as ModernControl);
    await pass();
    expect(frames).toEqual([expect.objectContaining({ kind: 'refused' })]);
    expect(await test.metrics.text()).toContain('reason="bus_unknown"} 1');
    expect(test.faults).toEqual([]);
  });
});
