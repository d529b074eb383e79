/** What it costs to cancel one of many calls. */
import { expect, it, vi } from 'vitest';
import { Ring } from '@omnibus/collections';
import { anonymous, type ExchangeContext, type ExchangeId, type SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest } from '../adapter-under-test.ts';
import { Call } from './call.ts';

it('a cancelled call is found without a walk over the other calls', async () => {
  const count = 50;
  await using it = await AdapterUnderTest.start(
    { says: ({ method }) => (method === 'tools/call' ? 'silence' : undefined) },
    { concurrency: 2 * count },
  );
  await it.adapter.firstAttempt;
  const context: ExchangeContext = {
    principal: anonymous,
    session: 'session one' as unknown as SessionKey,
    capabilities: {},
    standsAlone: false,
    logLevel: undefined,
    wantsProgress: false,
    maxTimeMs: 10_000,
  };
  const exchanges = Array.from({ length: count }, (_, number) => `call-${number}` as ExchangeId);
  for (const exchange of exchanges)
    it.adapter.calls.begin(
      { kind: 'call', exchange, method: 'tools/call', params: { name: 'act' }, context },
      () => undefined,
    );
  expect(it.adapter.calls.running).toBe(count);
  const walks = [vi.spyOn(Ring.prototype, 'toArray'), vi.spyOn(Ring.prototype, 'find')];
  const [kept, ...others] = exchanges;
  for (const exchange of others) it.adapter.calls.cancel(exchange, 'no longer needed', false);
  const walked = walks.flatMap(({ mock }) => mock.contexts);
  for (const walk of walks) walk.mockRestore();
  expect(it.adapter.calls.held(exchanges)).toEqual([kept]);
  // The transport looks among the requests of one connection, which `concurrency` bounds.
  expect(walked.filter((ring) => (ring as Ring<Call>).first instanceof Call)).toEqual([]);
});
