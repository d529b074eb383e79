import { anonymous, rootEndpoint, type Caller } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { Shares } from './shares.ts';

const limits = { share: { name: 'maxShare', value: 2 }, total: { name: 'maxTotal', value: 3 } };
const [a, b, staying] = [at('a'), at('b'), at('stays')] as const;

function at(origin: string): Caller {
  return { principal: anonymous, endpoint: rootEndpoint, origin };
}

it('a client reaches its share before the total is used up, and a place that it gives back can be taken', () => {
  const shares = new Shares('listen.limit', limits);
  expect([shares.take(a), shares.take(a), shares.take(a)]).toEqual([
    undefined,
    undefined,
    { reason: 'listen.limit', message: 'limits.maxShare, 2 of one client, is reached' },
  ]);
  expect([shares.take(b), shares.take(b)]).toEqual([
    undefined,
    { reason: 'listen.limit', message: 'limits.maxTotal, 3 of all clients, is reached' },
  ]);
  shares.give(a);
  expect([shares.take(b), shares.taken]).toEqual([undefined, 3]);
});

it('counts stay right when thousands of clients come and go', () => {
  const shares = new Shares('listen.limit', limits);
  shares.take(staying);
  for (let each = 0; each < 5_000; each += 1) {
    expect(shares.take(at(`client ${each}`))).toBeUndefined();
    shares.give(at(`client ${each}`));
  }
  expect(shares.taken).toBe(1);
  expect([shares.take(staying), shares.take(staying)]).toEqual([
    undefined,
    { reason: 'listen.limit', message: 'limits.maxShare, 2 of one client, is reached' },
  ]);
});
