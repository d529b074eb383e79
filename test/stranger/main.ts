/**
 * `npm run stranger [-- package|clone|chart]`: follows a new user's steps, from nothing to a first call of their own server, and prints
 * the seconds and megabytes of each step. It ends with 1 when a step fails. Figures in documents come from it, on an idle machine with two cores.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findHelm } from '../deploy/helm.ts';
import { makeArchive } from '../package/installed.ts';
import { ApiServer, findApiServer } from '../support/api-server.ts';
import { canRunPods } from '../support/cluster/node.ts';
import { root } from '../support/processes.ts';
import { fromChart, imagesOf } from './from-chart.ts';
import { fromClone, fromPackage } from './paths.ts';
import { Steps, type Step } from './steps.ts';

const [only] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'omnibus-archive-'));
const paths: Readonly<Record<string, (steps: Steps) => Promise<void>>> = {
  package: async (steps) => fromPackage((await makeArchive(folder)).file, steps),
  clone: (steps) =>
    fromClone(execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim(), steps),
  chart,
};

/** Installs the archive of the chart with the package as its image. Without an API server, the chart is rendered. */
async function chart(steps: Steps): Promise<void> {
  const helm = findHelm();
  if (helm === undefined || !canRunPods) {
    console.error('omnibus: no Helm, or no bubblewrap; the path from the chart is left out');
    return;
  }
  await using stack = new AsyncDisposableStack();
  const image = join(folder, 'image');
  await mkdir(image);
  const { file } = await makeArchive(image);
  execFileSync('tar', ['-xzf', file, '-C', image]);
  const programs = await findApiServer();
  const api = programs === undefined ? undefined : stack.use(await ApiServer.start(programs));
  await fromChart({ helm, api, images: imagesOf([[join(image, 'package'), '/app']], '/app/bin/omnibus.js') }, steps);
}

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
