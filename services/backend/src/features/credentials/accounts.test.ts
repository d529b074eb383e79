/** What users have connected to a server over a WebSocket, which shows credentials only when it is opened. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askBackends, MemoryBus, subjects } from '@omnibus/bus';
import { configOf } from '@omnibus/config/testing';
import { Envelopes, FileStore, KeyRing, parseVaultKeys, Vault } from '@omnibus/credentials';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  latestLegacyRevision,
  newRequestKey,
  parseServerName,
  type ExchangeContext,
  type ExchangeEvent,
  type ExchangeId,
  type Principal,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocketServer, type RawData } from 'ws';
import { createBackend } from '../../create.ts';

/** A server that takes WebSockets with a token, and says the token in each answer. @returns its address. */
async function socketServer(): Promise<string> {
  const server = new WebSocketServer({
    port: 0,
    host: '127.0.0.1',
    verifyClient: ({ req }, taken) => taken(req.headers.authorization !== undefined, 401),
  });
  server.on('connection', (socket, { headers: { authorization = '' } }) => {
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: latestLegacyRevision,
        capabilities: { tools: {} },
        serverInfo: { name: 'personal', version: '1' },
      },
      'tools/list': { tools: [] },
      'tools/call': { content: [{ type: 'text', text: authorization }] },
    };
    socket.on('message', (data: RawData) => {
      const { id, method } = JSON.parse((data as Buffer).toString()) as {
        readonly id?: number;
        readonly method: string;
      };
      const result = results[method];
      const answer = result === undefined ? { error: { code: -32_601, message: 'no such method' } } : { result };
      if (id !== undefined) socket.send(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });
  });
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

it('a call after its user has ended the sign-in does not go over the WebSocket that was opened with it', async () => {
  const url = await socketServer();
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-accounts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const keys = new Envelopes(new KeyRing(parseVaultKeys([`a:${Buffer.alloc(32, 7).toString('base64')}`])));
  const vaultAt = (name: string): Vault => new Vault(new FileStore(join(folder, name)), keys, () => undefined);
  const [connections, passing] = [vaultAt('connections'), vaultAt('passing')];
  const [server, principal, issuer] = [parseServerName('personal'), 'p_ann' as Principal, 'https://issuer.example'];
  await connections.put({ purpose: 'connection', server, principal }, issuer, {
    url: url.replace(/^ws/, 'http'),
    issuer,
    since: 1,
    server: { issuer },
    client: { clientId: 'gateway' },
    tokens: { accessToken: 'token-of-ann' },
  });
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const backend = createBackend({
    config: configOf({
      auth: { keys: { file: 'keys.yaml' } },
      mcpServers: { personal: { url, restart: { minDelay: '10s' }, credentials: { kind: 'oauth' } } },
    }),
    baseFolder: folder,
    bus,
    wheel: new DeadlineWheel({ tickMs: 5, onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    tracing: undefined,
    users: {
      base: () => 'http://127.0.0.1:7300',
      clientDocument: () => undefined,
      isForOne: false,
      areKnown: true,
      openVaults: () => Promise.resolve({ connections, passing }),
    },
  });
  await backend.start();
  const context: ExchangeContext = {
    principal,
    session: newRequestKey(),
    capabilities: {},
    standsAlone: false,
    logLevel: undefined,
    wantsProgress: false,
    maxTimeMs: 60_000,
  };
  const call = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const exchange = newRequestKey() as string as ExchangeId;
      const pending = bus.request(
        subjects.backend(server),
        { kind: 'call', exchange, method: 'tools/call', params: { name: 'whose', arguments: {} }, context },
        {
          reply(event: ExchangeEvent) {
            if (!['result', 'error', 'fault'].includes(event.kind)) return;
            pending.close();
            resolve(JSON.stringify(event));
          },
          failed: reject,
        },
      );
    });
  expect(await call()).toContain('Bearer token-of-ann');
  expect(await askBackends(bus, { kind: 'revoke', server, principal })).toMatchObject({ kind: 'revoked' });
  expect(await call()).not.toContain('token-of-ann');
  await backend.stop();
});
