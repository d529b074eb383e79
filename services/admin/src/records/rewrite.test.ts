import { readFileSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { rewrite } from './rewrite.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-rewrite-'));
  file = join(folder, 'keys.yaml');
  return () => rm(folder, { recursive: true });
});

it('changes at the same time are made one after another, and none is lost', async () => {
  await writeFile(file, '');
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => rewrite(file, () => `${readFileSync(file, 'utf8')}${index}\n`)),
  );
  expect((await readFile(file, 'utf8')).trim().split('\n').toSorted()).toEqual(
    Array.from({ length: 20 }, (_, index) => String(index)).toSorted(),
  );
  expect(await readdir(folder)).toEqual(['keys.yaml']);
});

it('a lock that a killed command has left keeps nobody from a change', async () => {
  for (const at of [Date.now() - 11_000, Date.now() + 3_600_000]) {
    await writeFile(`${file}.lock`, '');
    await utimes(`${file}.lock`, at / 1_000, at / 1_000);
    await Promise.all([rewrite(file, () => 'text'), rewrite(file, () => 'text')]);
  }
  expect([await readFile(file, 'utf8'), await readdir(folder)]).toEqual(['text', ['keys.yaml']]);
});

it('a change waits for the one that is made', async () => {
  await writeFile(`${file}.lock`, JSON.stringify({ host: hostname(), pid: process.ppid, id: 'other' }));
  let isMade = false;
  const waiting = rewrite(file, () => {
    isMade = true;
    return 'text';
  });
  await rewrite(join(folder, 'another'), () => 'text');
  expect(isMade).toBe(false);
  await rm(`${file}.lock`);
  await waiting;
  expect(await readFile(file, 'utf8')).toBe('text');
});

it('a symbolic link stays one, and the file that it leads to is changed', async () => {
  await mkdir(join(folder, 'real'));
  const real = join(folder, 'real', 'keys.yaml');
  await writeFile(real, 'before');
  await symlink('real/keys.yaml', file);
  await rewrite(file, () => 'after');
  expect([await readFile(real, 'utf8'), (await lstat(file)).isSymbolicLink(), (await stat(real)).mode & 0o777]).toEqual(
    ['after', true, 0o600],
  );
});

it('what the change throws is passed on, and the file stays as it is', async () => {
  await writeFile(file, 'before');
  await expect(
    rewrite(file, () => {
      throw new Error('there is no key');
    }),
  ).rejects.toThrow('there is no key');
  expect([await readFile(file, 'utf8'), await readdir(folder)]).toEqual(['before', ['keys.yaml']]);
});

it('a folder that cannot be made is named', async () => {
  await writeFile(join(folder, 'plain'), '');
  await expect(rewrite(join(folder, 'plain', 'keys.yaml'), () => 'text')).rejects.toThrow(
    /plain\/keys\.yaml cannot be written: /,
  );
});
