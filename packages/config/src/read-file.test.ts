import { mkdtemp, rm, symlink } from 'node:fs/promises';
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
  await rm(folder, { recursive: true });
});
