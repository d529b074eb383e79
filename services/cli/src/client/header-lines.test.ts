import { expect, it } from 'vitest';
import { headerProblem, headersOf } from './header-lines.ts';

const key = 'omk_0123456789ab_secret';

it.each([
  [[`Authorization Bearer ${key}`], 'the given one has no colon'],
  [['a: 1', `Authorization Bearer ${key}`], 'number 2 has no colon'],
  [[`: ${key}`], 'the given one has no name'],
  [[`Author ization: Bearer ${key}`], 'the given one has characters that a header cannot have'],
  [[`authorization: Bearer ${key}\nx: y`], 'the given one has characters that a header cannot have'],
  [[`authorization: ${key}\0`], 'the given one has characters that a header cannot have'],
])('what is wrong with a header is said without it (%#)', (lines, problem) => {
  expect(headerProblem(lines)).toBe(`--header: expected "Name: value"; ${problem}`);
});

it('headers are read by name, with colons in their values', () => {
  const lines = ['Authorization : Bearer x', 'x-url:http://a:1', 'empty:'];
  expect(headerProblem(lines)).toBeUndefined();
  expect(headersOf(lines)).toEqual({ Authorization: 'Bearer x', 'x-url': 'http://a:1', empty: '' });
});
