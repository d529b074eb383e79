import { expect, it } from 'vitest';
import { problemOf } from './problem.ts';

it.each([
  [{ code: -32_600, message: 'x', data: { reason: 'auth.required' } }, 'forbidden'],
  [
    { code: -32_603, message: 'the gateway at …', data: { reason: 'gateway.unavailable', httpStatus: 401 } },
    'forbidden',
  ],
  [{ code: -32_603, message: 'the gateway at …', data: { reason: 'gateway.unavailable', httpStatus: 404 } }, 'unknown'],
  [
    { code: -32_603, message: 'the gateway at …', data: { reason: 'gateway.unavailable', isSent: false } },
    'unreachable',
  ],
  // The text of a tool's error must not decide about the exit status.
  [{ code: -32_000, message: 'room 401 wants to know who asks, and serves known callers only' }, 'other'],
  [{ code: -32_603, message: 'x', data: { reason: 'upstream.timeout' } }, 'timeout'],
  [{ code: -32_602, message: 'x' }, 'usage'],
] as const)('an error %j ends a command as %s, whatever its message says', (error, exit) => {
  expect(problemOf(error).exit).toBe(exit);
});
