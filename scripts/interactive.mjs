import { spawn } from 'node:child_process';
import { whenOrphaned } from './orphaned.mjs';

/**
 * Runs a program until it ends by itself: Ctrl-C reaches it directly, SIGTERM is forwarded. Under npm it gets SIGTERM when npm has ended too.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 * @returns {Promise<number>} its exit code; 1 if a signal has ended it.
 */
export function runInteractive(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: 'inherit' });
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  if (options.env?.npm_lifecycle_event !== undefined) whenOrphaned(() => child.kill('SIGTERM'));
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(signal === null ? code : 1));
  });
}
