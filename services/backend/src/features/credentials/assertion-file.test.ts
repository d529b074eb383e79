/** Files with assertions by which the gateway asks for tokens. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readAssertion } from './assertion-file.ts';

it.each([
  ['a.b.c\n', undefined],
  ['', /is empty$/],
  [' \r\n', /is empty$/],
  [undefined, /cannot be read: ENOENT$/],
])('a file with %j', (text, problem) => {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-assertion-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'token');
  if (text !== undefined) writeFileSync(file, text);
  if (problem === undefined) expect(readAssertion(file)).toBe('a.b.c');
  else expect(() => readAssertion(file)).toThrow(problem);
});
