/** Figures of pages are those that a command has written into a file of results, and every page can be found. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../support/processes.ts';

const text = (path: string): string => readFileSync(join(root, path), 'utf8');
const explanations = readdirSync(join(root, 'docs/explanation')).map((name) => `docs/explanation/${name}`);

/** Rows of tables with measured costs, each with the file of results that the page has linked to last. */
const rows = explanations.flatMap((page) => {
  let results: string | undefined;
  let isMeasured = false;
  return text(page)
    .split('\n')
    .flatMap((line) => {
      results = /\]\(([^)]*bench\/results\/[^)]+\.md)\)/.exec(line)?.[1] ?? results;
      if (!line.startsWith('|')) isMeasured = false;
      else if (line.includes('| CPU a call |')) isMeasured = true;
      else if (isMeasured && !line.startsWith('|---')) return [{ page, results, line }];
      return [];
    });
});

describe('measured costs of calls', () => {
  it('are in at least two pages', () => {
    expect(new Set(rows.map(({ page }) => page)).size).toBeGreaterThanOrEqual(2);
  });

  it.each(rows)('$page: $line', ({ page, results, line }) => {
    expect(results, 'no file of results is linked before the table').toBeDefined();
    expect(text(join(dirname(page), results as string)).split('\n')).toContain(line);
  });
});

it('docs/README.md links to every page of every kind', () => {
  const linked = text('docs/README.md');
  const pages = ['tutorials', 'how-to', 'reference', 'explanation', 'internals'].flatMap((folder) =>
    readdirSync(join(root, 'docs', folder)).map((name) => `${folder}/${name}`),
  );
  expect(pages.filter((page) => !linked.includes(`(${page})`))).toEqual([]);
});

it('the README is short: at most 120 lines, five links and one picture', () => {
  const readme = text('README.md');
  const links = [...readme.matchAll(/(!?)\[[^\]]+\]\([^)]+\)/g)].map(([, picture]) => picture);
  expect(readme.split('\n').length).toBeLessThanOrEqual(120);
  expect(links.filter((picture) => picture === '').length).toBeLessThanOrEqual(5);
  expect(links.filter((picture) => picture === '!')).toHaveLength(1);
});
