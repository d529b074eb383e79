import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Envelopes, parseVaultKeys, type Place } from './envelope.ts';
import { FileStore } from './file-store.ts';
import { Vault } from './vault.ts';

const keyLine = (name: string): string => `${name}:${randomBytes(32).toString('base64')}`;
const place: Place = { purpose: 'connection', server: 'github', principal: 'p_una' };

function fileOfVault(): string {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-vault-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'vault.json');
}

function vaultOf(file: string, keys: readonly string[], unreadable: string[] = []): Vault {
  return new Vault(new FileStore(file), new Envelopes(parseVaultKeys(keys)), (key) => unreadable.push(key));
}

it('what is kept is read again by the next process, in a file for its owner alone that shows nothing of it', async () => {
  const [file, key] = [fileOfVault(), keyLine('a')];
  await vaultOf(file, [key]).put(place, 'https://issuer.example', { refreshToken: 'the refresh token' });
  expect((await vaultOf(file, [key]).get(place))?.value).toEqual({ refreshToken: 'the refresh token' });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).not.toContain('refresh');
});

it.each([
  ['another user', { ...place, principal: 'p_other' }],
  ['another server', { ...place, server: 'gitlab' }],
  ['another purpose', { ...place, purpose: 'client' as const }],
])('an envelope that somebody moves to %s does not open there', (_where, other) => {
  const envelopes = new Envelopes(parseVaultKeys([keyLine('a')]));
  const sealed = envelopes.seal(place, 'https://issuer.example', 'secret');
  expect(envelopes.open(place, sealed)).toBe('secret');
  expect(envelopes.open(other, sealed)).toBeUndefined();
  expect(envelopes.open(place, sealed.replace('issuer.example', 'evil.example'))).toBeUndefined();
});

it('two envelopes of one text have nothing in common but what says where they are from', () => {
  const envelopes = new Envelopes(parseVaultKeys([keyLine('a')]));
  const [one, other] = [envelopes.seal(place, '', 'secret'), envelopes.seal(place, '', 'secret')].map((text) => JSON.parse(text) as { readonly wrapped: string; readonly sealed: string });
  expect(one?.sealed).not.toBe(other?.sealed);
  expect(one?.wrapped).not.toBe(other?.wrapped);
});

it('a new key takes over what is under the old one, which can go then', async () => {
  const [file, old, fresh] = [fileOfVault(), keyLine('2026a'), keyLine('2026b')];
  await vaultOf(file, [old]).put(place, '', { token: 1 });
  expect(await vaultOf(file, [fresh, old]).rotate()).toEqual({ renewed: 1, lost: 0 });
  expect(await vaultOf(file, [fresh, old]).rotate()).toEqual({ renewed: 0, lost: 0 });
  expect((await vaultOf(file, [fresh]).get(place))?.value).toEqual({ token: 1 });
});

it('what is under a lost key is as good as nothing, is said, and can be written anew', async () => {
  const [file, unreadable] = [fileOfVault(), [] as string[]];
  await vaultOf(file, [keyLine('a')]).put(place, '', { token: 1 });
  const vault = vaultOf(file, [keyLine('b')], unreadable);
  expect(await vault.get(place)).toBeUndefined();
  expect(await vault.rotate()).toEqual({ renewed: 0, lost: 1 });
  expect(unreadable).toEqual(['connection.github.p_una']);
  await vault.put(place, '', { token: 2 });
  expect((await vault.get(place))?.value).toEqual({ token: 2 });
});

it.each(['', 'no JSON', 'null', '[]', '{}', '{"version":1,"key":"a","issuer":"","wrapped":1,"sealed":{}}'])('an entry that is no envelope, %j, is as good as nothing, and harms no other', async (text) => {
  const [file, old, unreadable] = [fileOfVault(), keyLine('a'), [] as string[]];
  await vaultOf(file, [old]).put(place, '', { token: 1 });
  writeFileSync(file, JSON.stringify({ 'connection.gitlab.p_una': text, ...JSON.parse(readFileSync(file, 'utf8')) as object }));
  const vault = vaultOf(file, [keyLine('b'), old], unreadable);
  expect(await vault.rotate()).toEqual({ renewed: 1, lost: 1 });
  expect(await vault.get({ ...place, server: 'gitlab' })).toBeUndefined();
  expect((await vault.get(place))?.value).toEqual({ token: 1 });
  expect(unreadable).toEqual(['connection.gitlab.p_una']);
});

it('what is good once is had by one of those who take it at the same time', async () => {
  const vault = vaultOf(fileOfVault(), [keyLine('a')]);
  await vault.put(place, '', 'ticket');
  const taken = await Promise.all([1, 2, 3].map(() => vault.take(place)));
  expect(taken.filter((each) => each !== undefined)).toEqual(['ticket']);
});

it.each([[[]], [['no name']], [['a:c2hvcnQ=']], [[keyLine('a'), keyLine('a')]]])('keys that are none are refused in words without them', (lines) => {
  expect(() => parseVaultKeys(lines)).toThrow(/vault/);
});
