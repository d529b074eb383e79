import { expect, it } from 'vitest';
import { placesIn } from './run-places.ts';

it('calls of a run stand where they ran, one that runs reaches to the end, and none leaves the line', () => {
  const calls = [
    { tag: 'a', at: 1_000, ms: 50 },
    { tag: 'b', at: 1_050, ms: 0 },
    { tag: 'c', at: 1_075, ms: undefined },
    // The clock of another machine.
    { tag: 'd', at: 900, ms: 10 },
    { tag: 'e', at: 1_100, ms: 0 },
  ];
  expect(Object.fromEntries(placesIn({ at: 1_000, ms: 100 }, calls))).toEqual({
    a: { from: 0, width: 500 },
    b: { from: 500, width: 4 },
    c: { from: 750, width: 250 },
    d: { from: 0, width: 100 },
    e: { from: 996, width: 4 },
  });
});

it('a run without a time yet is as long as its calls', () => {
  expect(placesIn({ at: 0, ms: undefined }, [{ tag: 'a', at: 100, ms: 100 }]).get('a')).toEqual({
    from: 500,
    width: 500,
  });
});
