import { expect, it } from 'vitest';
import { parseSecretYaml } from './secret-yaml.ts';

it.each([
  ['keys:\n  - id: a\n    hash: "0123digest\n    subject: ann\n', 'line 5, column 1 (MISSING_CHAR)'],
  ['keys:\n  - id: a\n    hash: 0123digest: 4\n', 'line 3, column 11 (BLOCK_AS_IMPLICIT_KEY)'],
  ['keys: [a, b\nhash: 0123digest }', 'line 2'],
  ['keys: @0123digest', 'line 1, column 7 (BAD_SCALAR_START)'],
  ['keys: *0123digest', 'alias'],
  ['a: 0123digest\n---\nb: 0123digest', 'MULTIPLE_DOCS'],
])('what is wrong with a text, and where, is said without a part of it: %j', (text, expected) => {
  let message = '';
  try {
    parseSecretYaml(text);
  } catch (error) {
    ({ message } = error as Error);
  }
  expect(message).toContain(expected);
  expect(message).toMatch(/^it is no YAML/);
  expect(message).not.toContain('digest');
  expect(message).not.toContain('\n');
});

it('a text that is YAML is what it says', () => {
  expect(parseSecretYaml('keys: [{ id: a }]')).toEqual({ keys: [{ id: 'a' }] });
  expect(parseSecretYaml('# nothing yet')).toBeNull();
});
