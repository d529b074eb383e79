import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { root } from '../support/processes.ts';

const run = promisify(execFile);
const oxlint = (...args: string[]): Promise<{ readonly stdout: string }> => run(join(root, 'node_modules/.bin/oxlint'), args, { cwd: root });

const untidy = `export  const one = [1,2,
   3];
export const two = {a: "b"} as const


`;

const tidy = `export const one = [1, 2,
  3];
export const two = { a: 'b' } as const;
`;

it('a file out of layout fails `npm run check`, and `npm run format` mends it without breaking a line', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-layout-'));
  const file = join(folder, 'untidy.ts');
  try {
    await writeFile(file, untidy);
    await expect(oxlint('--deny-warnings', file)).rejects.toMatchObject({ stdout: expect.stringContaining('style(quotes)') });
    await run('node', [join(root, 'scripts/format.mjs'), file]);
    expect(await readFile(file, 'utf8')).toBe(tidy);
    await oxlint('--deny-warnings', file);
  } finally {
    await rm(folder, { recursive: true });
  }
});
