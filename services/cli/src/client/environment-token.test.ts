/** The key or token that a command takes from its environment. */
import { expect, it } from 'vitest';
import { environmentToken } from './environment-token.ts';

it.each([
  ['omk_a_b', 'omk_a_b'],
  ['omk_a_b\n', 'omk_a_b'],
  ['  omk_a_b\r\n', 'omk_a_b'],
  ['Bearer omk_a_b', 'omk_a_b'],
  ['', undefined],
  [' \n', undefined],
])('of %j the credential is %j', (given, expected) => {
  expect(environmentToken({ OMNIBUS_TOKEN: given })).toBe(expected);
});

it.each(['two words', 'ümlaut', 'line\nbreak'])('%j cannot be sent, and is not repeated', (given) => {
  expect(() => environmentToken({ OMNIBUS_TOKEN: given })).toThrow(
    expect.objectContaining({ exit: 'usage', message: expect.not.stringContaining(given) as string }),
  );
});
