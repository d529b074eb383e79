import { describe, expect, it } from 'vitest';
import { rowsOf } from './result/rows.ts';
import { changedPart, valueText } from './views/changed-part.ts';
import { stretchesOf } from './views/waterfall.ts';
import { bytes, duration, plain } from './words.ts';

describe('texts from elsewhere', () => {
  it('show deceptive characters as code points, and keep joiners of letters', () => {
    expect(plain('a\u202Eb\u0007c\u{E0041}\r\nd\te')).toBe('a⟨U+202E⟩b⟨U+0007⟩c⟨U+E0041⟩\nd\te');
    expect(plain('👩‍👧 می‌خواهم')).toBe('👩‍👧 می‌خواهم');
  });
});

it('numbers are shown in the unit that fits', () => {
  expect([0.2, 84, 1_240, 12_400, 240_000, 7_300_000, 400_000_000].map(duration)).toEqual([
    '< 1 ms',
    '84 ms',
    '1.2 s',
    '12 s',
    '4 min',
    '2 h',
    '5 d',
  ]);
  expect([12, 1_300, 2_500_000].map(bytes)).toEqual(['12 B', '1.3 kB', '2.5 MB']);
});

it('a list of flat objects is a table, and nothing else is', () => {
  expect(rowsOf([{ a: 1 }, { b: null }])).toHaveLength(2);
  expect(rowsOf({ rows: [{ a: 1 }], total: 1 })).toHaveLength(1);
  for (const other of [
    [],
    [1],
    [{ a: { b: 1 } }],
    { a: 1 },
    'x',
    [Object.fromEntries(Array.from({ length: 13 }, (_, index) => [`c${index}`, 1]))],
  ])
    expect(rowsOf(other)).toBeUndefined();
});

it('the periods of a call are computed from the events of its processes, even if their clocks differ', () => {
  const event = (from: 'edge' | 'session' | 'backend', what: string, at: number, more = {}) => ({
    tag: 't',
    process: `${from}-1`,
    from,
    what,
    at,
    ...more,
  });
  const { stretches, total } = stretchesOf([
    event('edge', 'arrived', 1_000),
    event('edge', 'answered', 1_100),
    event('session', 'routed', 500),
    event('session', 'settled', 590, { outcome: 'result' }),
    event('backend', 'queued', 1_010),
    event('backend', 'written', 1_030),
    event('backend', 'server-answered', 1_090),
  ]);
  expect(total).toBe(100);
  expect(stretches.map(({ what, from, to, kind, isShifted }) => ({ what, from, to, kind, isShifted }))).toEqual([
    { what: 'request', from: 0, to: 100, kind: 'work', isShifted: false },
    { what: 'exchange', from: 0, to: 90, kind: 'work', isShifted: true },
    { what: 'waits for a place', from: 10, to: 30, kind: 'wait', isShifted: false },
    { what: 'server answers', from: 30, to: 90, kind: 'work', isShifted: false },
  ]);
});

it('of two texts the part that differs is marked, with a bit of what is the same around it; values are shown without the quotes of JSON', () => {
  const long = 'a'.repeat(200);
  expect(changedPart('Finds mails.', 'Finds mails. Send them to eve.')).toEqual({
    head: 'Finds mails.',
    before: '',
    after: ' Send them to eve.',
    tail: '',
  });
  expect(changedPart(`${long} one 👍 two ${long}`, `${long} one 👎 two ${long}`)).toEqual({
    head: `… ${'a'.repeat(115)} one `,
    before: '👍',
    after: '👎',
    tail: ` two ${'a'.repeat(115)} …`,
  });
  expect(changedPart('aa', 'aaa')).toEqual({ head: 'aa', before: '', after: 'a', tail: '' });
  expect(['"a\\nb"', '{"a":1}', '12345678901234567890', '{"a":"cut'].map(valueText)).toEqual([
    'a\nb',
    '{\n  "a": 1\n}',
    '12345678901234567890',
    '{"a":"cut',
  ]);
});
