import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Bucket, BusFault, JournalDefinition } from '../bus.ts';
import { MemoryBus } from '../memory/bus.ts';
import type { Shape } from '../shapes/shape.ts';
import { subject } from '../subject.ts';
import { fileName } from './open.ts';
import { FolderStore } from './store.ts';

interface Text {
  readonly text: string;
}

const textual: Shape<Text> = (value) => (typeof (value as Partial<Text>).text === 'string' ? 'fits' : 'junk');
const bucket: Bucket<Text> = { name: 'kept', shape: textual, maxAgeMs: 60_000, maxBytes: 1_000 };
const journal: JournalDefinition<Text> = {
  name: 'said',
  family: 'said',
  tokens: 1,
  maxAgeMs: 60_000,
  maxBytes: 1_000,
  maxEntries: 3,
  shape: textual,
};
const said = subject<Text>('said', 'one');

let folder: string;
let faults: BusFault[];
let running: MemoryBus | undefined;

/** The bus of a new process in the same folder. */
async function start(): Promise<MemoryBus> {
  await running?.drain();
  running = undefined;
  running = new MemoryBus((fault) => faults.push(fault), await FolderStore.open(folder, (fault) => faults.push(fault)));
  return running;
}

/** Writes into the file as a strange program would. */
async function spoil(sql: string): Promise<void> {
  await running?.drain();
  running = undefined;
  const file = new DatabaseSync(join(folder, fileName));
  file.exec(sql);
  file.close();
}

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'omnibus-store-')), 'new');
  faults = [];
});

afterEach(async () => {
  await running?.drain();
  running = undefined;
  rmSync(folder, { recursive: true, force: true });
});

it('keeps values, their revisions and deletions for the next process', async () => {
  const before = await (await start()).keyValue(bucket);
  await before.create('a', { text: 'one' });
  const revision = await before.put('b', { text: 'two' });
  await before.put('c', { text: 'three' });
  await before.delete('c');
  const after = await (await start()).keyValue(bucket);
  expect((await after.get('a'))?.value).toEqual({ text: 'one' });
  expect(await after.get('c')).toBeUndefined();
  await expect(after.update('b', { text: 'old' }, revision - 1)).rejects.toMatchObject({ kind: 'revision-conflict' });
  expect(await after.update('b', { text: 'new' }, revision)).toBeGreaterThan(revision);
  expect(faults).toEqual([]);
});

it('keeps the age and the bound of a bucket', async () => {
  const before = await (await start()).keyValue(bucket);
  await before.put('a', { text: 'x'.repeat(700) });
  await before.put('b', { text: 'short' });
  await spoil("update entries set until = 1 where key = 'b'");
  const after = await (await start()).keyValue(bucket);
  expect(await after.get('b')).toBeUndefined();
  await expect(after.put('c', { text: 'x'.repeat(700) })).rejects.toMatchObject({ kind: 'overloaded' });
  await after.delete('a');
  await after.put('c', { text: 'x'.repeat(700) });
});

it('lengthens no life when the clock was set back', async () => {
  const short = { ...bucket, maxAgeMs: 1 };
  await (await (await start()).keyValue(short)).put('a', { text: 'one' });
  await spoil('update entries set until = 1e15');
  const after = await (await start()).keyValue(short);
  await expect.poll(() => after.get('a')).toBeUndefined();
});

it('keeps no values about a process itself', async () => {
  const own = { ...bucket, isRewritten: true };
  await (await (await start()).keyValue(own)).put('a', { text: 'one' });
  expect(await (await (await start()).keyValue(own)).get('a')).toBeUndefined();
});

it('counts values that it cannot read as missing, and reports them', async () => {
  const before = await (await start()).keyValue(bucket);
  for (const key of ['a', 'b', 'c']) await before.put(key, { text: key });
  await spoil(
    `update entries set value = x'7b' where key = 'a'; update entries set value = cast('{"text":1}' as blob) where key = 'b'`,
  );
  const after = await (await start()).keyValue(bucket);
  expect([await after.get('a'), await after.get('b')]).toEqual([undefined, undefined]);
  expect((await after.get('c'))?.value).toEqual({ text: 'c' });
  expect(faults.map(({ kind }) => kind)).toEqual(['store', 'format']);
});

it('gives the next process the latest entries of a journal, within its bounds', async () => {
  const before = await (await start()).journal(journal);
  for (const text of ['one', 'two', 'three', 'four']) before.append(said, { text });
  const heard: string[] = [];
  const after = await (await start()).journal(journal);
  await after.follow(said, ({ text }) => heard.push(text));
  expect(heard).toEqual(['two', 'three', 'four']);
  after.append(subject<Text>('said', 'another'), { text: 'x'.repeat(990) });
  const left: string[] = [];
  await after.follow(said, ({ text }) => left.push(text));
  expect(left).toEqual([]);
});

it('removes expired entries of a journal from the file', async () => {
  (await (await start()).journal(journal)).append(said, { text: 'one' });
  await spoil('update streams set at = 1');
  await (await start()).journal(journal);
  await running?.drain();
  running = undefined;
  const file = new DatabaseSync(join(folder, fileName));
  expect(file.prepare('select count(*) as entries from streams').get()).toEqual({ entries: 0 });
  file.close();
});

it.skipIf(process.platform === 'win32')('is readable by its user only', async () => {
  await start();
  await (await (running as MemoryBus).keyValue(bucket)).put('a', { text: 'one' });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(folder))
    expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
});

it.skipIf(process.platform === 'win32')('is in no folder that other users can change', async () => {
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  await expect(start()).rejects.toThrow(/other users of this machine can change the folder .*chmod go-w/);
});

it('belongs to one process at a time, and says so', async () => {
  await start();
  const other = FolderStore.open(folder, () => undefined, 1);
  await expect(other).rejects.toThrow(/another gateway uses .*gateway\.db: stop it first/);
});

it.each([
  ['a folder that is a file', () => writeFileSync(folder, ''), /cannot be written: EEXIST/],
  [
    'a file that is no database',
    () => {
      mkdirSync(folder, { mode: 0o700 });
      writeFileSync(join(folder, fileName), 'x'.repeat(5_000));
    },
    /damaged or no file of Omnibus: remove it/,
  ],
] as const)('names the problem of %s', async (_, make, problem) => {
  make();
  await expect(start()).rejects.toThrow(problem);
});

it('leaves a file of a later version alone', async () => {
  await start();
  await spoil('pragma user_version = 2');
  await expect(start()).rejects.toThrow(/a later version of Omnibus/);
});
