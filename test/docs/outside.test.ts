/** `docs/outside.md` says which test shows each point: a row that names none, or one that is not there, is a claim nobody checks. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../support/processes.ts';

/** Rows of every table of the page, less the heads and the lines under them. */
const rows = readFileSync(join(root, 'docs/outside.md'), 'utf8').split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| what happens outside'))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

/** Attacks on who somebody is, by the names they go by. */
const attacks = [
  'wrong audience', 'issuer mix-up', 'algorithm confusion', 'expired mid-stream', 'replayed code', 'pkce downgrade', 'open redirect', 'cross-user session', 'cross-user stream', 'cross-user task',
  'cross-user cursor', 'cross-user state', 'forged proxy header', 'metadata ssrf', 'dns rebinding', 'tenant crossing', 'forged principal on the bus',
];

describe('docs/outside.md', () => {
  it.each(rows)('%s', (...cells) => {
    const named = /^`([^`]+)` "(.+)"$/.exec(cells[2] ?? '');
    expect(named, 'the last cell is: `path/of/a.test.ts` "title of the test"').not.toBeNull();
    const [, file, title] = named as unknown as [string, string, string];
    expect(existsSync(join(root, file)), `${file} is not there`).toBe(true);
    const source = readFileSync(join(root, file), 'utf8');
    expect(source.includes(title) || source.includes(title.replaceAll("'", String.raw`\'`)), `${file} has no test "${title}"`).toBe(true);
  });

  it.each(attacks)('has a test for %s', (attack) => {
    expect(rows.filter(([what = '']) => what.toLowerCase().startsWith(`**${attack}**`)).length).toBeGreaterThan(0);
  });

  it('says something', () => {
    expect(rows.every((cells) => cells.length === 3)).toBe(true);
  });
});
