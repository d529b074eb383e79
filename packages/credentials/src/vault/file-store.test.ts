/** One vault file of several gateways of a user: each store here stands for a process. */
import {
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { FileStore } from './file-store.ts';

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-vault-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'vault.json');
}

it('what two gateways write at the same time is all there, and of two changes of the same one wins', async () => {
  const path = file();
  const [one, other] = [new FileStore(path), new FileStore(path)];
  await Promise.all(
    Array.from({ length: 20 }, (_, count) => [
      one.create(`a${count}`, 'one'),
      other.create(`b${count}`, 'other'),
    ]).flat(),
  );
  const third = new FileStore(path);
  expect(
    await Promise.all(
      Array.from({ length: 20 }, async (_, count) => [
        (await third.get(`a${count}`))?.value,
        (await third.get(`b${count}`))?.value,
      ]),
    ),
  ).toEqual(Array.from({ length: 20 }, () => ['one', 'other']));
  const [mine, theirs] = [await one.get('a0'), await other.get('a0')];
  const outcomes = await Promise.allSettled([
    one.update('a0', 'x', mine?.revision ?? 0),
    other.update('a0', 'y', theirs?.revision ?? 0),
  ]);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect((await one.get('a0'))?.value).toBe((await other.get('a0'))?.value);
  expect(readdirSync(join(path, '..'))).toEqual(['vault.json']);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('what another gateway writes is heard', async () => {
  const path = file();
  const [one, other] = [new FileStore(path), new FileStore(path)];
  const heard: string[] = [];
  const watch = await one.watch(({ key }) => heard.push(key));
  await other.create('a', '1');
  await expect.poll(() => heard).toEqual(['a']);
  await other.delete('a');
  await expect.poll(() => heard).toEqual(['a', 'a']);
  expect(await one.get('a')).toBeUndefined();
  watch.close();
});

it.each([
  ['a process that is gone', JSON.stringify({ host: hostname(), pid: 2 ** 22 + 1, id: 'x' }), 0],
  ['a process of another machine that hangs', JSON.stringify({ host: 'elsewhere', pid: 1, id: 'x' }), 60_000],
  ['nobody who can be read', '', 60_000],
])('a lock of %s is recovered', async (_whose, token, age) => {
  const path = file();
  writeFileSync(`${path}.lock`, token);
  const at = (Date.now() - age) / 1_000;
  utimesSync(`${path}.lock`, at, at);
  const store = new FileStore(path);
  await store.create('a', '1');
  expect(readdirSync(join(path, '..'))).toEqual(['vault.json']);
});

it('a gateway does not replace a file that it can no longer read by its entries in memory', async () => {
  const path = file();
  const store = new FileStore(path);
  await store.create('a', '1');
  const half = '{"a":"1","b":"of another gatew';
  writeFileSync(path, half);
  for (const _again of [1, 2]) {
    await expect(store.get('a')).rejects.toThrow('is no file of a vault');
    await expect(store.create('c', '3')).rejects.toThrow('is no file of a vault');
  }
  expect(readFileSync(path, 'utf8')).toBe(half);
  expect(readdirSync(join(path, '..'))).toEqual(['vault.json']);
  writeFileSync(path, '{"a":"1","b":"2"}');
  await store.create('c', '3');
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ a: '1', b: '2', c: '3' });
});

it('a vault that is a symbolic link stays one', async () => {
  const path = file();
  const real = join(path, '..', 'elsewhere.json');
  writeFileSync(real, '{"a":"1"}');
  symlinkSync(real, path);
  await new FileStore(path).create('b', '2');
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
  expect(JSON.parse(readFileSync(real, 'utf8'))).toEqual({ a: '1', b: '2' });
});

it('a link that another user has placed under the name of the new file is replaced, and not followed', async () => {
  const path = file();
  const victim = join(path, '..', 'victim');
  writeFileSync(victim, 'as it was');
  symlinkSync(victim, `${path}.${process.pid}.new`);
  await new FileStore(path).create('a', '1');
  expect(readFileSync(victim, 'utf8')).toBe('as it was');
  expect([lstatSync(path).isSymbolicLink(), lstatSync(path).mode & 0o777]).toEqual([false, 0o600]);
});

it('an abandoned lock that is a link to nothing is recovered, and a folder in its place is named', async () => {
  const path = file();
  symlinkSync(join(path, '..', 'gone'), `${path}.lock`);
  lutimesSync(`${path}.lock`, 0, 0);
  await new FileStore(path).create('a', '1');
  expect(readdirSync(join(path, '..'))).toEqual(['vault.json']);
  mkdirSync(`${path}.lock`);
  await expect(new FileStore(path).create('b', '2')).rejects.toThrow('vault.json.lock is a folder');
});
