/** Calls that wait before they are sent, while the session worker that made them may be lost. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest } from '../adapter-under-test.ts';
import type { Call } from './call.ts';

const session = 'session one' as unknown as SessionKey;
const ended = { kind: 'fault', fault: { reason: 'gateway.interrupted' } };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe.each([
  ['is never made if its session worker is gone: its client was told that the outcome is unknown', false],
  ['is made if its session worker is still there', true],
])('a call that waited a second %s', (_title, isThere) => {
  const asked: unknown[] = [];
  const isWaitedFor = ({ command: { params } }: Call): Promise<boolean> => {
    asked.push(params['name']);
    return Promise.resolve(isThere);
  };
  beforeEach(() => {
    asked.length = 0;
  });

  it('for a place', async () => {
    const answered = Promise.withResolvers<undefined>();
    await using it = await AdapterUnderTest.start(
      { says: ({ params }) => (params?.['name'] === 'first' ? answered.promise : undefined) },
      { concurrency: 1 },
      undefined,
      isWaitedFor,
    );
    await it.adapter.firstAttempt;
    const first = it.call(session, 'tools/call', { name: 'first' });
    await it.heard.untilSome(({ params }) => params?.['name'] === 'first');
    const second = it.call(session, 'tools/call', { name: 'second' });
    vi.advanceTimersByTime(1_000);
    answered.resolve(undefined);
    expect(await first).toMatchObject({ kind: 'result' });
    expect(await second).toMatchObject(isThere ? { kind: 'result' } : ended);
    expect(it.count('tools/call')).toBe(isThere ? 2 : 1);
    expect(asked).toEqual(['second']);
  });

  it('for a connection that was being opened', async () => {
    const greeted = Promise.withResolvers<undefined>();
    await using it = await AdapterUnderTest.start(
      { says: ({ method }) => (method === 'initialize' ? greeted.promise : undefined) },
      {},
      undefined,
      isWaitedFor,
    );
    await it.heard.untilSome(({ method }) => method === 'initialize');
    const call = it.call(session, 'tools/call', { name: 'early' });
    vi.advanceTimersByTime(1_000);
    greeted.resolve(undefined);
    expect(await call).toMatchObject(isThere ? { kind: 'result' } : ended);
    // What follows shows that nothing of the call is left on the connection.
    expect(await it.call(session, 'tools/call', { name: 'late' })).toMatchObject({ kind: 'result' });
    expect(it.count('tools/call')).toBe(isThere ? 2 : 1);
    expect(asked).toEqual(['early']);
  });
});

it('a call that waited shorter than a worker is silent before it counts as lost asks nobody', async () => {
  const answered = Promise.withResolvers<undefined>();
  await using it = await AdapterUnderTest.start(
    { says: ({ params }) => (params?.['name'] === 'first' ? answered.promise : undefined) },
    { concurrency: 1 },
    undefined,
    () => expect.fail('nobody is to be asked'),
  );
  await it.adapter.firstAttempt;
  const first = it.call(session, 'tools/call', { name: 'first' });
  await it.heard.untilSome(({ params }) => params?.['name'] === 'first');
  const second = it.call(session, 'tools/call', { name: 'second' });
  vi.advanceTimersByTime(400);
  answered.resolve(undefined);
  expect([await first, await second]).toMatchObject([{ kind: 'result' }, { kind: 'result' }]);
});
