import { existsSync, utimesSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { KeptTokens, type Kept } from './kept-tokens.ts';

const url = 'https://gateway.example/mcp';
const kept = (accessToken: string): Kept => ({ issuer: 'https://login.example', clientId: 'c', accessToken });

it('a program waits for another one that refreshes the tokens for as long as an issuer may take to answer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-kept-tokens-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [one, other] = [new KeptTokens(join(folder, 'tokens.json')), new KeptTokens(join(folder, 'tokens.json'))];
  const [begun, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const refreshing = one.change(url, async () => {
    begun.resolve();
    await answered.promise;
    return kept('fresh');
  });
  await begun.promise;
  const lock = `${one.path}.lock`;
  const aMinuteAgo = Date.now() / 1_000 - 60;
  utimesSync(lock, aMinuteAgo, aMinuteAgo);
  const waiting = other.change(url, (before) => Promise.resolve(before));
  // It has looked at the lock once by now.
  expect(existsSync(lock)).toBe(true);
  answered.resolve();
  await refreshing;
  expect(await waiting).toEqual(kept('fresh'));
  expect(existsSync(lock)).toBe(false);
});
