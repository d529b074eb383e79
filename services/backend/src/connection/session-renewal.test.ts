import { fault } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { SessionRenewal } from './session-renewal.ts';

it('gives up three short sessions in a row, and more only after one that lived', () => {
  let now = 0;
  const renewal = new SessionRenewal(() => now);
  const next = (): boolean => {
    renewal.opened();
    return renewal.take();
  };
  expect([next(), next(), next(), next()]).toEqual([true, true, true, false]);
  now = 5_000;
  expect(renewal.take()).toBe(true);
});

it.each([
  [true, 'a refusal', { kind: 'fault', fault: fault('upstream.refused', 'no', { httpStatus: 400 }) }],
  [true, 'an error about the session', { kind: 'error', error: { code: -32_000, message: 'Unknown session ID' } }],
  [false, 'a refusal of credentials', { kind: 'fault', fault: fault('upstream.refused', 'no', { httpStatus: 401 }) }],
  [false, 'a failing server', { kind: 'fault', fault: fault('upstream.refused', 'no', { httpStatus: 503 }) }],
  [false, 'silence', { kind: 'fault', fault: fault('upstream.timeout', 'no') }],
  [false, 'another error', { kind: 'error', error: { code: -32_601, message: 'no such method' } }],
  [false, 'an answer', { kind: 'result', result: {} }],
] as const)('is %s about a lost session when a ping meets %s', async (isLost, _what, outcome) => {
  expect(await new SessionRenewal().check(() => Promise.resolve(outcome))).toBe(isLost);
});
