/**
 * `npm run stranger [-- package|clone]`: follows a new user's steps, from nothing to a first call of their own server, and prints
 * the seconds and megabytes of each step. It ends with 1 when a step fails. Figures in documents come from it, on an idle machine with two cores.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeArchive } from '../package/installed.ts';
import { root } from '../support/processes.ts';
import { fromClone, fromPackage } from './paths.ts';
import { Steps, type Step } from './steps.ts';

const [only] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'omnibus-archive-'));
const paths: Readonly<Record<string, (steps: Steps) => Promise<void>>> = {
  package: async (steps) => fromPackage((await makeArchive(folder)).file, steps),
  clone: (steps) =>
    fromClone(execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim(), steps),
};

const row = ({ path, what, seconds, megabytes }: Step): void =>
  console.log(
    `| ${path} | ${what} | ${seconds.toFixed(1)} s | ${megabytes === undefined ? '' : `${megabytes.toFixed(0)} MB`} |`,
  );

console.log('| from | step | takes | size |\n|---|---|---|---|');
try {
  for (const [name, walk] of Object.entries(paths)) {
    if (only !== undefined && only !== name) continue;
    const steps = new Steps(name, row);
    await walk(steps);
    const seconds = steps.all.reduce((sum, step) => sum + step.seconds, 0);
    row({ path: name, what: '**all of it**', seconds, megabytes: undefined });
  }
} catch (error) {
  console.error(`omnibus: a step failed: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
