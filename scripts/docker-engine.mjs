/**
 * Starts a Docker engine for a test run, so that CI includes the tests that need containers. A running engine is used; where none can be started, those
 * tests are left out, with a message.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const startMs = 30_000;
const stopMs = 20_000;

/**
 * @param provide installs the Debian package of a missing program; returns false when that fails.
 * @returns the environment variables with the address of the engine, and a function that ends it; undefined when an engine runs already or none can be
 * started.
 */
export async function startDockerEngine(provide) {
  if (answers({})) return undefined;
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !provide('dockerd', 'docker.io')) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-docker-'));
  const host = `unix://${join(folder, 'docker.sock')}`;
  const env = { DOCKER_HOST: host };
  const log = join(folder, 'log');
  const daemon = spawn(
    'dockerd',
    [
      '--data-root',
      join(folder, 'data'),
      '--exec-root',
      join(folder, 'exec'),
      '--pidfile',
      join(folder, 'pid'),
      '--host',
      host,
    ],
    { stdio: ['ignore', 'ignore', openSync(log, 'w')] },
  );
  const ended = new Promise((resolve) => {
    daemon.once('exit', resolve);
    daemon.once('error', resolve);
  });
  const isRunning = () => daemon.pid !== undefined && daemon.exitCode === null && daemon.signalCode === null;
  const stop = async () => {
    if (isRunning()) daemon.kill('SIGTERM');
    await Promise.race([ended, pause(stopMs, undefined, { ref: false })]);
    if (isRunning()) daemon.kill('SIGKILL');
    // The engine leaves mounts behind, and a folder with a mount in it cannot be removed.
    const mounts = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[1])
      .filter((path) => path?.startsWith(`${folder}/`));
    for (const path of mounts.toReversed()) spawnSync('umount', ['--lazy', path]);
    rmSync(folder, { recursive: true, force: true });
  };
  for (const until = Date.now() + startMs; isRunning() && Date.now() < until;) {
    if (answers(env)) return { env, stop };
    await pause(200);
  }
  console.error(
    `omnibus: no Docker engine could be started, so what needs one is not run: ${readFileSync(log, 'utf8').trim().split('\n').at(-1)}`,
  );
  await stop();
  return undefined;
}

function answers(env) {
  return (
    spawnSync('docker', ['info', '--format', '{{.ServerVersion}}'], {
      env: { ...process.env, ...env },
      stdio: 'ignore',
      timeout: 5_000,
    }).status === 0
  );
}
