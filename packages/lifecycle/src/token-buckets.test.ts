import { expect, it } from 'vitest';
import { TokenBuckets } from './token-buckets.ts';

it('so many are let through at once, then one in a while; what went well does not count; one name takes nothing from another', () => {
  let now = 0;
  const buckets = new TokenBuckets({ burst: 2, everyMs: 10_000, maxNames: 10, now: () => now });
  expect([buckets.take('ann'), buckets.take('ann'), buckets.take('ann'), buckets.take('bob')]).toEqual([0, 0, 10, 0]);
  now = 9_000;
  expect(buckets.take('ann')).toBe(1);
  now = 10_001;
  expect([buckets.take('ann'), buckets.take('ann')]).toEqual([0, 10]);
  buckets.giveBack('ann');
  expect(buckets.take('ann')).toBe(0);
});
