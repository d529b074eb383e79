import { expect, it } from 'vitest';
import { RepeatedActs } from './repeated-acts.ts';

function counted(): {
  readonly acts: RepeatedActs;
  readonly act: () => Promise<number>;
  readonly done: () => number;
  readonly pass: (ms: number) => void;
} {
  let [done, now] = [0, 0];
  return {
    acts: new RepeatedActs(() => now),
    act: () => Promise.resolve((done += 1)),
    done: () => done,
    pass: (ms) => void (now += ms),
  };
}

it('the same act of one caller happens once, also while it goes on; of another caller, and with another key, it is another', async () => {
  const { acts, act, done } = counted();
  const first = acts.once('k', 'ann', 'POST /a', act);
  expect(await Promise.all([first, acts.once('k', 'ann', 'POST /a', act)])).toEqual([1, 1]);
  expect(await acts.once('k', 'bob', 'POST /a', act)).toBe(2);
  expect(await acts.once('l', 'ann', 'POST /a', act)).toBe(3);
  expect(done()).toBe(3);
});

it('a key is good for one act, of visible characters, and for ten minutes', async () => {
  const { acts, act, pass } = counted();
  await acts.once('k', 'ann', 'POST /a', act);
  expect(() => acts.once('k', 'ann', 'POST /b', act)).toThrow('used for another act');
  expect(() => acts.once('a b', 'ann', 'POST /a', act)).toThrow('visible ASCII');
  pass(10 * 60_000);
  expect(await acts.once('k', 'ann', 'POST /b', act)).toBe(2);
});

it('an act that failed can be tried again', async () => {
  const { acts, act } = counted();
  await expect(acts.once('k', 'ann', 'POST /a', () => Promise.reject(new Error('busy')))).rejects.toThrow('busy');
  expect(await acts.once('k', 'ann', 'POST /a', act)).toBe(1);
});

it('a caller with many keys displaces none of others', async () => {
  const { acts, act } = counted();
  await acts.once('k', 'bob', 'POST /a', act);
  for (let number = 0; number < 1_000; number += 1) await acts.once(`k${number}`, 'ann', 'POST /a', act);
  expect(await acts.once('k', 'bob', 'POST /a', act)).toBe(1);
  expect(await acts.once('k999', 'ann', 'POST /a', act)).toBe(1_001);
  expect(await acts.once('k0', 'ann', 'POST /a', act)).toBe(1_002);
});
