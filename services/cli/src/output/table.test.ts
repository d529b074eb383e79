import { expect, it } from 'vitest';
import { fitTable } from './table.ts';

const rows = [
  ['SERVER', 'STATE', 'PROBLEM'],
  ['files', 'up', ''],
  ['tickets', 'down', 'the program ended with exit code 1: Error: no key is set'],
];

it('a table that fits, and one in a pipe, is printed as it is', () => {
  for (const columns of [undefined, 100]) expect(fitTable(rows, columns).split('\n')).toHaveLength(3);
});

it('where a table is wider than the terminal, its sentences follow it whole, and nothing else wraps', () => {
  const lines = fitTable(rows, 40).split('\n');
  expect(lines).toEqual([
    'SERVER   STATE',
    'files    up',
    'tickets  down',
    '  tickets: the program ended with exit code 1: Error: no key is set',
  ]);
  expect(fitTable(rows, 10).split('\n')[0]).toBe('SERVER   …');
});
