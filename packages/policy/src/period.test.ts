/** The period in which a rule holds. */
import { describe, expect, it } from 'vitest';
import { timeCondition } from './conditions.ts';
import { periodOf } from './period.ts';
import type { Circumstances } from './conditions.ts';

const iso = (ms: number): string => new Date(ms).toISOString();

describe.each([
  ['2026-12-24', 'UTC', '2026-12-24T00:00:00.000Z', '2026-12-25T00:00:00.000Z'],
  ['2026-12-24', 'Europe/Berlin', '2026-12-23T23:00:00.000Z', '2026-12-24T23:00:00.000Z'],
  ['2026-12-24T18:00', 'America/New_York', '2026-12-24T23:00:00.000Z', '2026-12-24T23:00:00.000Z'],
  ['2026-12-24T18:00:00', 'UTC', '2026-12-24T18:00:00.000Z', '2026-12-24T18:00:00.000Z'],
  ['2026-12-24T18:00+01:00', 'Asia/Tokyo', '2026-12-24T17:00:00.000Z', '2026-12-24T17:00:00.000Z'],
  ['2026-12-24T18:00Z', 'Asia/Tokyo', '2026-12-24T18:00:00.000Z', '2026-12-24T18:00:00.000Z'],
  // Clocks go forward from 2:00 to 3:00: the day has 23 hours, and 2:30 does not exist.
  ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
  ['2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:00:00.000Z', '2026-03-29T01:00:00.000Z'],
  ['2028-02-29', 'UTC', '2028-02-29T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
])('%s in %s', (text, zone, begins, ends) => {
  it(`begins at ${begins} and ends at ${ends}`, () => {
    expect(iso(periodOf(text, undefined, zone).from)).toBe(begins);
    expect(iso(periodOf(undefined, text, zone).until)).toBe(ends);
  });
});

it('a moment that is none, and a period that ends before it begins, are named', () => {
  for (const text of ['2026-13-01', '2026-02-30', '24.12.2026', '2026-12-24 18:00', '2026-12-24T25:00', '', 'tomorrow'])
    expect(() => periodOf(text, undefined, 'UTC'), text).toThrow('`from`: expected a date such as "2026-12-24"');
  expect(() => periodOf('2026-12-25', '2026-12-24', 'UTC')).toThrow(
    'it ends (2026-12-24) before it begins (2026-12-25)',
  );
  expect(() => periodOf('2026-12-24', undefined, 'Nowhere/Else')).toThrow();
  for (const offset of ['+25:00', '-99:99', '+01:60']) {
    expect(() => periodOf(`2026-12-24T18:00${offset}`, undefined, 'UTC')).toThrow('`from`: expected a date');
    expect(() => periodOf(undefined, `2026-12-24T18:00${offset}`, 'UTC')).toThrow('`until`: expected a date');
  }
  // One day.
  expect(periodOf('2026-12-24', '2026-12-24', 'UTC').until).toBeGreaterThan(
    periodOf('2026-12-24', undefined, 'UTC').from,
  );
});

it('a rule with a period holds from its beginning until its end, on its days and hours only', () => {
  const holds = timeCondition({ from: '2026-12-01', until: '2026-12-24T18:00', zone: 'Europe/Berlin' });
  const inHours = timeCondition({ from: '2026-12-01', hours: '08:00-10:00' });
  const at = (time: string): Circumstances => ({ now: Date.parse(time) }) as Circumstances;
  expect(
    ['2026-11-30T22:59:59Z', '2026-11-30T23:00:00Z', '2026-12-24T16:59:59Z', '2026-12-24T17:00:00Z'].map((time) =>
      holds(at(time)),
    ),
  ).toEqual(['no', 'yes', 'yes', 'no']);
  expect(
    ['2026-11-30T09:00:00Z', '2026-12-01T09:00:00Z', '2026-12-01T11:00:00Z'].map((time) => inHours(at(time))),
  ).toEqual(['no', 'yes', 'no']);
});
