/**
 * A Docker engine for the length of a test run, so that CI runs what only containers show. Where one answers already it is used;
 * where none can be started the tests do without, and say so.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const startMs = 30_000;
const stopMs = 20_000;

/**
 * @param provide installs Debian's package of a program that is not there; false when it cannot.
 * @returns the variables that tell programs of the engine, and what ends it; undefined when there is one already or none can be had.
 */
export async function startDockerEngine(provide) {
  if (answers({})) return undefined;
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !provide('dockerd', 'docker.io')) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-docker-'));
  const host = `unix://${join(folder, 'docker.sock')}`;
  const env = { DOCKER_HOST: host };
  const log = join(folder, 'log');
  const daemon = spawn('dockerd', ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--pidfile', join(folder, 'pid'), '--host', host], { stdio: ['ignore', 'ignore', openSync(log, 'w')] });
  const ended = new Promise((resolve) => {
    daemon.once('exit', resolve);
    daemon.once('error', resolve);
  });
  const isRunning = () => daemon.pid !== undefined && daemon.exitCode === null && daemon.signalCode === null;
  const stop = async () => {
    if (isRunning()) daemon.kill('SIGTERM');
    await Promise.race([ended, pause(stopMs, undefined, { ref: false })]);
    if (isRunning()) daemon.kill('SIGKILL');
    // The engine leaves its own mounts behind, and a folder with something mounted in it cannot be removed.
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n').map((line) => line.split(' ')[1]).filter((path) => path?.startsWith(`${folder}/`));
    for (const path of mounts.toReversed()) spawnSync('umount', ['--lazy', path]);
    rmSync(folder, { recursive: true, force: true });
  };
  for (const until = Date.now() + startMs; isRunning() && Date.now() < until;) {
    if (answers(env)) return { env, stop };
    await pause(200);
  }
  console.error(`omnibus: no Docker engine could be started, so what needs one is not run: ${readFileSync(log, 'utf8').trim().split('\n').at(-1)}`);
  await stop();
  return undefined;
}

function answers(env) {
  return spawnSync('docker', ['info', '--format', '{{.ServerVersion}}'], { env: { ...process.env, ...env }, stdio: 'ignore', timeout: 5_000 }).status === 0;
}
