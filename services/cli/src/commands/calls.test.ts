import { expect, it } from 'vitest';
import { tagIn } from './calls.ts';

/** A script with twelve calls, and another call. */
const calls = [
  { tag: 'ab12' },
  ...Array.from({ length: 12 }, (_, number) => ({ tag: `ab12-${number + 1}`, run: 'ab12' })),
  { tag: 'ac34' },
];

it('a call is meant by the beginning of its tag, and a call of a run by its whole tag', () => {
  expect(tagIn(calls, 'ab')).toBe('ab12');
  expect(tagIn(calls, 'ab12')).toBe('ab12');
  expect(tagIn(calls, 'ab12-12')).toBe('ab12-12');
  expect(tagIn(calls, 'ab12-1')).toBe('ab12-1');
  expect(tagIn(calls, 'x')).toBe('x');
  expect(() => tagIn(calls, 'a')).toThrow('several calls begin with a');
});
