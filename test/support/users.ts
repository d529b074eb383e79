import { writeFile } from 'node:fs/promises';
import { digestOf, formatUsers, leastCost } from '@omnibus/authorization';
import { omnibusProgram, startProcess } from './processes.ts';

/** Runs `omnibus users` for a file of users. @param password for the prompt. @returns the exit code. */
export async function manageUsers(file: string, password: string, ...args: readonly string[]): Promise<number> {
  const running = startProcess('node', [omnibusProgram, 'users', ...args, '--file', file], {}, 'pipe');
  running.child.stdin?.end(`${password}\n`);
  return new Promise((resolve) => {
    running.child.once('close', (code) => resolve(code ?? -1));
  });
}

/** Writes a file of users who have the same password, for tests that are not about the command: without its start and the cost of real digests. */
export async function writeUsers(file: string, password: string, ...names: readonly string[]): Promise<void> {
  const digest = await digestOf(password, leastCost);
  await writeFile(file, formatUsers(names.map((name) => ({ name, password: digest, groups: [] }))));
}
