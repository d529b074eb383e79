/** Calls that wait before they are sent, while the session worker that made them may be lost. */
import { expect, it } from 'vitest';
import type { SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest } from '../adapter-under-test.ts';

const session = 'session one' as unknown as SessionKey;

it.each([
  ['is never made if its session worker is gone: its client was told that the outcome is unknown', false],
  ['is made if its session worker is still there', true],
])('a call that waited for a place %s', async (_title, isThere) => {
  const answered = Promise.withResolvers<undefined>();
  const asked: unknown[] = [];
  await using it = await AdapterUnderTest.start(
    { says: ({ params }) => (params?.['name'] === 'first' ? answered.promise : undefined) },
    { concurrency: 1 },
    undefined,
    ({ params }) => {
      asked.push(params['name']);
      return Promise.resolve(isThere);
    },
  );
  await it.adapter.firstAttempt;
  const first = it.call(session, 'tools/call', { name: 'first' });
  await it.heard.untilSome(({ params }) => params?.['name'] === 'first');
  const second = it.call(session, 'tools/call', { name: 'second' });
  answered.resolve(undefined);
  expect(await first).toMatchObject({ kind: 'result' });
  expect(await second).toMatchObject(
    isThere ? { kind: 'result' } : { kind: 'fault', fault: { reason: 'gateway.interrupted' } },
  );
  expect(it.count('tools/call')).toBe(isThere ? 2 : 1);
  expect(asked).toEqual(['second']);
});
