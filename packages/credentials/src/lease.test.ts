import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Leases, newClaim } from './lease.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a claim is respected until it ends', () => {
  const leases = new Leases();
  const claim = newClaim('other');
  expect(leases.leftMs(claim, 1)).toBe(15_000);
  vi.advanceTimersByTime(14_000);
  expect(leases.leftMs(claim, 1)).toBe(1_000);
  expect(new Leases().leftMs(claim, 1)).toBe(1_000);
  vi.advanceTimersByTime(1_000);
  expect([leases.leftMs(claim, 1), new Leases().leftMs(claim, 1)]).toEqual([0, 0]);
});

it('one by a clock that is an hour ahead is respected for as long as any other', () => {
  const leases = new Leases();
  const claim = { by: 'other', until: Date.now() + 3_600_000 };
  expect(leases.leftMs(claim, 1)).toBe(15_000);
  vi.advanceTimersByTime(15_000);
  expect(leases.leftMs(claim, 1)).toBe(0);
  expect(leases.leftMs(claim, 2)).toBe(15_000);
});

it('one is not respected for longer because the clock was set back', () => {
  const leases = new Leases();
  const claim = newClaim('other');
  leases.leftMs(claim, 1);
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(15_000);
  expect(leases.leftMs(claim, 1)).toBe(0);
});
