/** Where the calls of a run stand on its line of time. */
import type { Call } from '@omnibus/admin-api';

/** Width of the line, and of the shortest call. */
const whole = 1_000;
const least = 4;

/** The place of each call by its tag. A call that runs reaches to the end of the line. */
export function placesIn(
  run: Pick<Call, 'at' | 'ms'>,
  calls: readonly Pick<Call, 'tag' | 'at' | 'ms'>[],
): ReadonlyMap<string, { readonly from: number; readonly width: number }> {
  const ends = calls.map(({ at, ms = 0 }) => at + ms - run.at);
  const total = Math.max(1, run.ms ?? 0, ...ends);
  return new Map(
    calls.map(({ tag, at, ms }) => {
      const from = Math.min(whole - least, (whole * Math.max(0, at - run.at)) / total);
      const width = ms === undefined ? whole - from : Math.min(whole - from, Math.max(least, (whole * ms) / total));
      return [tag, { from, width }];
    }),
  );
}
