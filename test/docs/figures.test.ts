/** Figures of pages are those that a command has written into a file of results, and every page can be found. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { root } from '../support/processes.ts';

const { logOf, timesOf, tookLine, withTimes } = (await import(pathToFileURL(join(root, 'scripts/where.mjs')).href)) as {
  readonly logOf: (words: readonly string[]) => string | undefined;
  readonly timesOf: (log: string) => {
    readonly tables: string;
    readonly wholeMs: number;
    readonly testsMs: number;
    readonly cores: number;
  };
  readonly tookLine: (wholeMs: number, cores: number) => string;
  readonly withTimes: (page: string, times: string) => string;
};
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

it('the time of the gate is written by the command that measures it, and named nowhere else', () => {
  const page = text('CONTRIBUTING.md');
  const [, before = '', written = '', after = ''] =
    /^([^]*)<!-- written by npm test -- --where -->\n([^]*)<!-- end of [^\n]+\n([^]*)$/.exec(page) ?? [];
  expect(written).toMatch(/^\nOn \d+ cores `npm test` takes \d+:\d\d minutes, of which its tests take \d+:\d\d\./);
  for (const other of [before, after, text('README.md'), text('.github/workflows/ci.yaml')])
    expect(other.match(/\d+:\d\d minutes|gate takes|npm test`? takes/)).toBeNull();
  expect(withTimes(page, written.trim())).toBe(page);
  expect(() => withTimes(before, '')).toThrow('the page lacks');
});

it('the time of the gate is in the log of its run, which is whole and has no failure', () => {
  const file = (name: string, took: number): string =>
    ` \u001B[32m✓\u001B[39m \u001B[30m\u001B[43m system \u001B[49m\u001B[39m ${name} \u001B[2m(\u001B[22m\u001B[2m14 tests\u001B[22m\u001B[2m | \u001B[22m\u001B[33m4 skipped\u001B[39m\u001B[2m)\u001B[22m\u001B[33m ${took}\u001B[2mms\u001B[22m\u001B[39m`;
  const lines = [
    file('test/e2e/calls.test.ts', 1_500),
    '   \u001B[33m✓\u001B[39m a test of it 900\u001B[2mms\u001B[22m',
    file('test/console/console.test.ts', 20_000),
    '\u001B[2m Test Files \u001B[22m \u001B[1m\u001B[32m2 passed\u001B[39m',
    'omnibus: 2 of 2 files in 9:29; the longest: test/console/console.test.ts 0:20',
    tookLine(632_679, 2),
  ];
  const log = lines.join('\n');
  const { tables, ...times } = timesOf(log);
  expect(times).toEqual({ wholeMs: 633_000, testsMs: 569_000, cores: 2 });
  expect(tables).toContain('| browsers | 1 | 20.0 |');
  expect(tables).toContain('| **all** | 2 | 21.5 |');
  expect(tables).toContain('| test/e2e/calls.test.ts | 1.5 |');
  const plain = stripVTControlCharacters(log).replaceAll(/✓ {2}(\w+) {2}/g, '✓ |$1| ');
  expect(plain).toContain(' ✓ |system| test/e2e/calls.test.ts (14 tests | 4 skipped) 1500ms\n');
  const downloaded = lines.map((line) => `2026-11-28T22:00:00.1234567Z ${line}\r`);
  for (const same of [
    plain,
    `\uFEFF${downloaded.join('\n')}`,
    `gate\tRun tests\t${downloaded.join('\ngate\tRun tests\t')}`,
  ])
    expect(timesOf(same)).toEqual({ tables, ...times });
  for (const other of [
    // A run of the long lane, of some files, or one that failed has no last line.
    lines.slice(0, -1).join('\n'),
    `${lines.slice(0, -1).join('\n')}\nreal\t10m32.679s`,
    log.replace('2 of 2', '1 of 2'),
    log.replace('2 passed', '1 failed'),
    `${log}\n     Errors  1 error`,
  ])
    expect(() => timesOf(other)).toThrow('no log');
  expect(() => timesOf(log.replace('2 of 2', '3 of 3'))).toThrow('the times of 2 files, and 3 have run');
});

it('the word after --where is a log; a test is run, and a name that is no file is an error', () => {
  expect(logOf(['--where', join(root, 'package.json')])).toBe(join(root, 'package.json'));
  for (const words of [[], ['--where'], ['--where', '--maxWorkers=2'], ['test/cost', '--where'], ['package.json']])
    expect(logOf(words)).toBeUndefined();
  expect(logOf(['--where', join(root, 'test/docs/figures.test.ts')])).toBeUndefined();
  expect(() => logOf(['--where', join(root, 'package.jsom')])).toThrow('is no file');
  expect(() => logOf(['--where', root])).toThrow('is no file');
});

it('docs/how-to/install.md names the number of packages that `npm start` installs, within a tenth', () => {
  const named = Number(/It installs (\d+) packages/.exec(text('docs/how-to/install.md'))?.[1]);
  const { packages } = JSON.parse(text('package-lock.json')) as {
    readonly packages: Readonly<
      Record<string, { dev?: boolean; link?: boolean; os?: string[]; cpu?: string[]; libc?: string[] }>
    >;
  };
  const fits = (wanted: readonly string[] | undefined, own: string): boolean => wanted?.includes(own) !== false;
  const installed = Object.entries(packages).filter(
    ([path, { dev, link, os, cpu, libc }]) =>
      path.includes('node_modules/') &&
      dev !== true &&
      link !== true &&
      fits(os, 'linux') &&
      fits(cpu, 'x64') &&
      fits(libc, 'glibc'),
  );
  expect(Math.abs(named - installed.length) / installed.length, `${installed.length} packages`).toBeLessThan(0.1);
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

/** Sections of a page with a table of measured figures. Tables with a column `formula` are calculated. */
const measured = ['speed', 'scale'].flatMap((name) => {
  const page = `docs/explanation/${name}.md`;
  return text(page)
    .split(/^(?=## )/m)
    .filter((section) => /^\|.*\d/m.test(section) && !section.includes('| formula |'))
    .map((section) => ({ page, title: section.split('\n', 1)[0] as string, section }));
});

it.each(measured)('$page, $title: names the command that measures its figures', ({ section }) => {
  const { scripts } = JSON.parse(text('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
  const commands = [...section.matchAll(/`(?:npm (?:run )?([\w:]+)|node (scripts\/[\w/-]+\.mjs))/g)];
  const there = commands.filter(([, script, file]) =>
    script === undefined ? existsSync(join(root, file as string)) : Object.hasOwn(scripts, script),
  );
  expect(there.length).toBeGreaterThan(0);
  expect(there).toEqual(commands);
});
