import { expect, it } from 'vitest';
import { RepairCounts, repairs, type Repair } from './repairs.ts';

it('repairs of one kind share a row, which keeps the first and last time and the last place', () => {
  const heard: Repair[] = [];
  const counts = new RepairCounts((repair) => heard.push(repair));
  expect(counts.rows).toEqual([]);
  counts.note('null-member', 'tools "a": title');
  counts.note('text-flag', 'tools "a": readOnlyHint');
  counts.note('null-member', 'tools "b\u001B[2J": title');
  const [row, other, ...more] = counts.rows;
  expect(row).toMatchObject({ repair: 'null-member', count: 2, example: 'tools "b [2J": title' });
  expect(row?.lastAt).toBeGreaterThanOrEqual(row?.firstAt ?? Infinity);
  expect(other).toMatchObject({ repair: 'text-flag', count: 1 });
  expect(more).toEqual([]);
  expect(heard).toEqual(['null-member', 'text-flag', 'null-member']);
});

it('an example is cut, and names of repairs are labels', () => {
  const counts = new RepairCounts();
  counts.note('null-member', 'x'.repeat(5_000));
  expect(counts.rows[0]?.example.length).toBeLessThan(300);
  for (const name of Object.keys(repairs)) expect(name).toMatch(/^[a-z-]+$/);
});
