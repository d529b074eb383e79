/** The package of an earlier version, unpacked. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../support/processes.ts';

const run = promisify(execFile);

export const fixtures = join(root, 'test/upgrade/fixtures');

export interface Released {
  readonly folder: string;
  /** The path of its program for Node. */
  readonly program: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function unpackReleased(version: string): Promise<Released> {
  const place = await mkdtemp(join(tmpdir(), 'omnibus-released-'));
  await run('tar', ['-xzf', join(fixtures, `omnibus-gateway-${version}.tgz`), '-C', place]);
  const folder = join(place, 'package');
  return {
    folder,
    program: join(folder, 'bin/omnibus.js'),
    [Symbol.asyncDispose]: () => rm(place, { recursive: true, force: true }),
  };
}
