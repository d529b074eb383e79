/** Whether a worker still holds a session, while the store of the records fails. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { anonymous, newRequestKey } from '@omnibus/protocol';
import type { Session } from '../stateful/session.ts';
import { Sessions, type SessionsOptions } from './sessions.ts';

const key = newRequestKey();
let sessions: Sessions;
let isDoubtful: boolean;
let questions: number;

beforeEach(() => {
  vi.useFakeTimers();
  [isDoubtful, questions] = [true, 0];
  const records = {
    isDoubtful: () => isDoubtful,
    verify: () => {
      questions += 1;
      return Promise.resolve();
    },
  };
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  sessions = new Sessions({ records, wheel, host: { isSure: () => true } } as unknown as SessionsOptions);
  sessions.held.add({ key, caller: { principal: anonymous } } as Session);
});

afterEach(() => void vi.useRealTimers());

it('a request waits for the answer of a store that elects a leader, and goes on', async () => {
  const confirmed = sessions.confirm(key);
  await vi.advanceTimersByTimeAsync(6_000);
  isDoubtful = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await confirmed).toBe(true);
  expect(sessions.confirm(key)).toBeUndefined();
});

it('a request ends at once if another worker has taken the session, and after a while if the store does not answer', async () => {
  const given = sessions.confirm(key);
  await vi.advanceTimersByTimeAsync(20_000);
  expect([await given, questions < 40]).toEqual([false, true]);
  const taken = sessions.confirm(key);
  sessions.held.remove({ key, caller: { principal: anonymous } } as Session);
  await vi.advanceTimersByTimeAsync(0);
  expect(await taken).toBe(false);
});
