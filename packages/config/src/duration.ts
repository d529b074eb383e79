/** Durations as people write them: `500ms`, `30s`, `10m`, `1h`, or a number of milliseconds as desktop clients write it. */
const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

export const durationHint = 'a duration such as "500ms", "30s", "10m" or "1h", or a number of milliseconds';

/** Milliseconds, or undefined when the text is no duration. */
export function parseDurationMs(value: string | number): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(value.trim());
  if (match === null) return undefined;
  return Number(match[1]) * units[match[2] as keyof typeof units];
}
