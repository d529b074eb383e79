/** Durations as people write them: `500ms`, `30s`, `10m`, `1h`, `90d`, or a number of milliseconds as desktop clients write it. */
const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const durationHint =
  'a duration such as "500ms", "30s", "10m", "1h" or "90d", or a number of milliseconds from 1000 on';

/** Milliseconds, or undefined when the text is no duration. */
export function parseDurationMs(value: string | number): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value.trim());
  if (match === null) return undefined;
  return Number(match[1]) * units[match[2] as keyof typeof units];
}

const longUnits: Readonly<Record<string, keyof typeof units>> = {
  sec: 's',
  secs: 's',
  second: 's',
  seconds: 's',
  min: 'm',
  mins: 'm',
  minute: 'm',
  minutes: 'm',
  hr: 'h',
  hour: 'h',
  hours: 'h',
  day: 'd',
  days: 'd',
};

/** The duration that was probably meant, such as "1m" for "1 minute"; undefined if none is near. */
export function nearDuration(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (/^\s*\d+\s*$/.test(value)) return `${value.trim()}${Number(value) < 1_000 ? 's' : 'ms'}`;
  const [, number, unit] = /^(\d+(?:[.,]\d+)?)\s*([a-z]+)$/i.exec(value.trim()) ?? [];
  if (number === undefined || unit === undefined) return undefined;
  const word = unit.toLowerCase();
  const near = Object.hasOwn(units, word) ? word : longUnits[word];
  return near === undefined ? undefined : `${number.replace(',', '.')}${near}`;
}

/**
 * Some clients write seconds as a bare number and others milliseconds. Less than a second is implausible, so the message asks for the unit.
 * @returns the problem of a duration, in words; undefined if it is valid.
 */
export function durationProblem(value: unknown): string | undefined {
  if (typeof value === 'number' && value > 0 && value < 1_000)
    return `a bare number is milliseconds here and seconds elsewhere: write "${value}s" or "${value}ms"`;
  return (typeof value === 'number' || typeof value === 'string') && parseDurationMs(value) !== undefined
    ? undefined
    : `expected ${durationHint}`;
}
