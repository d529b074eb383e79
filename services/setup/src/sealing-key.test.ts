import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configOf } from '@omnibus/config/testing';
import { expect, it } from 'vitest';
import { findSealingKeys } from './sealing-key.ts';

it('a gateway of one process with a store has one key for all its processes, which commands only read', () => {
  const baseFolder = mkdtempSync(join(tmpdir(), 'omnibus-key-'));
  const config = configOf('sessions: { store: state }');
  const sources = { config, baseFolder, env: {} };
  expect(findSealingKeys('session', sources)).toBeUndefined();
  expect(existsSync(join(baseFolder, 'state'))).toBe(false);
  const made = findSealingKeys('all', sources);
  expect(made?.[0].length).toBe(32);
  expect(findSealingKeys('all', sources)).toEqual(made);
  expect(findSealingKeys('session', sources)).toEqual(made);
  const key = join(baseFolder, 'state', 'sealing.key');
  if (process.platform !== 'win32') expect(statSync(key).mode & 0o777).toBe(0o600);
  writeFileSync(key, 'short');
  expect(() => findSealingKeys('all', sources)).toThrow(/sessions\.store: the key .*sealing\.key: the key has/);
  writeFileSync(join(baseFolder, 'taken'), '');
  const taken = { ...config, sessions: { store: 'taken' } };
  expect(() => findSealingKeys('all', { ...sources, config: taken })).toThrow(
    /sessions\.store: .*sealing\.key cannot be written: EEXIST/,
  );
  rmSync(baseFolder, { recursive: true });
});
