import { expect, it } from 'vitest';
import { Shares } from './shares.ts';

const limits = { share: { name: 'maxShare', value: 2 }, total: { name: 'maxTotal', value: 3 } };

it('a client reaches its share before the total is used up, and a place that it gives back can be taken', () => {
  const shares = new Shares(limits);
  expect([shares.take('a'), shares.take('a'), shares.take('a')]).toEqual([
    undefined,
    undefined,
    'limits.maxShare, 2 of one client, is reached',
  ]);
  expect([shares.take('b'), shares.take('b')]).toEqual([undefined, 'limits.maxTotal, 3 of all clients, is reached']);
  shares.leave('a');
  expect([shares.take('b'), shares.size]).toEqual([undefined, 3]);
});

it('counts stay right when thousands of clients come and go', () => {
  const shares = new Shares(limits);
  shares.take('stays');
  for (let each = 0; each < 5_000; each += 1) {
    expect(shares.take(`client ${each}`)).toBeUndefined();
    shares.leave(`client ${each}`);
  }
  expect(shares.size).toBe(1);
  expect([shares.take('stays'), shares.take('stays')]).toEqual([
    undefined,
    'limits.maxShare, 2 of one client, is reached',
  ]);
});
