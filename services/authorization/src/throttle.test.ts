import { expect, it } from 'vitest';
import { Throttle } from './throttle.ts';

it('so many are let through at once, then one in a while; what went well does not count; one name takes nothing from another', () => {
  let now = 0;
  const throttle = new Throttle({ burst: 2, everyMs: 10_000, now: () => now });
  expect([throttle.take('ann'), throttle.take('ann'), throttle.take('ann'), throttle.take('bob')]).toEqual([0, 0, 10, 0]);
  now = 9_000;
  expect(throttle.take('ann')).toBe(1);
  now = 10_001;
  expect([throttle.take('ann'), throttle.take('ann')]).toEqual([0, 10]);
  throttle.giveBack('ann');
  expect(throttle.take('ann')).toBe(0);
});
