/** The removal of a user, with unfinished sign-ins. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Envelopes, FileStore, KeyRing, parseVaultKeys, placeOfSecret, Vault, type Fetch } from '@omnibus/credentials';
import type { Principal, Who } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { Connections } from './connections.ts';
import type { UserCredentials } from './server-credentials.ts';

const [ann, ben] = ['p_ann', 'p_ben'] as readonly string[] as readonly [Principal, Principal];
const issuer = 'https://login.example';
const whoIs = (subject: string): Who => ({ subject, issuer }) as Who;

/** An empty vault, until the test ends. */
function newVault(): Vault {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-connections-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return new Vault(
    new FileStore(join(folder, 'vault')),
    new Envelopes(new KeyRing(parseVaultKeys([`a:${randomBytes(32).toString('base64')}`]))),
    () => undefined,
  );
}

it("a removed user's tickets, unfinished sign-ins and tokens that wait for a code are removed and revoked, and nobody else's", async () => {
  const passing = newVault();
  const until = Date.now() + 10 * 60_000;
  const server = { issuer: 'https://issuer.example', revocation_endpoint: 'https://issuer.example/revoke' };
  const connectionOf = (name: string): object => ({
    url: 'https://server.example/mcp',
    issuer: server.issuer,
    server,
    client: { clientId: 'c', method: 'none' },
    owner: `${name} (${issuer})`,
    tokens: { accessToken: `access-${name}`, refreshToken: `refresh-${name}` },
  });
  for (const [principal, name] of [
    [ann, 'ann'],
    [ben, 'ben'],
  ] as const) {
    await passing.put(placeOfSecret('ticket', `ticket-${name}`), '', {
      server: 'one',
      principal,
      who: whoIs(name),
      until,
    });
    await passing.put(placeOfSecret('sign-in', `state-${name}`), server.issuer, {
      server: 'one',
      principal,
      who: whoIs(name),
      until,
    });
    await passing.put({ purpose: 'pending', server: 'one', principal }, server.issuer, {
      connection: connectionOf(name),
      code: 'x',
      tries: 0,
      until,
    });
  }
  const revoked: string[] = [];
  const fetch: Fetch = (_address, { body } = {}) => {
    revoked.push(new URLSearchParams(body).get('token') ?? '');
    return Promise.resolve(new Response(null, { status: 200 }));
  };
  const connections = new Connections({
    log: createLogger({ level: 'silent', format: 'json' }),
    vault: newVault(),
    passing,
    users: () => ({ signIn: { fetch } }) as unknown as UserCredentials,
    changed: () => Promise.resolve(),
  });
  // Those of a user that had the name before are older.
  expect(
    await connections.forget({ kind: 'forget', subject: 'ann', issuer, principal: ann, before: until - 11 * 60_000 }),
  ).toMatchObject({ kind: 'forgotten', count: 0 });
  expect(await passing.places()).toHaveLength(6);
  await connections.forget({ kind: 'forget', subject: 'ann', issuer, principal: ann });
  expect((await passing.places()).toSorted((one, other) => (one.purpose < other.purpose ? -1 : 1))).toEqual([
    { purpose: 'pending', server: 'one', principal: ben },
    placeOfSecret('sign-in', 'state-ben'),
    placeOfSecret('ticket', 'ticket-ben'),
  ]);
  expect(revoked).toEqual(['refresh-ann']);
});

it('a connection that cannot be decrypted is removed with those of its user, whose id the operator does not give', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-connections-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const key = (): string => `a:${randomBytes(32).toString('base64')}`;
  const vaultWith = (own: string, name = 'vault'): Vault =>
    new Vault(new FileStore(join(folder, name)), new Envelopes(new KeyRing(parseVaultKeys([own]))), () => undefined);
  const [lost, vault] = [vaultWith(key()), vaultWith(key())];
  const connection = (name: string): object => ({
    url: 'https://server.example/mcp',
    issuer,
    since: 1,
    owner: `${name} (${issuer})`,
  });
  for (const [name, principal] of [
    ['ann', ann],
    ['ben', ben],
  ] as const) {
    await vault.put({ purpose: 'connection', server: 'one', principal }, issuer, connection(name));
    await lost.put({ purpose: 'connection', server: 'two', principal }, issuer, connection(name));
  }
  const connections = new Connections({
    log: createLogger({ level: 'silent', format: 'json' }),
    vault,
    passing: vaultWith(key(), 'passing'),
    users: () => undefined,
    changed: () => Promise.resolve(),
  });
  const withoutId = 'p_other' as Principal;
  expect(await connections.forget({ kind: 'forget', subject: 'ann', issuer, principal: withoutId })).toMatchObject({
    count: 2,
  });
  expect(new Set((await vault.places()).map(({ principal }) => principal))).toEqual(new Set([ben]));
});

it('a user of a directory is found in capital or small letters, in its own tenant alone, with agents that act for it', async () => {
  const [vault, passing] = [newVault(), newVault()];
  const until = Date.now() + 10 * 60_000;
  const users = [
    ['p_old', 'ann', undefined],
    ['p_agent', 'Ann', 'acme'],
    ['p_other', 'ann', 'beta'],
    ['p_longer', 'annie', 'acme'],
  ] as const;
  for (const [principal, subject, tenant] of users) {
    const connection = { url: 'https://server.example/mcp', issuer, since: 1, owner: `${subject} (${issuer})`, tenant };
    await vault.put({ purpose: 'connection', server: 'one', principal }, issuer, connection);
    const who = { ...whoIs(subject), tenant };
    await passing.put(placeOfSecret('ticket', principal), '', { server: 'one', principal, who, until });
  }
  const connections = new Connections({
    log: createLogger({ level: 'silent', format: 'json' }),
    vault,
    passing,
    users: () => undefined,
    changed: () => Promise.resolve(),
  });
  const ofAcme = { subject: 'ANN', issuer, tenant: 'acme', principal: 'p_old' as Principal, isAnyCase: true };
  expect(await connections.forget({ kind: 'forget', ...ofAcme })).toMatchObject({ count: 2 });
  expect((await vault.places()).map(({ principal }) => principal).toSorted()).toEqual(['p_longer', 'p_other']);
  expect(await passing.places()).toHaveLength(2);
});
