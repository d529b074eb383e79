export interface BackoffOptions {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * Milliseconds to wait before attempt `failures + 1`: doubles from `minMs` to `maxMs`, with the upper half random so that
 * many clients of one dead server do not come back in step.
 * @param random a number in [0, 1)
 */
export function backoffMs(failures: number, { minMs, maxMs }: BackoffOptions, random: number): number {
  const ceiling = Math.min(maxMs, minMs * 2 ** Math.min(failures, 30));
  return Math.round(ceiling / 2 + (ceiling / 2) * random);
}
