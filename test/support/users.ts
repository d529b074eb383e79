import { omnibusProgram, startProcess } from './processes.ts';

/** Runs `omnibus users` for a file of users. @param password typed when it is asked for. @returns the exit code. */
export async function manageUsers(file: string, password: string, ...args: readonly string[]): Promise<number> {
  const running = startProcess('node', [omnibusProgram, 'users', ...args, '--file', file], {}, 'pipe');
  running.child.stdin?.end(`${password}\n`);
  return new Promise((resolve) => {
    running.child.once('close', (code) => resolve(code ?? -1));
  });
}
