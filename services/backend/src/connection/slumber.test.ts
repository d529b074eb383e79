/** An idle server sleeps, and a call wakes it. */
import { expect, it } from 'vitest';
import { anonymous, type JsonObject, type SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest, toolNamed, type HeardByServer } from '../adapter-under-test.ts';

const says = ({ method, params }: HeardByServer) => {
  if (method === 'tools/list') return { result: { tools: [toolNamed('one')] } };
  return method === 'tools/call'
    ? { result: { content: [{ type: 'text', text: String((params as JsonObject)['name']) }] } }
    : undefined;
};
const capabilities = { tools: {}, resources: { subscribe: true } };

it('is not connected to any more, keeps its lists, and serves the next call over a new connection', async () => {
  await using one = await AdapterUnderTest.start({ says, capabilities }, { sleepAfter: '60ms' });
  expect(await one.slept.until(1)).toEqual([true]);
  expect(one.record).toMatchObject({ status: 'up' });
  expect(one.tools).toEqual(['one']);
  const before = one.count('initialize');
  expect(await one.call('someone' as SessionKey, 'tools/call', { name: 'one' })).toMatchObject({ kind: 'result' });
  expect(one.count('initialize')).toBe(before + 1);
  // Awake, and asleep again without calls.
  expect((await one.slept.until(3)).slice(0, 3)).toEqual([true, false, true]);
  // What watches the gateway sees neither a server that is down nor one that was started again.
  const metrics = await one.metrics.text();
  expect(metrics).toContain('omnibus_upstream_state{server="up",state="asleep"} 1');
  expect(metrics).not.toMatch(/omnibus_upstream_restarts_total\{server="up"\} [1-9]/);
  expect(one.record).toMatchObject({ status: 'up' });
});

it('calls that come at once wake it once', async () => {
  await using one = await AdapterUnderTest.start({ says, capabilities }, { sleepAfter: '60ms' });
  await one.slept.until(1);
  const before = one.count('initialize');
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => one.call('someone' as SessionKey, 'tools/call', { name: 'one' })),
  );
  expect(answers.map(({ kind }) => kind)).toEqual(['result', 'result', 'result', 'result', 'result']);
  expect(one.count('initialize')).toBe(before + 1);
});

it('stays awake as long as a session listens to one of its resources', async () => {
  await using one = await AdapterUnderTest.start({ says, capabilities }, { sleepAfter: '60ms' });
  const session = 'someone' as SessionKey;
  await one.slept.until(1);
  expect(await one.call(session, 'resources/subscribe', { uri: 'test://a' })).toMatchObject({ kind: 'result' });
  // As long again as it slept after before, counted by calls of its own wheel.
  for (let ticks = 0; ticks < 4; ticks += 1) await new Promise<void>((resolve) => one.wheel.schedule(60, resolve));
  expect(one.slept.values).toEqual([true, false]);
  one.control({ kind: 'session-ended', session });
  expect(await one.slept.until(3)).toEqual([true, false, true]);
});

it('is never left alone unless that is asked for', async () => {
  await using one = await AdapterUnderTest.start({ says, capabilities });
  await one.records.untilSome(({ status }) => status === 'up');
  for (let ticks = 0; ticks < 4; ticks += 1) await new Promise<void>((resolve) => one.wheel.schedule(60, resolve));
  expect(one.slept.values).toEqual([]);
});

it('is said to be awake when what some clients are offered is read, not only when it is called', async () => {
  await using one = await AdapterUnderTest.start({ says, capabilities }, { sleepAfter: '60ms' });
  await one.slept.until(1);
  one.control({
    kind: 'wanted',
    caller: {
      principal: anonymous,
      session: 'someone' as SessionKey,
      capabilities: { sampling: {} },
      standsAlone: false,
    },
  });
  expect((await one.slept.until(2)).slice(0, 2)).toEqual([true, false]);
});
