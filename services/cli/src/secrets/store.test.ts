import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Authority, FakeVault } from '@omnibus/bus/testing';
import { readConfigFile, type ServerConfig, type StoreSettings } from '@omnibus/config';
import { configOf } from '@omnibus/config/testing';
import { SecretStore } from './store.ts';

let vault: FakeVault;
let stack: AsyncDisposableStack;
let folder: string;
let warnings: string[];

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  vault = stack.use(await FakeVault.start());
  folder = await mkdtemp(join(tmpdir(), 'omnibus-secrets-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  warnings = [];
});
afterEach(() => stack.disposeAsync());

const settingsOf = (options: object = {}): StoreSettings =>
  configOf({ secrets: { vault: { refresh: 0, ...options } } }).secrets.vault;
/** For a store that does not answer: a test waits that long. */
const impatient = { patience: '1s' };
const newStore = (): SecretStore => stack.use(new SecretStore((problem) => void warnings.push(problem)));

/** Holds the first request for a path at the store. */
function heldAt(path: string): { readonly came: Promise<void>; readonly goOn: () => void } {
  const [came, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  vault.before = (asked) => {
    if (asked !== path) return undefined;
    vault.before = () => undefined;
    came.resolve();
    return open.promise;
  };
  return { came: came.promise, goOn: open.resolve };
}

interface Asking {
  readonly options?: object;
  readonly env?: Readonly<Record<string, string>>;
  readonly store?: SecretStore;
}

/** What references stand for, or the problems. */
async function read(
  references: readonly string[],
  { options = {}, env = { VAULT_ADDR: vault.address, VAULT_TOKEN: vault.newToken() }, store = newStore() }: Asking = {},
): Promise<string[]> {
  const answers = await store.read(references, settingsOf(options), { env, folder });
  return references.map((reference) => {
    const answer = answers.get(reference);
    return answer === undefined ? 'no answer' : 'text' in answer ? answer.text : answer.problem;
  });
}

describe('a reference is answered', () => {
  it('from key-value engines of both versions, each secret being read once', async () => {
    vault.put('team/github', { token: 'two\n', port: 8200, on: true });
    vault.putPlain('old', { key: 'one' });
    expect(
      await read(['secret/team/github#token', 'secret/team/github#port', 'secret/team/github#on', 'kv/old#key']),
    ).toEqual(['two', '8200', 'true', 'one']);
    expect(vault.asked.values.filter(({ path }) => path === 'secret/data/team/github')).toHaveLength(1);
  });

  it('by a version, which the newest is not', async () => {
    vault.put('a', { key: 'first' });
    vault.put('a', { key: 'second' });
    expect(await read(['secret/a?version=1#key', 'secret/a#key'])).toEqual(['first', 'second']);
  });

  it('with the version of the engine given, without asking for it', async () => {
    vault.put('a', { key: 'two' });
    expect(await read(['secret/a#key'], { options: { kv: 'v2' } })).toEqual(['two']);
    expect(vault.asked.values.some(({ path }) => path.startsWith('sys/'))).toBe(false);
  });

  it('in a namespace, at the address and with the token of the configuration before those of the environment', async () => {
    vault.put('a', { key: 'two' });
    const token = vault.newToken();
    expect(
      await read(['secret/a#key'], {
        options: { address: vault.address, token, namespace: 'team-a' },
        env: { VAULT_ADDR: 'https://127.0.0.1:1', VAULT_TOKEN: 'other', VAULT_NAMESPACE: 'b' },
      }),
    ).toEqual(['two']);
    expect(new Set(vault.asked.values.map(({ namespace, token: sent }) => `${namespace} ${sent}`))).toEqual(
      new Set([`team-a ${token}`]),
    );
  });
});

describe('the gateway logs in', () => {
  beforeEach(() => vault.put('a', { key: 'two' }));
  const env = (): Readonly<Record<string, string>> => ({ VAULT_ADDR: vault.address });

  it('by AppRole, and ends the login when it ends', async () => {
    const store = newStore();
    expect(await read(['secret/a#key'], { options: { appRole: vault.role }, env: env(), store })).toEqual(['two']);
    expect(vault.tokens.size).toBe(1);
    await store[Symbol.asyncDispose]();
    expect(vault.tokens.size).toBe(0);
  });

  it('and ends a login that is answered after the end, and makes no further one', async () => {
    const store = newStore();
    const asking = { options: { appRole: vault.role }, env: env(), store };
    const login = heldAt('auth/approle/login');
    const reading = read(['secret/a#key'], asking);
    await login.came;
    const ended = store[Symbol.asyncDispose]();
    login.goOn();
    await ended;
    expect([await reading, await read(['secret/a#key'], asking)]).toEqual([
      ['the login at the secret store has ended'],
      ['the login at the secret store has ended'],
    ]);
    expect(vault.asked.values.map(({ path }) => path)).toEqual(['auth/approle/login', 'auth/token/revoke-self']);
    expect(vault.tokens.size).toBe(0);
  });

  it('and waits at the end for that of an earlier configuration, which is being ended', async () => {
    const store = newStore();
    const revocation = heldAt('auth/token/revoke-self');
    for (const timeout of ['4s', '5s'])
      expect(await read(['secret/a#key'], { options: { appRole: vault.role, timeout }, env: env(), store })).toEqual([
        'two',
      ]);
    await revocation.came;
    const happened: string[] = [];
    const ended = store[Symbol.asyncDispose]().then(() => void happened.push('ended'));
    await vault.asked.untilSome(({ path }) => path === 'auth/token/revoke-self');
    for (let answers = 0; answers < 5; answers += 1) await fetch(vault.address);
    happened.push('revoked');
    revocation.goOn();
    await ended;
    expect(happened).toEqual(['revoked', 'ended']);
    expect(vault.tokens.size).toBe(0);
  });

  it('and gives back the login before and that on its way under one limit, when the store answers neither', async () => {
    onTestFinished(() => void vi.useRealTimers().restoreAllMocks());
    vault.lifeSeconds = 60;
    const store = newStore();
    const asking = { options: { appRole: vault.role }, env: env(), store };
    await read(['secret/a#key'], asking);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
    const [came, answers] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vault.before = (path) => {
      if (path === 'auth/approle/login') came.resolve();
      return answers.promise;
    };
    const reading = read(['secret/a#key'], asking);
    await came.promise;
    // Only the clock that the test turns ends the wait.
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal);
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    let hasEnded = false;
    void store[Symbol.asyncDispose]().then(() => (hasEnded = true));
    await vi.advanceTimersByTimeAsync(4_999);
    expect(hasEnded).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(hasEnded).toBe(true);
    answers.resolve();
    vi.useRealTimers();
    expect(await reading).toEqual(['two']);
    await expect.poll(() => vault.tokens.size).toBe(0);
  });

  it('with the token of its service account, which is read for each login', async () => {
    await writeFile(join(folder, 'jwt'), vault.serviceAccount.jwt);
    const options = { kubernetes: { role: vault.serviceAccount.role, tokenFile: 'jwt' } };
    expect(await read(['secret/a#key'], { options, env: env() })).toEqual(['two']);
    await writeFile(join(folder, 'jwt'), 'another');
    expect((await read(['secret/a#key'], { options, env: env() }))[0]).toMatch(
      /refuses the login at auth\/kubernetes\/login \(403\): check secrets\.vault\.kubernetes\.role/,
    );
  });

  it('with a token in a file that another program replaces', async () => {
    const store = newStore();
    for (const token of [vault.newToken(), vault.newToken()]) {
      await writeFile(join(folder, 'token'), `${token}\n`);
      expect(await read(['secret/a#key'], { options: { tokenFile: 'token' }, env: env(), store })).toEqual(['two']);
      expect(vault.asked.values.at(-1)?.token).toBe(token);
    }
  });

  it('again when its token is refused', async () => {
    const store = newStore();
    const asking = { options: { appRole: vault.role }, env: env(), store };
    await read(['secret/a#key'], asking);
    vault.tokens.clear();
    vault.put('a', { key: 'three' });
    expect(await read(['secret/a#key'], asking)).toEqual(['three']);
  });

  it('once, and renews its token before that ends', async () => {
    vault.lifeSeconds = 1;
    await read(['secret/a#key'], { options: { appRole: vault.role }, env: env() });
    await vault.asked.untilSome(({ path, status }) => path === 'auth/token/renew-self' && status === 200);
    expect(vault.asked.values.filter(({ path }) => path.endsWith('/login'))).toHaveLength(1);
  });

  it('and renews a given token too, of which it says when it cannot be renewed', async () => {
    const token = vault.newToken(1);
    await read(['secret/a#key'], { env: { ...env(), VAULT_TOKEN: token } });
    await vault.asked.untilSome(({ path }) => path === 'auth/token/renew-self');
    vault.tokens.delete(token);
    await expect
      .poll(() => warnings)
      .toEqual(['the secret store does not renew its token (403): set a new one before it ends']);
  });
});

describe('a problem is said in words, without secret and token', () => {
  it.each([
    [
      'secret/none#key',
      'the secret store has nothing at secret/none (404): check the path, and secrets.vault.namespace',
    ],
    [
      'secret/data/a#key',
      'the secret store has nothing at secret/data/a (404): write the path without "data/", as for "vault kv get"',
    ],
    [
      'secret/a?version=9#key',
      'the secret store has nothing at secret/a with version 9 (404): check the path, and secrets.vault.namespace',
    ],
    ['secret/a#none', 'secret/a has no field "none" in the secret store; it has "key", "map"'],
    ['secret/a#map', 'the field "map" of secret/a is not a text, and only texts can be referred to'],
    [
      'secret/deleted#key',
      'version 1 of secret/deleted is deleted in the secret store since 2026-11-01T00:00:00Z: undelete it, write it anew, or refer to another version',
    ],
    [
      'secret/destroyed#key',
      'version 1 of secret/destroyed is destroyed in the secret store: write it anew, or refer to another version',
    ],
    [
      'secret/closed#key',
      'the secret store refuses to show secret/closed (403): the policy of the token has to allow "read" on secret/data/closed, and the token may not have ended',
    ],
    ['kv/old?version=2#key', 'kv/ keeps no versions (KV v1): leave out ?version=2'],
    ['database/creds/role#password', 'database/ is no key-value engine, and references are to those only'],
    [
      'nowhere/a#key',
      'the secret store refuses to show nowhere/a (403): no policy of the token allows anything there, the token has ended, or there is no such mount',
    ],
  ])('%s', async (reference, problem) => {
    vault.put('a', { key: 'hunter2', map: { b: 1 } });
    vault.put('deleted', { key: 'hunter2' });
    vault.mark('deleted', 'deleted');
    vault.put('destroyed', { key: 'hunter2' });
    vault.mark('destroyed', 'destroyed');
    vault.forbidden.add('secret/data/closed');
    vault.putPlain('old', { key: 'hunter2' });
    expect(await read([reference, 'secret/a#key'])).toEqual([problem, 'hunter2']);
  });

  it('of a store that is sealed, away, without address or token, or at an address over which a token could be read', async () => {
    const env = { VAULT_ADDR: vault.address, VAULT_TOKEN: vault.newToken() };
    const of = async (asking: Asking): Promise<string> =>
      (await read(['secret/a#key'], { options: impatient, ...asking }))[0] as string;
    vault.isSealed = true;
    expect(await of({ env })).toBe(
      `the secret store at ${vault.address} is sealed or under maintenance (503): unseal it`,
    );
    await vault.stop();
    expect(await of({ env })).toBe(`the secret store at ${vault.address} cannot be reached (ECONNREFUSED)`);
    await vault.listen();
    vault.isSealed = false;
    expect(await of({ env: {} })).toBe(
      'the secret store has no address: set secrets.vault.address, or the environment variable VAULT_ADDR',
    );
    expect(await of({ env: { VAULT_ADDR: vault.address } })).toMatch(
      /wants a token: set token, tokenFile, kubernetes or appRole of secrets\.vault/,
    );
    expect(await of({ env: { ...env, VAULT_ADDR: 'http://vault.example.com:8200' } })).toMatch(
      /expected an https:\/\/ address, or one of this machine/,
    );
    expect(await of({ env, options: { appRole: { roleId: 'a', secretId: 'hunter2' } } })).toMatch(
      /refuses the login at auth\/approle\/login \(400\): check the role id and the secret id/,
    );
  });
});

it('a store that cannot answer for a moment is asked again', async () => {
  vault.put('a', { key: 'two' });
  vault.failing.push(500, 429, 503, 412);
  expect(await read(['secret/a#key'])).toEqual(['two']);
});

it('a store that gave a reason and then no answer is told by its reason, and one without any by how long it was waited for', async () => {
  const store = `the secret store at ${vault.address}`;
  vault.failing.push(503);
  vault.isSilent = true;
  expect(await read(['secret/a#key'], { options: impatient })).toEqual([
    `${store} is sealed or under maintenance (503): unseal it`,
  ]);
  expect(await read(['secret/a#key'], { options: impatient })).toEqual([
    `${store} did not answer within 1000 ms, which is secrets.vault.patience`,
  ]);
  expect(await read(['secret/a#key'], { options: { ...impatient, timeout: '100ms' } })).toEqual([
    `${store} did not answer within 100 ms`,
  ]);
});

it('a store that sends requests elsewhere is not followed', async () => {
  vault.failing.push(307);
  expect((await read(['secret/a#key']))[0]).toMatch(/sends requests elsewhere \(307\), where the token is not sent/);
  expect(vault.asked.values).toHaveLength(1);
});

it('the certificate of the store is checked', async () => {
  const authority = stack.use(await Authority.create());
  const secure = stack.use(await FakeVault.start(await authority.sign('vault', [{ type: 'ip', value: '127.0.0.1' }])));
  secure.put('a', { key: 'two' });
  const env = { VAULT_ADDR: secure.address, VAULT_TOKEN: secure.newToken() };
  expect((await read(['secret/a#key'], { env }))[0]).toMatch(
    /shows a certificate that is not trusted \([A-Z_]+\): secrets\.vault\.caFile names its authority/,
  );
  expect(secure.asked.values).toEqual([]);
  expect(await read(['secret/a#key'], { env, options: { caFile: authority.caFile } })).toEqual(['two']);
  expect(await read(['secret/a#key'], { env: { ...env, VAULT_CACERT: authority.caFile } })).toEqual(['two']);
  expect((await read(['secret/a#key'], { options: { caFile: 'none.pem' } }))[0]).toMatch(
    /the authority of the secret store cannot be read: .*none\.pem \(ENOENT\)/,
  );
});

it('what was read is kept while the store cannot be asked, and given up when it is gone', async () => {
  vault.put('a', { key: 'two' });
  const token = vault.newToken();
  const asking = { options: impatient, env: { VAULT_ADDR: vault.address, VAULT_TOKEN: token }, store: newStore() };
  await read(['secret/a#key'], asking);
  vault.isSealed = true;
  expect(await read(['secret/a#key', 'secret/b#key'], asking)).toEqual(['two', expect.stringMatching(/sealed/)]);
  expect(warnings).toEqual([expect.stringMatching(/sealed.*; the values that were read before are used/)]);
  vault.isSealed = false;
  vault.tokens.clear();
  expect(await read(['secret/a#key'], asking)).toEqual(['two']);
  vault.tokens.set(token, 0);
  vault.mark('a', 'deleted');
  expect(await read(['secret/a#key'], asking)).toEqual([expect.stringMatching(/deleted/)]);
  vault.isSealed = true;
  expect(await read(['secret/a#key'], asking)).toEqual([expect.stringMatching(/sealed/)]);
});

it('a changed secret is noticed, and an unchanged one is not', async () => {
  vault.put('a', { key: 'two' });
  const store = newStore();
  await read(['secret/a#key'], { options: { refresh: '20ms' }, store });
  const changed = new Promise<void>((resolve) => {
    store.follow(() => {
      resolve();
      return Promise.resolve();
    });
  });
  await vault.asked.untilSome(() => vault.asked.values.filter(({ path }) => path === 'secret/data/a').length > 2);
  vault.put('a', { key: 'three' });
  await changed;
});

it('a configuration asks for the secrets that its process needs', async () => {
  vault.put('a', { key: 'two' });
  const file = join(folder, 'omnibus.yaml');
  await writeFile(
    file,
    `secrets: { vault: { address: "${vault.address}", token: "\${STORE_TOKEN}" } }
mcpServers: { one: { url: "http://127.0.0.1:1/mcp", headers: { Authorization: "Bearer \${vault:secret/a#key}" } }, two: { url: "http://127.0.0.1:1/mcp", headers: { X-Key: "\${vault:secret/none#key}" } } }
`,
  );
  const env = { STORE_TOKEN: vault.newToken() };
  const loaded = await readConfigFile(file, { env, secrets: newStore() });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  expect(loaded.config.mcpServers['one']).toMatchObject({ headers: { Authorization: 'Bearer two' } });
  expect((loaded.config.mcpServers['two'] as ServerConfig).problem).toMatch(
    /^headers\.X-Key: the secret store has nothing at secret\/none/,
  );
  const before = vault.asked.values.length;
  await readConfigFile(file, { env, secrets: newStore(), withoutServerSecrets: true });
  expect(await readConfigFile(file, { env, secrets: newStore(), connects: false })).toMatchObject({ faults: [] });
  expect(vault.asked.values).toHaveLength(before);
});

it('how the store is asked cannot come from the store', async () => {
  const file = join(folder, 'omnibus.yaml');
  await writeFile(
    file,
    'secrets: { vault: { token: "${vault:secret/a#key}" } }\nmcpServers: { one: { url: "${vault:secret/a#url}" } }\n',
  );
  const loaded = await readConfigFile(file, { env: {}, secrets: newStore() });
  expect('problems' in loaded && loaded.problems.map(({ path }) => path)).toEqual(['secrets.vault.token']);
  expect(vault.asked.values).toEqual([]);
});

it.each([
  'secret#key',
  'secret/#key',
  'secret/a',
  'secret/a#',
  'secret/../sys#key',
  'secret/a?version=0#key',
  'secret/a?list=1#key',
])('%s is not a reference', async (text) => {
  const file = join(folder, 'omnibus.yaml');
  await writeFile(
    file,
    `mcpServers: { one: { url: "http://127.0.0.1:1/mcp", headers: { A: "\${vault:${text}}" } } }\n`,
  );
  const loaded = await readConfigFile(file, { env: {}, secrets: newStore() });
  expect('faults' in loaded && loaded.faults.map(({ message }) => message)).toEqual([
    expect.stringMatching(/is not a reference: expected \$\{vault:MOUNT\/PATH#FIELD\}/),
  ]);
});

it('one secret at which the store fails does not keep the others from being read', async () => {
  for (const name of ['a', 'b', 'c']) vault.put(name, { key: name });
  vault.broken.add('secret/data/a');
  expect(await read(['secret/a#key', 'secret/b#key', 'secret/c#key'], { options: impatient })).toEqual([
    `the secret store at ${vault.address} cannot answer now (500)`,
    'b',
    'c',
  ]);
});

it('a store that is away is waited for once, however many secrets it has', async () => {
  await vault.stop();
  const references = Array.from({ length: 200 }, (_, index) => `secret/${index}#key`);
  expect(new Set(await read(references, { options: impatient }))).toEqual(
    new Set([`the secret store at ${vault.address} cannot be reached (ECONNREFUSED)`]),
  );
});
