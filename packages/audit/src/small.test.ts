import { describe, expect, it } from 'vitest';
import { isSmall } from './small.ts';

describe('a value that is kept until a batch of records is full', () => {
  it.each([
    undefined,
    null,
    7,
    true,
    'a text',
    {},
    [],
    { path: '/a', lines: [1, 2, 3], options: { deep: { deeper: 'x' } } },
  ])('is small: %j', (value) => expect(isSmall(value)).toBe(true));

  it.each([
    ['a long text', 'x'.repeat(5_000)],
    ['a long text below', { files: [{ text: 'x'.repeat(5_000) }] }],
    ['many texts', Array.from({ length: 20 }, () => 'x'.repeat(500))],
    ['many values', Array.from({ length: 100 }, (_, index) => index)],
    ['many members', Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`name-${index}`, index]))],
    ['a long name', { ['x'.repeat(5_000)]: 1 }],
    ['many levels', JSON.parse(`${'['.repeat(50)}${']'.repeat(50)}`) as unknown],
  ])('is not %s', (_what, value) => expect(isSmall(value)).toBe(false));
});
