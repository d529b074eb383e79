/** Files that a loss of power must not take: keys, users, the vault, and the configuration. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { addKey } from '@omnibus/admin/keys';
import { setUser } from '@omnibus/admin/users';
import { FileStore, OwnKeys } from '@omnibus/credentials';
import { makeFirstKey } from '../serving/first-key.ts';
import { replaceFile } from './write-file.ts';

let folder: string;
/** What was done, in order. */
let steps: string[];

beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'omnibus-durable-'));
  steps = [];
  const { fsyncSync, renameSync, linkSync } = fs;
  vi.spyOn(fs, 'fsyncSync').mockImplementation((handle) => {
    steps.push(fs.fstatSync(handle).isDirectory() ? 'the disk has the folder' : 'the disk has the file');
    fsyncSync(handle);
  });
  vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    steps.push('the file has its name');
    renameSync(from, to);
  });
  vi.spyOn(fs, 'linkSync').mockImplementation((from, to) => {
    steps.push('the file has its name');
    linkSync(from, to);
  });
  syncBuiltinESMExports();
});

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  fs.rmSync(folder, { recursive: true });
});

const key = { subject: 'ann', tenant: undefined, groups: [], endpoints: undefined, tools: undefined };

it.each<readonly [what: string, write: (file: string) => unknown]>([
  ['a key', (file) => addKey(file, { ...key, expires: undefined, note: undefined })],
  ['the first key', makeFirstKey],
  ['a user', (file) => setUser(file, 'ann', 'a password of some length', [])],
  ['a token of the vault', (file) => new FileStore(file).create('a', 'token')],
  ['the keys of the vault', (file) => new OwnKeys(file, () => undefined).open(false)],
  ['the configuration', (file) => replaceFile(file, '', 'mcpServers: {}', 0o600)],
])(
  '%s: the disk has it before its file has the name, and has the name before the gateway goes on',
  async (_what, write) => {
    await write(join(folder, 'file'));
    expect(steps).toEqual(['the disk has the file', 'the file has its name', 'the disk has the folder']);
  },
);
