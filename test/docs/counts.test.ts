/** The last line of a run: how many tests have passed, failed and were skipped. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { root } from '../support/processes.ts';

interface Report {
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly object[] }[];
}
const { countsOf } = (await import(pathToFileURL(join(root, 'scripts/counts.mjs')).href)) as {
  readonly countsOf: (report: Report, status: number) => object;
};

const file = (status: string, ...tests: readonly string[]): Report['testResults'][number] => ({
  status,
  assertionResults: tests.map((each) => ({ status: each })),
});

it('skipped tests of a run that failed count as skipped', () => {
  const testResults = [
    file('failed', 'passed', 'failed', 'failed'),
    file('passed', 'passed', 'skipped', 'skipped', 'todo'),
  ];
  expect(countsOf({ testResults }, 1)).toEqual({ passed: 2, failed: 2, skipped: 3 });
  expect(countsOf({ testResults: testResults.slice(1) }, 0)).toEqual({ passed: 1, failed: 0, skipped: 3 });
});

it('tests of a file whose preparation failed count as failed, and a file that could not be loaded as one', () => {
  const testResults = [file('failed', 'skipped', 'skipped'), file('failed'), file('passed', 'passed')];
  expect(countsOf({ testResults }, 1)).toEqual({ passed: 1, failed: 3, skipped: 0 });
});

it('an error outside of the files is a failure', () => {
  expect(countsOf({ testResults: [file('passed', 'passed')] }, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 });
});
