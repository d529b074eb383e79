/** Other versions of Node than that of the tests, from npm: `node-<platform>-<arch>` contains only the program. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../support/processes.ts';

const run = promisify(execFile);

/** @returns the path of the program, which stays for later runs. */
export async function nodeOf(version: string): Promise<string> {
  const folder = join(root, 'node_modules/.cache/nodes', version);
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const program = join(folder, 'node_modules', name, 'bin/node');
  if (existsSync(program)) return program;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{}');
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save', `${name}@${version}`], {
    cwd: folder,
  });
  return program;
}
