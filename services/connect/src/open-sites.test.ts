/** Connections of users that a directory deletes, by what the configuration says of servers at which users sign in. */
import { MemoryBus, subjects } from '@omnibus/bus';
import { loadConfig, type Config } from '@omnibus/config';
import { expect, it } from 'vitest';
import { endConnections } from './open-sites.ts';

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
