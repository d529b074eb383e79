/** The removal of a user, with unfinished sign-ins, and with sign-ins that end meanwhile. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { MemoryBus } from '@omnibus/bus';
import {
  Envelopes,
  FileStore,
  KeyRing,
  parseVaultKeys,
  placeOfSecret,
  sealAnswer,
  Vault,
  type Fetch,
} from '@omnibus/credentials';
import {
  parseServerName,
  signInName,
  type ConnectReply,
  type Principal,
  type SessionKey,
  type Who,
} from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { Connections } from './connections.ts';
import type { UserCredentials } from './server-credentials.ts';
import { SignIns } from './sign-ins.ts';

const [ann, ben] = ['p_ann', 'p_ben'] as readonly string[] as readonly [Principal, Principal];
const issuer = 'https://login.example';
const whoIs = (subject: string): Who => ({ subject, issuer }) as Who;

/** The file of a vault, until the test ends. */
function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-connections-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'vault');
}

/** An empty vault. */
function newVault(store = new FileStore(newFile())): Vault {
  return new Vault(
    store,
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
    await connections.forget({ subject: 'ann', issuer, principal: ann, before: until - 11 * 60_000 }),
  ).toMatchObject({ kind: 'forgotten', count: 0 });
  expect(await passing.places()).toHaveLength(6);
  await connections.forget({ subject: 'ann', issuer, principal: ann });
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
  expect(await connections.forget({ subject: 'ann', issuer, principal: withoutId })).toMatchObject({
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
  const second = await connections.list({ kind: 'list', after: 'one p_agent' });
  expect(second).toMatchObject({
    total: 4,
    connections: ['p_longer', 'p_old', 'p_other'].map((principal) => ({ principal })),
  });
  const ofAcme = { subject: 'ANN', issuer, tenant: 'acme', principal: 'p_old' as Principal, isAnyCase: true };
  expect(await connections.forget(ofAcme)).toMatchObject({ count: 2 });
  expect((await vault.places()).map(({ principal }) => principal).toSorted()).toEqual(['p_longer', 'p_other']);
  expect(await passing.places()).toHaveLength(2);
});

type Act = (() => Promise<unknown>) | undefined;

/** A store that lets something else happen, once, before it creates an entry, or after it has listed all. */
class LateStore extends FileStore {
  beforeCreation: Act;
  afterList: Act;
  reads = 0;

  override async get(...given: Parameters<FileStore['get']>): ReturnType<FileStore['get']> {
    this.reads += 1;
    return super.get(...given);
  }

  override async create(...given: Parameters<FileStore['create']>): Promise<number> {
    const act = this.beforeCreation;
    this.beforeCreation = undefined;
    await act?.();
    return super.create(...given);
  }

  override async watch(...given: Parameters<FileStore['watch']>): ReturnType<FileStore['watch']> {
    const watch = await super.watch(...given);
    const act = this.afterList;
    this.afterList = undefined;
    if (act !== undefined) watch.close();
    await act?.();
    return watch;
  }
}

/** The sign-in of Ann at a server, whose issuer redeems its code when `answer` is called. */
async function signingIn(isProven: boolean) {
  const [url, at, server] = ['https://server.example/mcp', 'https://issuer.example', parseServerName('one')];
  const store = new LateStore(newFile());
  const [vault, passing] = [newVault(store), newVault()];
  const revoked: string[] = [];
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const fetch: Fetch = async (address, { body } = {}) => {
    const json = (value: object): Response => new Response(JSON.stringify(value), { status: 200 });
    if (address.includes('oauth-protected-resource')) return json({ resource: url, authorization_servers: [at] });
    if (address.includes('/.well-known/'))
      return json({
        issuer: at,
        authorization_endpoint: `${at}/authorize`,
        token_endpoint: `${at}/token`,
        revocation_endpoint: `${at}/revoke`,
        code_challenge_methods_supported: ['S256'],
      });
    if (address === `${at}/revoke`) revoked.push(new URLSearchParams(body).get('token') ?? '');
    else asked.resolve();
    if (address === `${at}/token`) await answered.promise;
    return json({ access_token: 'access', refresh_token: 'refresh', token_type: 'Bearer' });
  };
  const client = { clientId: 'gateway', method: 'none' };
  const users = {
    signIn: { fetch, vault, url, issuer: at, client, clientDocument: undefined, scope: undefined, namesResource: true },
    placeOf: (principal: Principal) => ({ purpose: 'connection', server, principal }),
  } as unknown as UserCredentials;
  const signIns = new SignIns({
    bus: new MemoryBus(({ what }) => expect.fail(what)),
    log: createLogger({ level: 'silent', format: 'json' }),
    vault,
    passing,
    base: () => 'https://gateway.example',
    users: () => users,
    changed: () => Promise.resolve(),
  });
  const wanted = { resourceMetadata: undefined, scope: undefined, error: undefined };
  const [who, until] = [whoIs('ann'), Date.now() + 10 * 60_000];
  const ticket = { server, principal: ann, who, wanted, session: 's', elicitation: 'e', until };
  await passing.put(placeOfSecret('ticket', 'ticket-ann'), '', ticket);
  const left = await signIns.hear({ kind: 'begin', ticket: 'ticket-ann', principal: ann, browser: 'b', isProven });
  const state = new URL((left as { readonly address: string }).address).searchParams.get('state') ?? '';
  const sealed = (await sealAnswer(new URLSearchParams({ code: 'code-0123456789', state }))) ?? '';
  const finishing = signIns.hear({ kind: 'finish', browser: 'b', state, sealed });
  await asked.promise;
  return {
    store,
    revoked,
    finishing,
    answer: () => answered.resolve(),
    forget: () => signIns.hear({ kind: 'forget', subject: 'ann', issuer, principal: ann }),
    enter: (code: string) =>
      signIns.ask(server, wanted, {
        method: 'tools/call',
        params: { name: signInName, arguments: { code } },
        context: {
          principal: ann,
          session: 's' as SessionKey,
          capabilities: {},
          standsAlone: false,
          logLevel: undefined,
          wantsProgress: false,
          maxTimeMs: 1_000,
        },
      }),
    stored: async () => [...(await vault.places()), ...(await passing.places())],
  };
}

it.each([true, false])(
  'a sign-in whose code is redeemed while its user is removed leaves nothing, and is revoked (proven by the browser: %j)',
  async (isProven) => {
    const { revoked, finishing, answer, forget, stored } = await signingIn(isProven);
    expect(await forget()).toMatchObject({ kind: 'forgotten' });
    answer();
    await finishing;
    expect([await stored(), revoked]).toEqual([[], ['refresh']]);
  },
);

it('a sign-in that ends while its user is removed is found by the removal', async () => {
  const { store, revoked, finishing, answer, forget, stored } = await signingIn(true);
  store.afterList = () => {
    answer();
    return finishing;
  };
  expect(await forget()).toMatchObject({ kind: 'forgotten', count: 1 });
  expect(await finishing).toMatchObject({ kind: 'done' });
  expect([await stored(), revoked]).toEqual([[], ['refresh']]);
});

it('a sign-in whose code is entered while its user is removed leaves nothing', async () => {
  const { store, revoked, finishing, answer, forget, enter, stored } = await signingIn(false);
  answer();
  const { code = '' } = (await finishing) as Extract<ConnectReply, { kind: 'done' }>;
  store.beforeCreation = forget;
  expect(await enter(code)).toMatchObject({ kind: 'result', result: { isError: true } });
  expect(await stored()).toEqual([]);
  expect(revoked).toContain('refresh');
});

it('removals of many users at once share readings of the vault, each of which begins after its removals have come', async () => {
  const store = new LateStore(newFile());
  const vault = newVault(store);
  const connections = new Connections({
    log: createLogger({ level: 'silent', format: 'json' }),
    vault,
    passing: newVault(),
    users: () => undefined,
    changed: () => Promise.resolve(),
  });
  const connect = (user: number): Promise<void> =>
    vault.put({ purpose: 'connection', server: 'one', principal: `p_${user}` }, issuer, {
      url: 'https://server.example/mcp',
      issuer,
      since: 1,
      owner: `user${user} (${issuer})`,
    });
  const remove = (user: number): Promise<ConnectReply> => connections.forget({ subject: `user${user}`, issuer });
  const users = Array.from({ length: 20 }, (_, user) => user);
  for (const user of users) await connect(user);
  store.reads = 0;
  const others: Promise<ConnectReply>[] = [];
  store.afterList = async () => {
    await connect(20);
    others.push(...[...users.slice(1), 20].map((user) => remove(user)));
  };
  const replies = [await remove(0), ...(await Promise.all(others))];
  expect(replies).toEqual(Array.from({ length: 21 }, () => ({ kind: 'forgotten', count: 1, notRevoked: 1 })));
  expect(await vault.places()).toEqual([]);
  // Two readings, the new connection, and one for each removal.
  expect(store.reads).toBeLessThan(4 * 21);
});
