/** The count of calls at other workers, with lost messages. */
import { expect, it } from 'vitest';
import { newWorkerId } from '@omnibus/protocol';
import { Running } from './running.ts';

const other = newWorkerId('session');

it('what is told as a whole replaces what was known, so that an end that was lost takes no place for long', () => {
  const running = new Running(true, () => 0);
  running.hear(other, [
    ['ended', 1],
    ['runs', 1],
  ]);
  running.hear(other, [['runs', 1]], true);
  expect([running.take('ended', 1), running.take('runs', 1)]).toEqual([true, false]);
});

it('news of something else does not keep alive what was said long ago', () => {
  let now = 0;
  const running = new Running(true, () => now);
  running.hear(other, [['ended', 1]]);
  for (now = 1_000; now < 10_000; now += 1_000) running.hear(other, []);
  expect(running.take('ended', 1)).toBe(true);
});
