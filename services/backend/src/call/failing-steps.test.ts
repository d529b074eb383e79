/** A step or watcher that throws, which is a bug of a feature, ends the one call that it sees, wherever the call has got to. */
import { afterEach, expect, it, vi } from 'vitest';
import { modernCodes, type ExchangeOutcome, type SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest, type ServerScript } from '../adapter-under-test.ts';
import { CatalogPublisher } from '../catalog/publisher.ts';
import type { Attempt } from './attempt.ts';
import type { Call } from './call.ts';
import type { CallStep } from './steps.ts';
import type { WatchedCall } from './watched-call.ts';

const session = 'session one' as unknown as SessionKey;
const isBroken = ({ command: { params } }: Call): boolean => params['name'] === 'broken';
const broken = (): never => {
  throw new Error('by a test, on purpose');
};

afterEach(() => {
  vi.restoreAllMocks();
});

const places: readonly (readonly [string, CallStep])[] = [
  ['before its connection is chosen', { before: (call) => (isBroken(call) ? broken() : undefined) }],
  ['while its connection is chosen', { place: (call) => (isBroken(call) ? broken() : undefined) }],
  ['while it is prepared', { prepare: ({ call }) => (isBroken(call) ? broken() : undefined) }],
  [
    'after it was prepared',
    { prepare: ({ call }) => (isBroken(call) ? Promise.reject(new Error('by a test, on purpose')) : undefined) },
  ],
  [
    'when it is sent after a wait',
    {
      prepare: ({ call }) => (isBroken(call) ? Promise.resolve() : undefined),
      takes: { 'tools/call': (attempt: Attempt) => (isBroken(attempt.call) ? broken() : attempt.send()) },
    },
  ],
  [
    'when its answer comes',
    {
      answers: {
        'tools/call': ({ call }: Attempt, outcome: ExchangeOutcome) => (isBroken(call) ? broken() : outcome),
      },
    },
  ],
  ['when its answer is held', { holds: (call) => isBroken(call) && broken() }],
  ['when its answer is changed', { outcome: (call, given) => (isBroken(call) ? broken() : given) }],
];

/** One place in the bulkhead, and one connection for this caller: a call that kept either would hold up the next one. */
async function start(step: CallStep, script: ServerScript = {}): Promise<AdapterUnderTest> {
  const test = await AdapterUnderTest.start(script, { concurrency: 1 }, undefined, undefined, {
    features: [{ name: 'broken', step }],
  });
  await test.adapter.firstAttempt;
  return test;
}

it.each(places)(
  'a step that throws %s ends its call with internal.error, and the next call is served',
  async (_, step) => {
    await using test = await start(step);
    expect(await test.call(session, 'tools/call', { name: 'broken' })).toMatchObject({
      kind: 'fault',
      fault: { reason: 'internal.error' },
    });
    expect([test.adapter.calls.running, test.adapter.calls.waiting]).toEqual([0, 0]);
    expect(await test.call(session, 'tools/call', { name: 'act' })).toMatchObject({ kind: 'result' });
  },
);

it('a step that throws when it forgets a call, and a watcher that throws at its end, keep neither its answer nor its place', async () => {
  const watched: WatchedCall = { ended: broken };
  await using test = await AdapterUnderTest.start({}, { concurrency: 1 }, undefined, undefined, {
    features: [
      { name: 'forgets', step: { forgotten: (call) => (isBroken(call) ? broken() : undefined) } },
      { name: 'watches', watcher: { begun: (call) => (isBroken(call) ? watched : undefined) } },
    ],
  });
  await test.adapter.firstAttempt;
  expect(await test.call(session, 'tools/call', { name: 'broken' })).toMatchObject({ kind: 'result' });
  expect([test.adapter.calls.running, test.adapter.calls.waiting]).toEqual([0, 0]);
  expect(await test.call(session, 'tools/call', { name: 'act' })).toMatchObject({ kind: 'result' });
});

it('a list that cannot be read again ends the call that needs it with internal.error', async () => {
  await using test = await start(
    {},
    {
      says: ({ method, params }) => {
        if (method === 'server/discover')
          return { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } };
        if (method === 'initialize') return { error: { code: -32_601, message: 'no sessions' } };
        return method === 'tools/call' && params?.['name'] === 'broken'
          ? { error: { code: modernCodes.headerMismatch, message: 'another schema' } }
          : undefined;
      },
    },
  );
  vi.spyOn(CatalogPublisher.prototype, 'refresh').mockRejectedValue(new Error('by a test, on purpose'));
  expect(await test.call(session, 'tools/call', { name: 'broken' })).toMatchObject({
    kind: 'fault',
    fault: { reason: 'internal.error' },
  });
  expect(await test.call(session, 'tools/call', { name: 'act' })).toMatchObject({ kind: 'result' });
});
