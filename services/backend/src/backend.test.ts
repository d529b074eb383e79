/** A backend of several servers, for one of which something cannot be opened. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  approvedBucket,
  askBackends,
  Blocks,
  MemoryBus,
  subjects,
  type Bucket,
  type Bus,
  type KeyValue,
} from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { configOf } from '@omnibus/config/testing';
import { Envelopes, FileStore, KeyRing, parseVaultKeys, sealToken, Vault } from '@omnibus/credentials';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  latestLegacyRevision,
  newRequestKey,
  newWorkerId,
  ownFormats,
  parseServerName,
  type ExchangeContext,
  type ExchangeEvent,
  type ExchangeId,
  type OfferCaller,
  type Principal,
} from '@omnibus/protocol';
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

/** A server whose one tool has the name of the token that it is called with, and whose sessions are counted. @returns its address. */
async function personalServer(): Promise<string> {
  let sessions = 0;
  const results = (token: string, session: string): Readonly<Record<string, object>> => ({
    initialize: {
      protocolVersion: latestLegacyRevision,
      capabilities: { tools: {} },
      serverInfo: { name: 'personal', version: '1' },
    },
    'tools/list': { tools: [{ name: `only_${token}`, inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: `${token} ${session}` }] },
  });
  const server = createServer((request, response) => {
    const { authorization = '', 'mcp-session-id': session = '' } = request.headers;
    const [, token] = authorization.split(' ');
    if (request.method !== 'POST') return void response.writeHead(405).end();
    if (token === undefined) return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    return void json(request).then((said) => {
      const { id, method } = said as { readonly id?: number; readonly method: string };
      if (id === undefined) return response.writeHead(202).end();
      const result = results(token, session as string)[method];
      const answer = result === undefined ? { error: { code: -32_601, message: 'no such method' } } : { result };
      const opened = method === 'initialize' ? { 'mcp-session-id': `session-${(sessions += 1)}` } : {};
      return response
        .writeHead(200, { 'content-type': 'application/json', ...opened })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

it('another person with the name of a removed user gets no token, connection or list of that one', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const blocks = await Blocks.open(bus);
  const issuer = 'https://login.example';
  const credentials = { kind: 'exchange', issuer, clientId: 'gateway', clientSecret: 's' };
  const config = configOf({
    publicUrl: 'https://gateway.example',
    auth: { issuers: [{ issuer }] },
    mcpServers: { personal: { url: await personalServer(), restart, credentials } },
  });
  const { backend } = await backendOf(config, { isForOne: false, areKnown: true, blocks }, bus);
  const [server, edge, principal] = [parseServerName('personal'), newWorkerId('edge'), 'p_ann' as Principal];
  let person = 'former';
  await bus.subscribe(subjects.callerToken(edge), async ({ key }, reply) => {
    const token = { server, principal, authorization: `Bearer ${person}`, until: Date.now() + 600_000 };
    reply({ kind: 'token', sealed: await sealToken(key, token) });
  });
  const context: ExchangeContext = {
    principal,
    who: { issuer, subject: 'ann', tenant: undefined, groups: [], at: edge },
    session: newRequestKey(),
    capabilities: {},
    standsAlone: false,
    logLevel: undefined,
    wantsProgress: false,
    maxTimeMs: 60_000,
  };
  const call = (): Promise<ExchangeEvent> =>
    new Promise((resolve, reject) => {
      const exchange = newRequestKey() as string as ExchangeId;
      const pending = bus.request(
        subjects.backend(server),
        { kind: 'call', exchange, method: 'tools/call', params: { name: 'whose', arguments: {} }, context },
        {
          reply(event) {
            if (!['result', 'error', 'fault'].includes(event.kind)) return;
            pending.close();
            resolve(event);
          },
          failed: reject,
        },
      );
    });
  const offered = (): string => JSON.stringify(backend.records.map(({ offers }) => offers));
  const wants = (): void => bus.publish(subjects.backendControl(server), { kind: 'wanted', caller: context });
  wants();
  await expect.poll(offered).toContain('only_former');
  expect(JSON.stringify(await call())).toContain('former session-1');

  const ann = { name: `${issuer}|ann` };
  await blocks.addGone({ ...ann, by: 'scim', at: Date.now() });
  await expect.poll(offered).not.toContain('only_former');
  person = 'next';
  await blocks.removeGone(ann, (await blocks.goneRevision(ann)) ?? 0);
  await expect.poll(() => blocks.size).toBe(0);
  expect(JSON.stringify(await call())).toContain('next session-2');
  wants();
  await expect.poll(offered).toContain('only_next');
  expect(offered()).not.toContain('only_former');
  await backend.stop();
  blocks.close();
});

it('another person with the name of a removed user is not offered the lists that the sign-in of that one gave', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const blocks = await Blocks.open(bus);
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-backend-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const keys = new Envelopes(new KeyRing(parseVaultKeys([`a:${Buffer.alloc(32, 7).toString('base64')}`])));
  const vaultAt = (name: string): Vault => new Vault(new FileStore(join(folder, name)), keys, () => undefined);
  const [connections, passing] = [vaultAt('connections'), vaultAt('passing')];
  const address = await personalServer();
  const [server, principal, issuer] = [parseServerName('personal'), 'p_ann' as Principal, 'https://login.example'];
  await connections.put({ purpose: 'connection', server, principal }, issuer, {
    url: address,
    issuer,
    owner: `ann (${issuer})`,
    since: 1,
    server: { issuer },
    client: { clientId: 'gateway' },
    tokens: { accessToken: 'former' },
  });
  const config = configOf({
    auth: { keys: { file: 'keys.yaml' } },
    mcpServers: { personal: { url: address, restart, credentials: { kind: 'oauth' } } },
  });
  const openVaults = () => Promise.resolve({ connections, passing });
  const { backend } = await backendOf(config, { isForOne: false, areKnown: true, blocks, openVaults }, bus);
  const caller: OfferCaller = {
    principal,
    who: { issuer, subject: 'ann', tenant: undefined, groups: [] },
    session: newRequestKey(),
    capabilities: {},
    standsAlone: false,
  };
  const offered = (): string => JSON.stringify(backend.records.map(({ owners, offers }) => [owners, offers]));
  const wants = (): void => bus.publish(subjects.backendControl(server), { kind: 'wanted', caller });
  wants();
  await expect.poll(offered).toContain('only_former');
  await blocks.addGone({ name: `${issuer}|ann`, by: 'scim', at: Date.now() });
  expect(await askBackends(bus, { kind: 'forget-directed', subject: 'ann', issuer, principal })).toMatchObject({
    count: 1,
  });
  wants();
  await expect.poll(offered).toContain('"name":"connect"');
  expect(offered()).not.toContain('only_former');
  await backend.stop();
  blocks.close();
});
