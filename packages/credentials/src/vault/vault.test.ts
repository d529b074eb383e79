import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Envelopes, type Place } from './envelope.ts';
import { KeyRing, parseVaultKeys } from './key-ring.ts';
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
  return new Vault(new FileStore(file), new Envelopes(new KeyRing(parseVaultKeys(keys))), (key) =>
    unreadable.push(key),
  );
}

it('the next process reads stored tokens again, from a file for its owner alone that shows nothing of them', async () => {
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
  const envelopes = new Envelopes(new KeyRing(parseVaultKeys([keyLine('a')])));
  const sealed = envelopes.seal(place, 'https://issuer.example', 'secret');
  expect(envelopes.open(place, sealed)).toBe('secret');
  expect(envelopes.open(other, sealed)).toBeUndefined();
  expect(envelopes.open(place, sealed.replace('issuer.example', 'evil.example'))).toBeUndefined();
});

it('two envelopes of one text have nothing in common but what says where they are from', () => {
  const envelopes = new Envelopes(new KeyRing(parseVaultKeys([keyLine('a')])));
  const [one, other] = [envelopes.seal(place, '', 'secret'), envelopes.seal(place, '', 'secret')].map(
    (text) => JSON.parse(text) as { readonly wrapped: string; readonly sealed: string },
  );
  expect(one?.sealed).not.toBe(other?.sealed);
  expect(one?.wrapped).not.toBe(other?.wrapped);
});

/** A process with these keys that applies changes of the current key. */
async function replicaOf(file: string, keys: readonly string[]): Promise<Vault> {
  const vault = vaultOf(file, keys);
  const following = await vault.follow({ resealed: () => undefined, failed: () => undefined });
  onTestFinished(() => following.close());
  return vault;
}

const keyOfEntry = (file: string, entry = 'connection.github.p_una'): string =>
  (
    JSON.parse((JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>)[entry] ?? '{}') as {
      readonly key: string;
    }
  ).key;

it('a new key takes over what is under the old one, which can go then', async () => {
  const [file, old, fresh] = [fileOfVault(), keyLine('2026a'), keyLine('2026b')];
  await vaultOf(file, [old]).put(place, '', { token: 1 });
  expect(await vaultOf(file, [fresh, old]).rotate('2026b')).toEqual({ renewed: 1, lost: 0 });
  expect(await vaultOf(file, [fresh, old]).rotate('2026b')).toEqual({ renewed: 0, lost: 0 });
  expect((await vaultOf(file, [fresh]).get(place))?.value).toEqual({ token: 1 });
});

it('as long as nobody says so, a process that has a new key already encrypts under the one that all have', async () => {
  const [file, old, fresh] = [fileOfVault(), keyLine('2026a'), keyLine('2026b')];
  const behind = await replicaOf(file, [old]);
  const ahead = await replicaOf(file, [fresh, old]);
  await ahead.put(place, '', { token: 1 });
  expect((await behind.get(place))?.value).toEqual({ token: 1 });
  await ahead.rotate('2026b');
  expect(keyOfEntry(file)).toBe('2026b');
});

it('replicas that have the new key turn to it when one of them is told to, and go on with what that one has left undone', async () => {
  const [file, old, fresh] = [fileOfVault(), keyLine('2026a'), keyLine('2026b')];
  const [one, other] = [await replicaOf(file, [fresh, old]), await replicaOf(file, [old, fresh])];
  for (const principal of ['p_una', 'p_duo', 'p_tre']) await one.put({ ...place, principal }, '', { principal });
  // The state after a process was killed that had only announced the new key.
  const store = new FileStore(file);
  await store.update('current-key', '2026b', (await store.get('current-key'))?.revision ?? 0);
  await expect
    .poll(() => ['p_una', 'p_duo', 'p_tre'].map((principal) => keyOfEntry(file, `connection.github.${principal}`)))
    .toEqual(['2026b', '2026b', '2026b']);
  await other.put(place, '', { token: 2 });
  expect(keyOfEntry(file)).toBe('2026b');
  expect((await one.get(place))?.value).toEqual({ token: 2 });
});

it('a round that was interrupted goes on in the process that starts next', async () => {
  const [file, old, fresh] = [fileOfVault(), keyLine('2026a'), keyLine('2026b')];
  await (await replicaOf(file, [old])).put(place, '', { token: 1 });
  writeFileSync(
    file,
    JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), 'current-key': '2026b' }),
  );
  await replicaOf(file, [fresh, old]);
  expect(keyOfEntry(file)).toBe('2026b');
});

it('what a running process encrypts and decrypts with is replaced under it, and the old key opens what is left until it goes', async () => {
  const [file, old, fresh] = [fileOfVault(), keyLine('2026a'), keyLine('2026b')];
  const vault = await replicaOf(file, [old]);
  await vault.put(place, '', { token: 1 });
  await expect(vault.rotate('2026b')).rejects.toThrow('the vault has no key "2026b" here');
  await vault.takeKeys(parseVaultKeys([fresh, old]));
  expect(await vault.rotate('2026b')).toEqual({ renewed: 1, lost: 0 });
  await vault.takeKeys(parseVaultKeys([fresh]));
  expect((await vault.get(place))?.value).toEqual({ token: 1 });
});

it('what is under a lost key is said by server and user, is left as it is, and is there again with the key', async () => {
  const [file, lost, unreadable] = [fileOfVault(), keyLine('a'), [] as string[]];
  await vaultOf(file, [lost]).put(place, 'https://issuer.example', { token: 1 });
  const vault = vaultOf(file, [keyLine('b')], unreadable);
  const heard: string[] = [];
  const watching = await vault.watch(({ principal }) => heard.push(principal));
  onTestFinished(() => watching.close());
  expect(await vault.get(place)).toBeUndefined();
  expect(await vault.rotate('b')).toEqual({ renewed: 0, lost: 1 });
  expect((await vault.survey()).lost).toEqual([{ place, key: 'a', issuer: 'https://issuer.example' }]);
  expect(vault.lost).toEqual([{ place, key: 'a', issuer: 'https://issuer.example' }]);
  expect(unreadable).toContain('connection.github.p_una');
  heard.length = 0;
  await vault.takeKeys(parseVaultKeys([keyLine('b'), lost]));
  expect(heard).toContain('p_una');
  expect((await vault.get(place))?.value).toEqual({ token: 1 });
  heard.length = 0;
  await vault.takeKeys(parseVaultKeys([keyLine('c')]));
  expect(heard).toContain('p_una');
});

it('what is under a lost key can be written anew and can be removed, and what can be decrypted is not removed with it', async () => {
  const file = fileOfVault();
  await vaultOf(file, [keyLine('a')]).put(place, 'https://issuer.example', { token: 1 });
  const vault = vaultOf(file, [keyLine('b')]);
  expect(await vault.lostAt(place)).toMatchObject({ key: 'a' });
  await vault.put(place, '', { token: 2 });
  expect((await vault.get(place))?.value).toEqual({ token: 2 });
  expect(vault.lost).toEqual([]);
  expect(await vault.discard(place)).toBeUndefined();
  const other = vaultOf(file, [keyLine('c')]);
  expect(await other.discard(place)).toMatchObject({ key: 'b' });
  expect(await other.survey()).toMatchObject({ lost: [] });
});

it.each(['', 'no JSON', 'null', '[]', '{}', '{"version":1,"key":"a","issuer":"","wrapped":1,"sealed":{}}'])(
  'an entry that is no envelope, %j, is as good as nothing, and harms no other',
  async (text) => {
    const [file, old, unreadable] = [fileOfVault(), keyLine('a'), [] as string[]];
    await vaultOf(file, [old]).put(place, '', { token: 1 });
    writeFileSync(
      file,
      JSON.stringify({ 'connection.gitlab.p_una': text, ...(JSON.parse(readFileSync(file, 'utf8')) as object) }),
    );
    const vault = vaultOf(file, [keyLine('b'), old], unreadable);
    expect(await vault.rotate('b')).toEqual({ renewed: 1, lost: 1 });
    expect(await vault.get({ ...place, server: 'gitlab' })).toBeUndefined();
    expect((await vault.get(place))?.value).toEqual({ token: 1 });
    expect(new Set(unreadable)).toEqual(new Set(['connection.gitlab.p_una']));
  },
);

it('what is good once is had by one of those who take it at the same time', async () => {
  const vault = vaultOf(fileOfVault(), [keyLine('a')]);
  await vault.put(place, '', 'ticket');
  const taken = await Promise.all([1, 2, 3].map(() => vault.take(place)));
  expect(taken.filter((each) => each !== undefined)).toEqual(['ticket']);
});

it.each([[[]], [['no name']], [['a:c2hvcnQ=']], [[keyLine('a'), keyLine('a')]]])(
  'keys that are none are refused in words without them',
  (lines) => {
    expect(() => parseVaultKeys(lines)).toThrow(/vault/);
  },
);
