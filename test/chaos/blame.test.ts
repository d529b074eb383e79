import { expect, it } from 'vitest';
import { blame, tooSlow, type Struck } from './blame.ts';

const none: ReadonlySet<string> = new Set();

it('calls may reach their limit for a quarter of the clients in a strike of a slow fault, and for all in one that lasts longer than a call may', () => {
  const named = (calls: number, ms: number, strikes = 1): readonly string[] => {
    const faults = Array.from({ length: strikes }, (): Struck => ({
      name: 'slow',
      kills: [],
      isSlow: true,
      from: 0,
      to: ms,
    }));
    const late = Array.from({ length: calls }, () => ({ reason: 'upstream.timeout', call: 'a', from: 0, to: 10_000 }));
    return tooSlow(blame(late, faults, none), faults, 20);
  };
  expect([named(5, 9_000), named(10, 9_000, 2), named(40, 12_000)]).toEqual([[], [], []]);
  expect([named(6, 9_000), named(41, 12_000)]).toEqual([
    ['slow: 6 calls, of at most 5'],
    ['slow: 41 calls, of at most 40'],
  ]);
});
