/** A backend of several servers, for one of which something cannot be opened. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { approvedBucket, askBackends, MemoryBus, subjects, type Bucket, type Bus, type KeyValue } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { configOf } from '@omnibus/config/testing';
import { Envelopes, FileStore, KeyRing, parseVaultKeys, Vault } from '@omnibus/credentials';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, ownFormats } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { createBackend, type Backend } from './create.ts';
import type { UserOptions } from './features/credentials/accounts.ts';

const url = 'http://127.0.0.1:9/mcp';
const restart = { minDelay: '10s', maxDelay: '50ms' };

const configWith = (mcpServers: object): Config => configOf({ mcpServers });

async function backendOf(
  config: Config,
  users: Partial<UserOptions>,
  bus: Bus = new MemoryBus(({ what }) => expect.fail(what)),
): Promise<{ readonly backend: Backend; readonly problem: (server: string) => string | undefined }> {
  const baseFolder = mkdtempSync(join(tmpdir(), 'omnibus-backend-'));
  onTestFinished(() => rmSync(baseFolder, { recursive: true }));
  const backend = createBackend({
    config,
    baseFolder,
    bus,
    wheel: new DeadlineWheel({ tickMs: 5, onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    tracing: undefined,
    users: {
      base: () => 'http://127.0.0.1:7300',
      clientDocument: () => undefined,
      isForOne: true,
      areKnown: false,
      openVaults: () => Promise.reject(new Error('the vault is broken')),
      ...users,
    },
  });
  await backend.start();
  await backend.settled();
  return { backend, problem: (server) => backend.records.find((record) => record.server === server)?.problem };
}

it('a vault that cannot be opened takes nobody down but the servers that need it, is tried again, and the backend stops all the same', async () => {
  let attempts = 0;
  const { backend, problem } = await backendOf(
    configWith({ plain: { url, restart }, wanting: { url, restart, credentials: { kind: 'oauth' } } }),
    {
      openVaults: () => Promise.reject(new Error(`the vault is broken, attempt ${(attempts += 1)}`)),
    },
  );
  expect(problem('plain')).toMatch(/ECONNREFUSED|cannot be reached/);
  expect(problem('wanting')).toContain('what it takes to call the server could not be opened: the vault is broken');
  await expect.poll(() => problem('wanting')).toMatch(/attempt [2-9]/);
  await backend.stop();
});

class SharedBus extends MemoryBus {
  override readonly isShared: boolean = true;
}

it('each session worker that starts gets a sign of life at once', async () => {
  const bus = new SharedBus(({ what }) => expect.fail(what));
  let signs = 0;
  await bus.subscribe(subjects.backendPresence, () => void (signs += 1));
  const { backend } = await backendOf(configWith({}), {}, bus);
  // Without that, so many signs take longer than the test.
  for (let count = 0; count < 500; count += 1)
    bus.publish(subjects.presence, {
      worker: newWorkerId('session'),
      formats: ownFormats,
      isLeaving: false,
      reconnects: 0,
    });
  await vi.waitUntil(() => signs > 500, { timeout: 20_000 });
  await backend.stop();
});

it('a backend hears session workers before its first sign of life', async () => {
  const bus = new SharedBus(({ what }) => expect.fail(what));
  const order: string[] = [];
  await bus.subscribe(subjects.backendPresence, () => void order.push('sign'));
  const subscribe = bus.subscribe.bind(bus);
  vi.spyOn(bus, 'subscribe').mockImplementation(async (to, handler, options) => {
    const subscribed = await subscribe(to, handler, options);
    if (to.name === subjects.presence.name) order.push('hears');
    return subscribed;
  });
  const { backend } = await backendOf(configWith({}), {}, bus);
  await vi.waitUntil(() => order.includes('sign'));
  expect(order[0]).toBe('hears');
  await backend.stop();
});

/** A bus whose bucket of approved definitions comes later. */
class LateBus extends MemoryBus {
  override readonly isShared: boolean = true;
  /** Whether the bucket of approved definitions is there. */
  isThere = false;

  override keyValue<Value>(bucket: Bucket<Value>): Promise<KeyValue<Value>> {
    if (bucket.name !== approvedBucket.name) return super.keyValue(bucket);
    return this.isThere ? super.keyValue(bucket) : Promise.reject(new Error('the bucket is not there'));
  }
}

it('where it cannot be known what was approved of a server, it alone is not called until that can be known', async () => {
  const bus = new LateBus(({ what }) => expect.fail(what));
  const { backend, problem } = await backendOf(
    configWith({ plain: { url, restart }, pinned: { url, restart, definitions: 'pin' } }),
    {},
    bus,
  );
  expect([problem('pinned'), backend.definitions]).toEqual([
    'what it takes to call the server could not be opened: the bucket is not there',
    [],
  ]);
  await expect.poll(() => problem('plain')).toMatch(/ECONNREFUSED|cannot be reached/);
  bus.isThere = true;
  await expect.poll(() => backend.definitions).toMatchObject([{ server: 'pinned', mode: 'pin' }]);
  await expect.poll(() => problem('pinned')).toMatch(/ECONNREFUSED|cannot be reached/);
  await backend.stop();
});

const vault = { keys: [`a:${Buffer.alloc(32, 7).toString('base64')}`] };

it.each([
  ['disabled', { mcpServers: { wanting: { url, disabled: true, credentials: { kind: 'oauth' } } } }],
  ['not configured any more', { vault }],
])('what users have connected to a server that is %s is ended, where callers are known', async (_what, options) => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-backend-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const keys = new Envelopes(new KeyRing(parseVaultKeys(vault.keys)));
  const vaultAt = (name: string): Vault => new Vault(new FileStore(join(folder, name)), keys, () => undefined);
  const [connections, passing] = [vaultAt('connections'), vaultAt('passing')];
  const place = { purpose: 'connection', server: 'wanting', principal: 'p_ann' } as const;
  const [issuer, owner] = ['https://issuer.example', 'ann (https://login.example)'];
  await connections.put(place, issuer, { url, issuer, owner, since: 1 });
  const openVaults = () => Promise.resolve({ connections, passing });
  const { backend } = await backendOf(configOf(options), { isForOne: false, areKnown: true, openVaults }, bus);
  const forget = () => askBackends(bus, { kind: 'forget', subject: 'ann', issuer: 'https://login.example' });
  await expect.poll(forget).toMatchObject({ kind: 'forgotten', count: 1 });
  expect(await connections.places()).toEqual([]);
  await backend.stop();
});

it('a server where users sign in is not called by a process that was started for others than one user', async () => {
  const { backend, problem } = await backendOf(
    configWith({ wanting: { url, restart, credentials: { kind: 'oauth' } } }),
    { isForOne: false },
  );
  expect(problem('wanting')).toContain('this process was started for callers that nothing tells apart');
  await backend.stop();
});
