/** Whether a worker still holds a session, while the store of the records fails. Its peers are scripted. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { anonymous, newRequestKey, newWorkerId, type WorkerId } from '@omnibus/protocol';
import type { Session } from '../stateful/session.ts';
import { Sessions, type SessionsOptions } from './sessions.ts';

const key = newRequestKey();
const other = newWorkerId('session');
let sessions: Sessions;
let isDoubtful: boolean;
let questions: number;
let peers: {
  isComplete: boolean;
  knewAll: boolean;
  isBack: boolean;
  vanished: readonly WorkerId[];
  others: readonly WorkerId[];
  askAll: () => unknown;
  findNew: () => unknown;
};

beforeEach(() => {
  vi.useFakeTimers();
  [isDoubtful, questions] = [true, 0];
  peers = {
    isComplete: true,
    knewAll: false,
    isBack: true,
    vanished: [],
    others: [other],
    askAll: () => Promise.resolve(other),
    findNew: () => Promise.resolve(undefined),
  };
  const records = {
    isDoubtful: () => isDoubtful,
    verify: () => {
      questions += 1;
      return Promise.resolve();
    },
    isWritten: () => false,
    release: () => Promise.resolve(),
  };
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  sessions = new Sessions({ records, wheel, peers, host: { isSure: () => true } } as unknown as SessionsOptions);
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

it('a session is not given to another worker while the store does not have all of it', async () => {
  const session = { key, caller: { principal: anonymous }, quietMs: (_now: number) => 60_000 } as Session;
  sessions.held.add(session);
  expect([await sessions.moveTo(key, other), sessions.find(key)]).toEqual([false, session]);
});

it('the store decides once another worker says that it holds the session, and the others are not asked again', async () => {
  const answers = [other];
  let asked = 0;
  peers.askAll = () => {
    asked += 1;
    return Promise.resolve(answers.shift());
  };
  let isConfirmed = false;
  void sessions.confirm(key)?.then((isHeld) => (isConfirmed = isHeld));
  await vi.advanceTimersByTimeAsync(5_000);
  expect([asked, isConfirmed]).toEqual([1, false]);
});

it('a request does not wait for the store if every other worker says that it does not hold the session', async () => {
  peers.askAll = () => Promise.resolve(undefined);
  expect(await sessions.confirm(key)).toBe(true);
});

it('a request does not wait for the store at a young worker that knew the others before it was cut off', async () => {
  Object.assign(peers, { isComplete: false, knewAll: true, askAll: () => Promise.resolve(undefined) });
  expect(await sessions.confirm(key)).toBe(true);
});

it('a request waits until the other workers have found NATS again, and not for the store', async () => {
  peers.isComplete = false;
  peers.askAll = () => Promise.resolve(undefined);
  let isConfirmed = false;
  void sessions.confirm(key)?.then((isHeld) => (isConfirmed = isHeld));
  await vi.advanceTimersByTimeAsync(500);
  expect(isConfirmed).toBe(false);
  peers.isComplete = true;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isConfirmed).toBe(true);
});

it.each([
  ['another worker does not answer', { askAll: () => Promise.resolve('silence') }],
  ['another worker has vanished', { vanished: [other], askAll: () => Promise.resolve(undefined) }],
  ['workers may have come meanwhile', { isBack: false, askAll: () => Promise.resolve(undefined) }],
  [
    'another worker gives its first sign while the others answer',
    {
      askAll: () => {
        peers.others = [...peers.others, newWorkerId('session')];
        return Promise.resolve(undefined);
      },
    },
  ],
  [
    'the connection to NATS breaks while the others answer',
    {
      askAll: () => {
        peers.isBack = false;
        return Promise.resolve(undefined);
      },
    },
  ],
  [
    'a worker without a sign so far says that it holds the session',
    { askAll: () => Promise.resolve(undefined), findNew: () => Promise.resolve(newWorkerId('session')) },
  ],
  ['not all workers are known', { isComplete: false, askAll: () => Promise.resolve(undefined) }],
] as const)('a request waits for the store if %s', async (_why, which) => {
  Object.assign(peers, which);
  let isConfirmed = false;
  const confirmed = sessions.confirm(key)?.then((isHeld) => (isConfirmed = isHeld));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(isConfirmed).toBe(false);
  isDoubtful = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await confirmed).toBe(true);
});
