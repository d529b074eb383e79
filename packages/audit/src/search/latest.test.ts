import { expect, it } from 'vitest';
import { LatestRecords } from './latest.ts';

const at = (second: number, name = ''): { readonly time: string; readonly name: string } => ({
  time: new Date(1_700_000_000_000 + second * 1_000).toISOString(),
  name,
});

it.each([1, 2, 3, 7, 50])(
  'of the records of three writers, the latest %i are kept, in the order of their times',
  (limit) => {
    const latest = new LatestRecords(limit);
    const writers = [0, 1, 2].map((writer) => Array.from({ length: 30 }, (_, index) => at(3 * index + writer)));
    // The files are read one after another, and not in the order of their times.
    for (const records of [writers[2], writers[0], writers[1]]) for (const record of records ?? []) latest.add(record);
    expect(latest.all).toEqual(Array.from({ length: 90 }, (_, second) => at(second)).slice(-limit));
  },
);

it('records of one moment stay in the order in which they came, and one without a time goes first', () => {
  const latest = new LatestRecords(4);
  for (const record of [at(2, 'a'), { name: 'damaged' }, at(1, 'b'), at(2, 'c'), at(2, 'd'), { time: 7 }])
    latest.add(record);
  expect(latest.all).toEqual([at(1, 'b'), at(2, 'a'), at(2, 'c'), at(2, 'd')]);
});
