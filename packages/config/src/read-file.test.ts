import { mkdtemp, open, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfigFile } from './read-file.ts';

it('says of a file that cannot be read why, in words', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-read-file-'));
  const circle = join(folder, 'circle.yaml');
  await symlink(circle, circle);
  const said = async (file: string): Promise<unknown> => {
    const read = await readConfigFile(file);
    return 'problems' in read ? read.problems.map(({ message }) => message) : read;
  };
  expect(await said(join(folder, 'none.yaml'))).toEqual(['there is no such file']);
  expect(await said(folder)).toEqual(['this is a folder, and not a file']);
  expect(await said(circle)).toEqual(['this file cannot be read: ELOOP']);
  // Parsing a file of this size would hold the process up.
  const large = join(folder, 'large.yaml');
  const handle = await open(large, 'w');
  await handle.truncate(93_000_000);
  await handle.close();
  expect(await said(large)).toEqual([
    'this file has 93000000 bytes, and a configuration at most 16777216: is it the right file?',
  ]);
  await rm(folder, { recursive: true });
});
