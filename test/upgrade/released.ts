/** The package of an earlier version, unpacked. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../support/processes.ts';

const run = promisify(execFile);

export const fixtures = join(root, 'test/upgrade/fixtures');

/** The version from which an upgrade leads to this one: the last release, one minor version apart at most. */
export const before = '0.3.0';

export interface Released {
  readonly folder: string;
  /** The path of its program for Node. */
  readonly program: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function unpackReleased(): Promise<Released> {
  const place = await mkdtemp(join(tmpdir(), 'omnibus-released-'));
  await run('tar', ['-xzf', join(fixtures, `omnibus-gateway-${before}.tgz`), '-C', place]);
  const folder = join(place, 'package');
  return {
    folder,
    program: join(folder, 'bin/omnibus.js'),
    [Symbol.asyncDispose]: () => rm(place, { recursive: true, force: true }),
  };
}
