/** Times in a search for records. */

const spans = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads "15m", "2h" or "7d" as that long ago, else a date. @returns ISO 8601; undefined for an invalid time. */
export function readTime(text: string): string | undefined {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const at = count === undefined ? Date.parse(text) : Date.now() - Number(count) * spans[unit as keyof typeof spans];
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
