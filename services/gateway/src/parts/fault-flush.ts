/** Logs, from time to time, the numbers of faults that were counted instead of logged one by one. */
import { repeat } from '../measure.ts';
import type { Part } from '../part.ts';

/** Milliseconds between two flushes. */
const flushMs = 5_000;

export const faultFlush: Part = {
  name: 'the log of faults',
  start: ({ wheel, faults }) => ({ offers: undefined, stop: repeat(wheel, flushMs, () => faults.flush()) }),
};
