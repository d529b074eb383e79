/** Connections of users that a directory deletes, by what the configuration says of servers at which users sign in. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Blocks, Directory, MemoryBus, subjects } from '@omnibus/bus';
import { loadConfig, type Config } from '@omnibus/config';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { expect, it, onTestFinished } from 'vitest';
import { endConnections, openScim } from './open-sites.ts';

const publicUrl = 'https://mcp.example';
const auth = { issuers: [{ issuer: 'https://login.example' }] };

function configOf(server: object, more: object = {}): Config {
  const mcpServers = { a: { url: 'http://127.0.0.1:9/mcp', ...server } };
  const text = JSON.stringify({ publicUrl, auth, ...more, mcpServers });
  const loaded = loadConfig({ file: 'test', text, env: {}, readFile: () => '' });
  if (!('config' in loaded)) throw new Error(JSON.stringify(loaded));
  return loaded.config;
}

/** A bus that keeps the vault, as NATS does. */
class DurableBus extends MemoryBus {
  override readonly isDurable: boolean = true;
}

const credentials = { kind: 'oauth' };
const vault = { keys: [`a:${Buffer.alloc(32, 7).toString('base64')}`] };
const [plain, enabled, disabled] = [configOf({}), configOf({ credentials }), configOf({ credentials, disabled: true })];
const disabledWithVault = configOf({ credentials, disabled: true }, { vault });
// Edges have no keys of the vault.
const removed = configOf({}, { vault: {} });

it.each([
  ['no server', MemoryBus, plain, plain, []],
  ['a server since the start', DurableBus, enabled, plain, ['forget-directed']],
  ['a server since a reload', DurableBus, plain, enabled, ['forget-directed']],
  ['a disabled server', MemoryBus, disabled, disabled, ['forget-directed']],
  ['a disabled server over NATS', DurableBus, disabledWithVault, plain, ['forget-directed']],
  ['a disabled server over NATS without a vault', DurableBus, disabled, disabled, []],
  ['a disabled server since a reload', MemoryBus, plain, disabled, []],
  ['a server that was removed', MemoryBus, removed, removed, ['forget-directed']],
  ['a server that was removed over NATS', DurableBus, removed, removed, ['forget-directed']],
] as const)(
  'with %s, backend workers are asked to end them where there is a vault (%#)',
  async (_case, Kind, started, now, expected) => {
    const bus = new Kind(({ what }) => expect.fail(what));
    const heard: string[] = [];
    await bus.subscribe(subjects.connect, ({ kind }, reply) => {
      heard.push(kind);
      reply({ kind: 'forgotten', count: 0, notRevoked: 0 });
    });
    const configs = { config: () => now, started };
    await endConnections(bus, configs, [{ issuer: 'https://login.example', subject: 'ann' }]);
    expect(heard).toEqual(expected);
  },
);

it.each([
  ['https://login.example', ['ann at https://login.example', 'https://login.example|ann at https://gateway.example']],
  ['https://other.example', ['ann at https://other.example']],
])('a deleted user of %s is forgotten under each of its names', async (issuer, expected) => {
  const bus = new DurableBus(({ what }) => expect.fail(what));
  const heard: string[] = [];
  await bus.subscribe(subjects.connect, (command, reply) => {
    if (command.kind === 'forget-directed') heard.push(`${command.subject} at ${command.issuer}`);
    reply({ kind: 'forgotten', count: 0, notRevoked: 0 });
  });
  const [directory, blocks] = [await Directory.open(bus), await Blocks.open(bus)];
  const token = 't'.repeat(40);
  const config = configOf(
    { credentials },
    {
      vault,
      publicUrl: 'https://gateway.example',
      auth: {
        issuers: [{ issuer: 'https://other.example' }],
        server: { signIn: { issuer: 'https://login.example', clientId: 'omnibus', clientSecret: 's' } },
        scim: [{ issuer, token }],
      },
    },
  );
  const takenBack: string[] = [];
  const site = await openScim({
    started: config,
    config: () => config,
    bus,
    directory,
    blocks,
    authorization: {
      issuer: 'https://gateway.example',
      takeBack: (subject) => Promise.resolve(void takenBack.push(subject)),
    },
    audit: undefined,
    metrics: new Metrics({ processMetrics: false }),
    log: createLogger({ level: 'silent', format: 'json' }),
  });
  const server = createServer((request, response) => site?.handle(request, response, 'here')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
    directory.close();
    blocks.close();
  });
  const ask = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/scim/v2/Users${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
  const made = await ask('POST', '', { userName: 'ann', externalId: 'ann' });
  const { id } = (await made.json()) as { readonly id: string };
  expect((await ask('DELETE', `/${id}`)).status).toBe(204);
  expect(heard).toEqual(expected);
  expect(takenBack).toEqual(expected.length === 2 ? ['https://login.example|ann'] : []);
});
