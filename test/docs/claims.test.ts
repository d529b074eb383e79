/** Some documents name a test for each claim. A row without a test, or with one that does not exist, is an unchecked claim. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../support/processes.ts';

/** The rows of every table whose last column is called `test`, without the heads. */
function claimsOf(document: string): readonly (readonly string[])[] {
  const claims: string[][] = [];
  let width = 0;
  for (const line of readFileSync(join(root, document), 'utf8').split('\n')) {
    if (!line.startsWith('|')) width = 0;
    else if (width === 0) width = line.endsWith('| test |') ? line.split(' | ').length : -1;
    else if (width > 0 && !/^\| ?---/.test(line)) {
      const cells = line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim());
      expect(cells, line).toHaveLength(width);
      claims.push(cells);
    }
  }
  return claims;
}

const documents = {
  'docs/internals/outside.md': 230,
  'docs/explanation/threat-model.md': 35,
  'docs/reference/guarantees.md': 34,
};

/** Attacks on the identity of callers, by their common names. */
const attacks = [
  'wrong audience',
  'issuer mix-up',
  'algorithm confusion',
  'expired mid-stream',
  'replayed code',
  'pkce downgrade',
  'open redirect',
  'cross-user session',
  'cross-user stream',
  'cross-user task',
  'cross-user cursor',
  'cross-user state',
  'forged proxy header',
  'metadata ssrf',
  'dns rebinding',
  'tenant crossing',
  'forged principal on the bus',
];

describe.each(Object.entries(documents))('%s', (document, least) => {
  const claims = claimsOf(document);

  it.each(claims)('%s', (...cells) => {
    const named = /^`([^`]+)` "(.+)"$/.exec(cells.at(-1) ?? '');
    expect(named, 'the last cell is: `path/of/a.test.ts` "title of the test"').not.toBeNull();
    const [, file, title] = named as unknown as [string, string, string];
    expect(existsSync(join(root, file)), `${file} is not there`).toBe(true);
    const source = readFileSync(join(root, file), 'utf8');
    expect(
      source.includes(title) || source.includes(title.replaceAll("'", String.raw`\'`)),
      `${file} has no test "${title}"`,
    ).toBe(true);
  });

  it('has about as many claims as it had', () => {
    expect(claims.length).toBeGreaterThanOrEqual(least);
  });
});

describe('docs/internals/outside.md', () => {
  it.each(attacks)('has a test for %s', (attack) => {
    expect(
      claimsOf('docs/internals/outside.md').filter(([what = '']) => what.toLowerCase().startsWith(`**${attack}**`))
        .length,
    ).toBeGreaterThan(0);
  });
});
