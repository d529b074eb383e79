/** Where a gateway keeps the key of the vault that it makes itself: several gateways of one user, and a keychain that is there, locked, or gone. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Envelopes } from './envelope.ts';
import { FileStore } from './file-store.ts';
import { KeyRing } from './key-ring.ts';
import { Vault } from './vault.ts';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Keychain } from './keychain.ts';
import { OwnKeys } from './own-keys.ts';

/** The entries of a keychain, by account. */
let entries: Map<string, string>;
let isLocked: boolean;
let folder: string;
let file: string;

const find = (account: string): Keychain => {
  const readNow = (): string | undefined => (isLocked ? undefined : entries.get(account));
  return {
    readNow,
    read: () => Promise.resolve(readNow()),
    write(secret) {
      if (!isLocked) entries.set(account, secret);
      return Promise.resolve(!isLocked);
    },
  };
};
const keyFile = (): string => readFileSync(join(folder, 'vault.key'), 'utf8');
const idsOf = (keys: readonly { readonly id: string }[]): readonly string[] => keys.map(({ id }) => id);

beforeEach(() => {
  [entries, isLocked] = [new Map(), false];
  folder = mkdtempSync(join(tmpdir(), 'omnibus-own-keys-'));
  file = join(folder, 'vault.json');
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

it('a new key is in the keychain, and the file names its entry; the next gateway finds it there', async () => {
  const keys = await new OwnKeys(file, find).open(true);
  expect(keyFile()).toMatch(/^keychain:vault-[0-9a-f]{12}\n$/);
  expect([...entries.values()]).toEqual([`own:${keys[0].key.toString('base64')}`]);
  expect(await new OwnKeys(file, find).open(true)).toEqual(keys);
  expect(await new OwnKeys(file, find).open(false)).toEqual(keys);
});

it('a key that is in a file since there was no keychain is moved, and its entries stay readable', async () => {
  const before = await new OwnKeys(file, () => undefined).open(true);
  expect(keyFile()).toMatch(/^own:/);
  const own = new OwnKeys(file, find);
  expect(await own.open(true)).toEqual(before);
  expect([own.areInKeychain, keyFile().startsWith('keychain:')]).toEqual([true, true]);
});

it('where there is no keychain, and where others can reach the gateway, the key stays in the file', async () => {
  await new OwnKeys(file, () => undefined).open(true);
  await new OwnKeys(file, find).open(false);
  isLocked = true;
  await new OwnKeys(file, find).open(true);
  expect([keyFile().startsWith('own:'), entries.size]).toEqual([true, 0]);
});

it('while the keychain cannot be opened another key is used, and afterwards both are there, in the keychain', async () => {
  const [first] = await new OwnKeys(file, find).open(true);
  const kept = new Map(entries);
  isLocked = true;
  const [second, ...others] = await new OwnKeys(file, find).open(true);
  expect([second.id === first.id, others, new Map(entries)]).toEqual([false, [], kept]);
  isLocked = false;
  const own = new OwnKeys(file, find);
  expect(idsOf(await own.open(true)).toSorted()).toEqual([first.id, second.id].toSorted());
  expect(own.areInKeychain).toBe(true);
});

it('gateways that start at the same time have one key', async () => {
  const opened = await Promise.all([1, 2, 3, 4].map(() => new OwnKeys(file, find).open(true)));
  expect(new Set(opened.map(([{ key }]) => key.toString('base64'))).size).toBe(1);
  expect(await new OwnKeys(file, find).open(true)).toEqual(opened[0]);
});

it('a rotation leaves the new key in the keychain alone, and another gateway that runs reads it there', async () => {
  const own = new OwnKeys(file, find);
  const ring = new KeyRing(await own.open(true));
  const vault = new Vault(new FileStore(file), new Envelopes(ring), () => undefined);
  await vault.put({ purpose: 'connection', server: 's', principal: 'p' }, '', { token: 1 });
  const other = new OwnKeys(file, find);
  await other.open(true);
  const { key, renewed } = await own.rotate(ring, vault);
  expect(renewed).toBe(1);
  expect(idsOf(other.read() ?? [])).toEqual([key]);
  expect(keyFile()).toMatch(/^keychain:/);
  expect([...entries.values()].map((entry) => entry.split(':')[0])).toEqual([key]);
});

it('a rotation while the keychain is locked keeps the new key in the file, and loses none', async () => {
  const own = new OwnKeys(file, find);
  const ring = new KeyRing(await own.open(true));
  const vault = new Vault(new FileStore(file), new Envelopes(ring), () => undefined);
  isLocked = true;
  const { key } = await own.rotate(ring, vault);
  expect(keyFile()).toContain(`${key}:`);
  isLocked = false;
  expect(idsOf(await new OwnKeys(file, find).open(true))).toContain(key);
  expect(keyFile()).toMatch(/^keychain:/);
});

it('a file of keys that is none is refused in words', async () => {
  writeFileSync(join(folder, 'vault.key'), 'nothing of use\n');
  await expect(new OwnKeys(file, find).open(true)).rejects.toThrow('key 1 of the vault');
  expect(existsSync(join(folder, 'vault.key'))).toBe(true);
});
