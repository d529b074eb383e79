/** The lane of a run: `npm test` is short, `npm run test:long` is whole. `scripts/lanes.mjs` names the files of each. */

/** Whether the long lane runs, or one of the suites by its own command (`test:chaos`, `test:fuzz`). */
export const isLongLane = process.env['OMNIBUS_LANE'] === 'long';

/**
 * A number that an environment variable chooses, and otherwise the lane.
 * @param variable name of the environment variable.
 */
export function byLane(variable: string, short: number, long: number): number {
  return Number(process.env[variable] ?? (isLongLane ? long : short));
}
