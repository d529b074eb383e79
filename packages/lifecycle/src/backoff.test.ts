import fc from 'fast-check';
import { expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

it('a backoff grows to its maximum and never leaves its bounds', () => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.double({ min: 0, max: 0.999, noNaN: true }), (failures, random) => {
      const wait = backoffMs(failures, { minMs: 100, maxMs: 5_000 }, random);
      expect(wait).toBeGreaterThanOrEqual(50);
      expect(wait).toBeLessThanOrEqual(5_000);
    }),
  );
  expect(backoffMs(0, { minMs: 100, maxMs: 5_000 }, 0)).toBe(50);
  expect(backoffMs(20, { minMs: 100, maxMs: 5_000 }, 0.5)).toBe(3_750);
});
