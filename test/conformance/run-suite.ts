/** The official conformance suite, run against a server at an address. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fixturePath, startProcess } from '../support/processes.ts';

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** The two versions of the suite: the latest on npm, and the newest, which supports 2026-07-28. */
export type SuiteName = '@modelcontextprotocol/conformance' | 'conformance-next';

export interface SuiteRun {
  readonly status: unknown;
  /** What it printed. */
  readonly output: string;
  /** The checks of each scenario, by its name. */
  readonly scenarios: ReadonlyMap<string, readonly Check[]>;
}

/** The program of a version of the suite. */
export function suitePath(name: SuiteName): string {
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'dist', 'index.js');
}

/** @param args options of the run, such as `--suite all`. */
export async function runSuite(name: SuiteName, url: string, args: readonly string[]): Promise<SuiteRun> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-conformance-'));
  const patient = ['--import', pathToFileURL(fixturePath('patient-suite')).href];
  const run = startProcess('node', [...patient, suitePath(name), 'server', '--url', url, '-o', folder, ...args]);
  const status = await new Promise((resolve) => {
    run.child.once('close', resolve);
  });
  const scenarios = new Map<string, Check[]>();
  for (const scenario of await readdir(folder)) {
    const checks = JSON.parse(await readFile(join(folder, scenario, 'checks.json'), 'utf8')) as Check[];
    scenarios.set(scenario.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T.*$/, ''), checks);
  }
  await rm(folder, { recursive: true });
  return { status, output: run.output(), scenarios };
}

/**
 * Runs a scenario in which the suite is the server, and judges its client.
 * @param command the program that the suite starts, to which it adds its address (`Driver.command`).
 * @param args further options of the run.
 */
export async function judgeClient(
  suite: SuiteName,
  {
    scenario,
    command,
    args = [],
  }: { readonly scenario: string; readonly command: string; readonly args?: readonly string[] },
): Promise<Pick<SuiteRun, 'status' | 'output'>> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-conformance-'));
  await using run = startProcess('node', [
    suitePath(suite),
    'client',
    '--command',
    command,
    '--scenario',
    scenario,
    ...args,
    '--timeout',
    '120000',
    '-o',
    folder,
  ]);
  const status = await new Promise((resolve) => {
    run.child.once('close', resolve);
  });
  await rm(folder, { recursive: true });
  return { status, output: run.output() };
}
