/** `omnibus stdio` on a laptop: the page of a sign-in opens in the browser, and the key of the vault is in the keychain of the user. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { signInAt } from '../support/browse.ts';
import { startGateway, writeConfig } from '../support/gateway.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { omnibusProgram } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';

const stack = new AsyncDisposableStack();
let servers: readonly [PersonalServer, PersonalServer];
let folder: string;
/** Addresses passed to the opener of the desktop. */
const opened: string[] = [];
const arrived = new EventTarget();
let openers: string;

beforeAll(async () => {
  servers = [stack.use(await PersonalServer.start()), stack.use(await PersonalServer.start())];
  const receiver = createServer((request, response) => {
    opened.push(decodeURIComponent((request.url ?? '').slice(1)));
    response.end();
    arrived.dispatchEvent(new Event('opened'));
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  stack.defer(() => void receiver.close());
  openers = mkdtempSync(join(tmpdir(), 'omnibus-openers-'));
  stack.defer(() => rmSync(openers, { recursive: true }));
  writeFileSync(
    join(openers, 'xdg-open'),
    `#!${process.execPath}\nfetch('http://127.0.0.1:${(receiver.address() as AddressInfo).port}/' + encodeURIComponent(process.argv[2]) + (process.env.SECRET_OF_A_SERVER ?? ''));\n`,
  );
  chmodSync(join(openers, 'xdg-open'), 0o755);
  folder = mkdtempSync(join(tmpdir(), 'omnibus-laptop-'));
  mkdirSync(join(folder, 'run'), { mode: 0o700 });
  stack.defer(() => rmSync(folder, { recursive: true }));
});
afterAll(() => stack.disposeAsync());

const nextPage = async (count: number): Promise<string> => {
  while (opened.length < count) await once(arrived, 'opened');
  return opened[count - 1] as string;
};

interface Started {
  readonly client: Client;
  readonly stderr: () => string;
  readonly tools: () => Promise<readonly string[]>;
  readonly said: (name: string, args?: object) => Promise<string>;
}

/** Starts `omnibus stdio` as a desktop client does. @param before words of a command that starts it. */
async function start(
  config: string,
  words: readonly string[],
  before: readonly string[] = [process.execPath],
): Promise<Started> {
  const [command = '', ...args] = [...before, omnibusProgram, 'stdio', '--config', config, ...words];
  const transport = new StdioClientTransport({
    command,
    args,
    stderr: 'pipe',
    env: {
      PATH: `${openers}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_RUNTIME_DIR: join(folder, 'run'),
      DISPLAY: ':0',
      SECRET_OF_A_SERVER: 'secret',
    },
  });
  let stderr = '';
  transport.stderr?.on('data', (part: Buffer) => {
    stderr += part.toString();
  });
  const client = new Client({ name: 'laptop', version: '1' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    stderr: () => stderr,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    said: async (name, args = {}) =>
      ((await client.callTool({ name, arguments: { ...args } })).content as readonly { readonly text: string }[])[0]
        ?.text ?? '',
  };
}

const config = (more: object = {}): Promise<string> =>
  writeConfig({
    prefix: 'always',
    vault: { file: join(folder, 'vault.json') },
    ...more,
    mcpServers: Object.fromEntries(
      ['first', 'second'].map((name, index) => [
        name,
        { url: servers[index]?.url, restart: { minDelay: '50ms', maxDelay: '200ms' }, credentials: { kind: 'oauth' } },
      ]),
    ),
  });

it('the browser opens at the pages of servers that want a sign-in, one after the other, and the next start needs none', async () => {
  // The same file says how callers of a network are known; here there is one user.
  const file = await config({
    publicUrl: 'https://mcp.example.com',
    auth: { issuers: [{ issuer: 'https://login.example.com' }] },
  });
  const omnibus = await start(file, ['--browser']);
  expect((await omnibus.tools()).toSorted()).toEqual(['first__connect', 'second__connect']);
  const first = await nextPage(1);
  expect(first).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}$/);
  // A call meanwhile leads to the same server's page, and opens no other.
  expect(await omnibus.said('first__connect')).toContain('on a page that a browser of this machine has opened');
  expect((await signInAt(first, servers[0].signsInAs('ann'))).text).toContain('You are signed in');
  expect((await signInAt(await nextPage(2), servers[1].signsInAs('ann'))).text).toContain('You are signed in');
  await expect.poll(omnibus.tools).toEqual(['first__whose', 'first__only_ann', 'second__whose', 'second__only_ann']);
  expect(await omnibus.said('second__whose', { mark: 'mine' })).toBe('ann mine');
  // The port of the pages answers no other name, so no web page that leads here can read them.
  expect((await fetch(first.replace('127.0.0.1', 'localhost')).catch(() => ({ status: 0 }))).status).not.toBe(200);
  await omnibus.client.close();
  const again = await start(file, ['--browser']);
  await expect.poll(again.tools).toContain('first__whose');
  expect(opened).toHaveLength(2);
});

it('where no browser is opened, the address is printed, and it works', async () => {
  const before = opened.length;
  const omnibus = await start(await config({ vault: { file: join(folder, 'other.json') } }), ['--no-browser']);
  await expect.poll(omnibus.stderr).toMatch(/wants you to sign in: open http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/);
  const address = /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(await omnibus.said('first__connect'))?.[0] ?? '';
  expect((await signInAt(address, servers[0].signsInAs('ben'))).text).toContain('You are signed in');
  await expect.poll(omnibus.tools).toContain('first__only_ben');
  expect(opened).toHaveLength(before);
});

it('a gateway of one user that serves HTTP opens the page when a call needs it, unless the client can open it', async () => {
  const before = opened.length;
  await using gateway = await startGateway(
    'embedded',
    {
      vault: { file: join(folder, 'served.json') },
      mcpServers: { first: { url: servers[0].url, credentials: { kind: 'oauth' } } },
    },
    { PATH: `${openers}:${process.env['PATH'] ?? ''}` },
    undefined,
    ['--browser'],
  );
  using able = new ModernClient(gateway.url, { elicitation: { url: {} } });
  expect(JSON.stringify(required(await able.call('connect')).requests)).toContain('/connect/');
  using client = await RawClient.open(gateway.url, '2025-11-25');
  await client.callTool('connect');
  expect(await nextPage(before + 1)).toContain('/connect/');
  expect(opened).toHaveLength(before + 1);
});

/** Programs of Debian's packages gnome-keyring and libsecret-tools. */
const hasSecretService = ['secret-tool', 'gnome-keyring-daemon', 'dbus-run-session'].every(
  (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0,
);

it.runIf(hasSecretService)(
  'on a desktop with a Secret Service the key of the vault is there, and no file of the gateway opens the vault',
  async () => {
    const session = [
      'dbus-run-session',
      '--',
      'sh',
      '-c',
      'printf password | gnome-keyring-daemon --unlock --components=secrets >&2 && exec "$0" "$@"',
      process.execPath,
    ];
    const file = await config({ vault: { file: join(folder, 'kept.json') } });
    const omnibus = await start(file, ['--no-browser'], session);
    const address =
      /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(await omnibus.said('first__connect'))?.[0] ?? '';
    expect((await signInAt(address, servers[0].signsInAs('ann'))).text).toContain('You are signed in');
    await expect.poll(omnibus.tools).toContain('first__only_ann');
    await omnibus.client.close();
    expect(readFileSync(join(folder, 'kept.key'), 'utf8')).toMatch(/^keychain:vault-[0-9a-f]{12}\n$/);
    const again = await start(file, ['--no-browser'], session);
    await expect.poll(again.tools).toContain('first__only_ann');
    await again.client.close();
    // Without the keychain another key is used, and the user must sign in again, with the reason.
    const without = await start(file, ['--no-browser']);
    expect(await without.said('first__connect')).toContain('a key of the gateway is missing');
  },
);
