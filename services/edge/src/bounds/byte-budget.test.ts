import { expect, it } from 'vitest';
import { ByteBudget } from './byte-budget.ts';

const kilobyte = 1024;

it('one address has no more than its share, and the others have theirs', () => {
  const budget = new ByteBudget({ maxTotal: 4_000 * kilobyte, maxShare: 1_000 * kilobyte });
  const greedy = Array.from({ length: 10 }, () => budget.lease('greedy'));
  expect(greedy.map((lease) => lease.add(464 * kilobyte))).toEqual([
    true,
    true,
    ...Array.from({ length: 8 }, () => false),
  ]);
  expect(budget.lease('other').add(464 * kilobyte)).toBe(true);
});

it('what is small passes beside a share that is used up', () => {
  const budget = new ByteBudget({ maxTotal: 4_000 * kilobyte, maxShare: 1_000 * kilobyte });
  expect(budget.lease('a').add(1_064 * kilobyte)).toBe(true);
  expect(budget.lease('a').add(65 * kilobyte)).toBe(false);
  expect(budget.lease('a').add(64 * kilobyte)).toBe(true);
});

it('many addresses together leave room for what is small, and all of it ends at the total', () => {
  const budget = new ByteBudget({ maxTotal: 4_000 * kilobyte, maxShare: 1_000 * kilobyte });
  for (let count = 0; count < 100; count += 1) budget.lease(`address-${count}`).add(900 * kilobyte);
  expect(budget.used).toBe(2_700 * kilobyte);
  for (let count = 0; count < 1_000; count += 1) budget.lease('small').add(10 * kilobyte);
  expect(budget.used).toBe(4_000 * kilobyte);
});

it('what is given back is there again, once', () => {
  const budget = new ByteBudget({ maxTotal: 1_000 * kilobyte, maxShare: 500 * kilobyte });
  const lease = budget.lease('a');
  for (let count = 0; count < 10; count += 1) lease.add(50 * kilobyte);
  expect(lease.add(100 * kilobyte)).toBe(false);
  lease.release();
  lease.release();
  expect(budget.used).toBe(0);
  expect(budget.lease('a').add(500 * kilobyte)).toBe(true);
});
