import { spawn } from 'node:child_process';
import { whenOrphaned } from './orphaned.mjs';

/**
 * Runs a program until it ends by itself: Ctrl-C reaches it directly, SIGTERM is forwarded. Under npm it gets SIGTERM when npm has ended too. Several may run at once.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 * @returns {Promise<number>} its exit code; 1 if it cannot run, which is printed, or if a signal has ended it.
 */
export function runInteractive(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: 'inherit' });
  const [ignore, forward] = [() => undefined, () => child.kill('SIGTERM')];
  process.on('SIGINT', ignore).on('SIGTERM', forward);
  if (options.env?.npm_lifecycle_event !== undefined) whenOrphaned(forward);
  return new Promise((resolve) => {
    const ended = (status) => {
      process.off('SIGINT', ignore).off('SIGTERM', forward);
      resolve(status);
    };
    child
      .on('exit', (code, signal) => ended(signal === null ? code : 1))
      .on('error', (error) => {
        console.error(`omnibus: cannot run ${command}: ${error.message}`);
        ended(1);
      });
  });
}
