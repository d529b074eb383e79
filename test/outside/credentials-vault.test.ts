/** The keys of the vault while it contains tokens of users: a new key, a lost one, one that is restored; and copies of the vault. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openNatsBus, vaultBuckets } from '@omnibus/bus';
import { jsonShapes } from '@omnibus/cli/json-shapes';
import { Balancer } from '../support/balancer.ts';
import { signInAt } from '../support/browse.ts';
import { saidHere } from '../support/command-here.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Link } from '../support/link.ts';
import { Keys } from '../support/keys.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';

const users = ['ann', 'ben'] as const;
type User = (typeof users)[number];

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const textOf = ({ last }: Answer): string =>
  (last.result?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(last);

interface Status {
  readonly current: string;
  readonly keys: readonly { readonly id: string; readonly entries: number }[];
  readonly lost: readonly { readonly server: string; readonly principal: string; readonly key: string }[];
}

/** A port of this test at which no gateway is, in place of the admin port that commands ask by default. */
let nowhere: Link;
beforeAll(async () => {
  nowhere = await Link.open(() => undefined);
});
afterAll(() => nowhere[Symbol.dispose]());

async function omnibus<Said = Record<string, unknown>>(
  ...words: readonly string[]
): Promise<{ readonly code: unknown; readonly said: Said; readonly text: string }> {
  const env = { OMNIBUS_ADMIN: `127.0.0.1:${nowhere.port}` };
  const { status: code, output: text } = await saidHere(words, { env });
  const said: unknown = words.includes('--json') && code === 0 ? JSON.parse(text) : {};
  if (words.includes('--json') && code === 0)
    expect(jsonShapes[words.slice(0, 2).join(' ')]?.safeParse(said).error).toBeUndefined();
  return { code, text, said: said as Said };
}

describe('several processes,', () => {
  const stack = new AsyncDisposableStack();
  let server: PersonalServer;
  let gateway: GatewayHere;
  let keys: Keys;
  let folder: string;
  let admin: string;
  let configure: (...names: readonly ('a' | 'b' | 'c')[]) => Promise<void>;
  const clients = new Map<User, RawClient>();

  beforeAll(async () => {
    server = stack.use(await PersonalServer.start());
    const front = stack.use(await Balancer.start());
    keys = stack.use(await Keys.make(...users));
    folder = await mkdtemp(join(tmpdir(), 'omnibus-vault-'));
    stack.defer(() => rm(folder, { recursive: true }));
    for (const [index, name] of ['a', 'b', 'c'].entries()) await writeFile(join(folder, name), `${keyOf(index + 1)}\n`);
    const config = (...names: readonly string[]): object => ({
      publicUrl: front.url,
      auth: keys.auth,
      vault: { keys: names.map((name) => `${name}:\${file:${join(folder, name)}}`) },
      mcpServers: {
        personal: { url: server.url, restart: { minDelay: '50ms', maxDelay: '200ms' }, credentials: { kind: 'oauth' } },
      },
    });
    gateway = stack.use(await startGatewayHere('nats', config('a')));
    front.edges = [gateway.url];
    admin = await gateway.admin(gateway.edge);
    await (await gateway.startPart('backend')).line(/"ready"/);
    configure = (...names) => gateway.configure(config(...names));
    for (const user of users) {
      const client = stack.use(await RawClient.open(gateway.url, '2025-11-25', keys.headersOf(user)));
      clients.set(user, client);
      await connect(user, client);
    }
  });
  afterAll(() => stack.disposeAsync());

  async function connect(user: User, client: RawClient): Promise<void> {
    await client.untilTools((names) => names.includes('connect'));
    const address =
      /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(textOf(await client.callTool('connect')))?.[0] ?? '';
    const code = /Your code: ([A-Z0-9-]{9})/.exec((await signInAt(address, server.signsInAs(user))).text)?.[1] ?? '';
    expect(textOf(await client.callTool('connect', { code }))).toContain('You are signed in');
  }

  const call = async (user: User, mark: string): Promise<string> =>
    textOf(await (clients.get(user) as RawClient).callTool('whose', { mark }));
  const asked = async (path: string): Promise<unknown> => (await fetch(`http://${admin}/api/v1/${path}`)).json();
  const status = (): Promise<Status> => asked('vault') as Promise<Status>;
  const connections = async (): Promise<readonly { readonly principal: string; readonly owner?: string }[]> =>
    ((await asked('connections')) as { readonly connections: readonly { readonly principal: string }[] }).connections;

  it('a key that not every process has is turned to by none of them, and then by all, without a start and without anybody signing in', async () => {
    const early = await omnibus('vault', 'rotate', '--key', 'b', '--admin', admin);
    expect([early.code, early.text]).toEqual([1, expect.stringContaining('has no key "b"')]);
    await configure('b', 'a');
    await expect
      .poll(async () => ((await asked('vault')) as { readonly processes: readonly object[] }).processes)
      .toEqual([expect.objectContaining({ keys: ['b', 'a'] }), expect.objectContaining({ keys: ['b', 'a'] })]);
    expect((await omnibus('vault', 'rotate', '--admin', admin, '--json')).said).toMatchObject({
      key: 'b',
      lost: 0,
      isGoingOn: false,
    });
    expect(await status()).toMatchObject({ current: 'b', keys: [{ id: 'b' }, { id: 'a', entries: 0 }], lost: [] });
    await configure('b');
    await expect.poll(async () => (await status()).keys.map(({ id }) => id)).toEqual(['b']);
    expect([await call('ann', 'one'), await call('ben', 'one')]).toEqual(['ann one', 'ben one']);
  });

  it('without the key each user is told why he is asked to sign in again, the operator which connections that are, and nothing is removed', async () => {
    // The next calls open new connections, for which the vault is read again.
    server.expire('ann');
    server.expire('ben');
    await configure('c');
    await expect.poll(async () => (await status()).lost).toHaveLength(2);
    expect((await status()).lost).toContainEqual({
      server: 'personal',
      principal: expect.stringMatching(/^p_/) as string,
      key: 'b',
      issuer: server.origin,
    });
    expect((await omnibus('vault', 'status', '--admin', admin)).text).toMatch(
      /2 connections of users cannot be decrypted[^]*With that key in vault\.keys they are there again[^]*personal +p_[\w-]+ +b /,
    );
    await expect
      .poll(() => call('ann', 'two'))
      .toContain('cannot be decrypted here any more, because a key of the gateway is missing');
    expect(await connections()).toEqual([
      expect.objectContaining({ server: 'personal', state: 'unreadable' }),
      expect.objectContaining({ server: 'personal', state: 'unreadable' }),
    ]);
    const read = async (path: string): Promise<string> =>
      (await fetch(`http://${await gateway.admin(gateway.backend)}/${path}`)).text();
    expect(await read('metrics')).toContain('omnibus_vault_unreadable_connections{server="personal"} 2');
    expect((JSON.parse(await read('status')) as { readonly servers: readonly object[] }).servers).toContainEqual(
      expect.objectContaining({ server: 'personal', unreadable: 2 }),
    );
  });

  it('with the key again nobody has to sign in, and whoever has done so meanwhile goes on with that', async () => {
    expect(await call('ben', 'two')).toContain('a key of the gateway is missing');
    await connect('ben', clients.get('ben') as RawClient);
    await configure('c', 'b');
    await expect.poll(async () => (await status()).lost).toEqual([]);
    await expect.poll(() => call('ann', 'three')).toBe('ann three');
    expect(await call('ben', 'three')).toBe('ben three');
  });

  it('what a lost key has encrypted can be removed by name', async () => {
    await configure('a');
    await expect.poll(async () => (await status()).lost).toHaveLength(2);
    const [first] = (await status()).lost;
    const removed = await omnibus(
      'connections',
      'revoke',
      'personal',
      '--principal',
      first?.principal ?? '',
      '--admin',
      admin,
    );
    expect([removed.code, removed.text]).toEqual([0, expect.stringContaining('its issuer was not asked')]);
    expect((await status()).lost).toHaveLength(1);
    await configure('a', 'b', 'c');
    await expect.poll(async () => (await status()).lost).toEqual([]);
  });

  it('a user who is gone is removed with everything that he has connected, here and at the issuer', async () => {
    const owners = (await connections()).map(({ owner }) => owner);
    for (const user of users) {
      // Entries under the returned key are used again a moment later.
      if (owners.includes(`${user} (omnibus:keys)`)) await expect.poll(() => call(user, 'x')).toBe(`${user} x`);
      else await connect(user, clients.get(user) as RawClient);
    }
    const before = server.revoked.length;
    const removed = await omnibus(
      'connections',
      'remove',
      '--user',
      'ben',
      '--issuer',
      'omnibus:keys',
      '--admin',
      admin,
      '--json',
    );
    expect([removed.code, removed.said]).toEqual([0, { user: 'ben', count: 1, notRevoked: 0 }]);
    expect(server.revoked).toHaveLength(before + 1);
    expect(await call('ben', 'four')).toContain('wants its user to sign in');
    expect(await call('ann', 'four')).toBe('ann four');
  });

  it('a copy of the vault brings back what is missing, with the keys, and shows nothing without them', async () => {
    const copy = join(folder, 'copy.json');
    const config = await copiedConfig();
    expect((await omnibus('vault', 'backup', copy, '--config', config)).code).toBe(0);
    const text = await readFile(copy, 'utf8');
    expect(server.secrets.filter((each) => text.includes(each))).toEqual([]);
    const principal = (await connections())[0]?.principal;
    // As when a disk is lost: the issuer is not informed.
    await lose();
    await expect.poll(() => call('ann', 'five')).toContain('wants its user to sign in');
    expect(await omnibus('vault', 'restore', copy, '--config', config, '--json')).toMatchObject({ code: 0 });
    await expect.poll(() => call('ann', 'six')).toBe('ann six');
    expect(await connections()).toEqual([expect.objectContaining({ principal, state: 'connected' })]);
  });

  /** The configuration of an administrator: with the bus of the running gateway. */
  async function copiedConfig(): Promise<string> {
    const file = join(folder, 'admin.json');
    const config = JSON.parse(await readFile(gateway.configFile, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...config, bus: gateway.bus?.replace('://', '://backend:backend@') }));
    return file;
  }

  async function lose(): Promise<void> {
    const bus = await openNatsBus(
      {
        servers: gateway.bus as string,
        clientName: 'test',
        login: {},
        inboxPrefix: '_INBOX',
        connectTimeoutMs: 5_000,
        waiting: () => undefined,
      },
      () => undefined,
    );
    const bucket = await bus.keyValue<string>(vaultBuckets.connections);
    const found: string[] = [];
    (await bucket.watch(({ key }) => found.push(key))).close();
    for (const key of found.filter((each) => each.startsWith('connection.'))) await bucket.delete(key);
    await bus.drain();
  }
});

it('a gateway that makes its keys itself makes the next one too, while it runs and while it does not', async () => {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await PersonalServer.start());
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-vault-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const config = {
    vault: { file: join(folder, 'vault.json') },
    mcpServers: { personal: { url: server.url, credentials: { kind: 'oauth' } } },
  };
  const keyFile = (): Promise<string> => readFile(join(folder, 'vault.key'), 'utf8');
  const called = async (gateway: GatewayHere, mark: string, tool = 'whose'): Promise<Answer> => {
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.length > 0);
    return await client.callTool(tool, { mark });
  };
  {
    await using gateway = await startGatewayHere('embedded', config);
    await signInAt(
      /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(textOf(await called(gateway, 'none', 'connect')))?.[0] ?? '',
      server.signsInAs('una'),
    );
    await expect.poll(async () => textOf(await called(gateway, 'one'))).toBe('una one');
    const before = await keyFile();
    expect(
      (await omnibus('vault', 'rotate', '--admin', await gateway.admin(gateway.edge), '--json')).said,
    ).toMatchObject({ renewed: expect.any(Number) as number, lost: 0 });
    expect(await keyFile()).toMatch(/^own-\d{4}-\d\d-\d\d-[0-9a-f]{6}:\S+\n$/);
    expect(await keyFile()).not.toBe(before);
    expect(textOf(await called(gateway, 'two'))).toBe('una two');
  }
  const running = await keyFile();
  const file = join(folder, 'omnibus.json');
  await writeFile(file, JSON.stringify(config));
  const away = await omnibus('vault', 'rotate', '--config', file);
  expect([away.code, away.text]).toEqual([0, expect.stringContaining('the file of the vault is opened')]);
  expect(await keyFile()).not.toBe(running);
  const copy = join(folder, 'copy.json');
  expect((await omnibus('vault', 'backup', copy, '--config', file)).code).toBe(0);
  await rm(config.vault.file);
  expect((await omnibus('vault', 'restore', copy, '--config', file)).code).toBe(0);
  await using gateway = await startGatewayHere('embedded', config);
  expect(textOf(await called(gateway, 'three'))).toBe('una three');
});
