/** The pages of sign-ins for servers, over HTTP: their methods and forms. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MemoryBus, subjects } from '@omnibus/bus';
import { anonymous, fault, type ConnectCommand, type ServerName } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ConnectSite, type ConnectSiteOptions } from './site.ts';

const ticket = 'abcdefghijklmnopqrstuv';
let server: Server;
let base: string;
let heard: ConnectCommand['kind'][];
let caller: Awaited<ReturnType<ConnectSiteOptions['callerOf']>>;

beforeEach(async () => {
  heard = [];
  caller = anonymous;
  const bus = new MemoryBus(() => undefined);
  await bus.subscribe(subjects.connect, (command, reply) => {
    heard.push(command.kind);
    if (command.kind === 'look')
      reply({ kind: 'ticket', server: 'github' as ServerName, host: 'github.example', principal: anonymous });
    else if (command.kind === 'begin') reply({ kind: 'leave', address: 'https://issuer.example/authorize?state=s' });
    else if (command.kind === 'list') reply({ kind: 'connections', connections: [], total: 0 });
    else reply({ kind: 'gone' });
  });
  const site = new ConnectSite({
    bus,
    log: createLogger({ level: 'silent', format: 'json' }),
    base: () => base,
    proofOf: () => Promise.resolve('proven'),
    callerOf: () => Promise.resolve(caller),
    clientDocument: () => ({ client_id: base }),
  });
  server = createServer((request, response) => site.handle(request, response, '127.0.0.1'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close().closeAllConnections();
});

const ask = (path: string, method: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${base}/connect/${path}`, { method, headers, redirect: 'manual' });

it.each([
  ['client.json', 'GET, HEAD'],
  ['back', 'GET, HEAD'],
  ['callback', 'GET'],
  [ticket, 'GET, HEAD, POST'],
  ['connections', 'GET, HEAD'],
  ['connections/github', 'DELETE'],
])('/connect/%s takes %s, says so to other methods, and does nothing for them', async (path, allowed) => {
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
    heard = [];
    const { status, headers } = await ask(path, method);
    if (allowed.split(', ').includes(method)) expect([method, status]).not.toEqual([method, 405]);
    else expect([method, status, headers.get('allow'), heard]).toEqual([method, 405, allowed, []]);
  }
});

it.each([{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])(
  'a form of another page (%j) begins no sign-in',
  async (headers) => {
    expect((await ask(ticket, 'POST', headers)).status).toBe(403);
    expect(heard).not.toContain('begin');
    expect((await ask(ticket, 'POST', { origin: base })).status).toBe(303);
  },
);

it.each([
  [undefined, 401],
  [fault('auth.invalid'), 401],
  [fault('auth.blocked'), 403],
])('a caller that the gateway refuses (%j) neither sees nor revokes connections', async (refused, status) => {
  caller = refused;
  const said = [await ask('connections', 'GET'), await ask('connections/github', 'DELETE')];
  expect(said.map((each) => each.status)).toEqual([status, status]);
  expect(heard).toEqual([]);
});
