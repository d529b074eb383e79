/** Connections to a server that demands a certificate, and believes one authority. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authority } from '@omnibus/bus/testing';
import { request } from 'undici';
import { WebSocketServer } from 'ws';
import { NoCredentials } from '@omnibus/credentials';
import { Agents } from './agents.ts';
import { ServerTls } from './server-tls.ts';
import { WebSocketTransport } from './websocket.ts';

type Certificate = Awaited<ReturnType<Authority['sign']>>;

const stack = new AsyncDisposableStack();
let authority: Authority;
let [demanding, other] = [] as unknown as [Server, Server];
let [ann, ben] = [] as unknown as [Certificate, Certificate];
let folder: string;
const at = (server: Server): string => `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
const nameOf = (socket: TLSSocket): string => String(socket.getPeerCertificate().subject?.CN ?? 'nobody');

beforeAll(async () => {
  authority = stack.use(await Authority.create());
  const own = await authority.sign('server', [{ type: 'ip', value: '127.0.0.1' }]);
  [ann, ben] = [
    await authority.sign('ann', [{ type: 'dns', value: 'ann' }]),
    await authority.sign('ben', [{ type: 'dns', value: 'ben' }]),
  ];
  folder = await mkdtemp(join(tmpdir(), 'omnibus-server-tls-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const start = async (rejectUnauthorized: boolean): Promise<Server> => {
    const files = {
      cert: readFileSync(own.certFile),
      key: readFileSync(own.keyFile),
      ca: readFileSync(authority.caFile),
    };
    const server = createServer({ ...files, requestCert: true, rejectUnauthorized }, (incoming, response) =>
      response.end(nameOf(incoming.socket as TLSSocket)),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    stack.defer(async () => {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    });
    return server;
  };
  [demanding, other] = [await start(true), await start(false)];
});
afterAll(() => stack.disposeAsync());

async function asked(agents: Agents, tls: ServerTls | undefined, url = at(demanding)): Promise<string> {
  return (await request(url, { dispatcher: agents.of(undefined, tls), headers: { connection: 'close' } })).body.text();
}

it('the server is shown the certificate and believed by its authority, as the files say when a connection is opened', async () => {
  const agents = stack.adopt(new Agents(), (made) => made.destroy());
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const show = async (certificate: Certificate): Promise<void> => {
    await copyFile(certificate.certFile, certFile);
    await copyFile(certificate.keyFile, keyFile);
  };
  await show(ann);
  const tls = new ServerTls('a', at(demanding), { caFile: authority.caFile, certFile: 'cert.pem', keyFile }, folder);
  expect(await asked(agents, tls)).toBe('ann');
  await show(ben);
  expect(await asked(agents, tls)).toBe('ben');
  // Without the authority, or without the certificate, there is no connection.
  await expect(asked(agents, new ServerTls('a', at(demanding), { certFile, keyFile }, folder))).rejects.toThrow(
    /self-signed certificate|unable to (get|verify)/,
  );
  await expect(asked(agents, new ServerTls('a', at(demanding), { caFile: authority.caFile }, folder))).rejects.toThrow(
    /certificate required|ECONNRESET|EPIPE|other side closed/i,
  );
  await expect(
    asked(agents, new ServerTls('a', at(demanding), { certFile: 'missing.pem', keyFile }, folder)),
  ).rejects.toThrow('`tls.certFile`, missing.pem, cannot be read: ENOENT');
});

it('texts take the place of files, a changed certificate is shown over connections of its own, and no other host is shown it', async () => {
  const agents = stack.adopt(new Agents(), (made) => made.destroy());
  const ca = readFileSync(authority.caFile, 'utf8');
  const textsOf = ({ certFile, keyFile }: Certificate, server = 'a'): ServerTls =>
    new ServerTls(
      server,
      at(demanding),
      { ca, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') },
      '/',
    );
  const keptAlive = async (tls: ServerTls): Promise<string> =>
    (await request(at(demanding), { dispatcher: agents.of(undefined, tls) })).body.text();
  expect([await keptAlive(textsOf(ann)), await keptAlive(textsOf(ann)), await keptAlive(textsOf(ben))]).toEqual([
    'ann',
    'ann',
    'ben',
  ]);
  // Two servers at one host have pools of their own.
  expect([
    await keptAlive(textsOf(ann, 'b')),
    await keptAlive(textsOf(ben)),
    await keptAlive(textsOf(ann, 'b')),
    await keptAlive(textsOf(ben)),
  ]).toEqual(['ann', 'ben', 'ann', 'ben']);
  expect(agents.of(undefined, textsOf(ben))).toBe(agents.of(undefined, textsOf(ben)));
  // An issuer at another port is not shown the certificate of the server; nor is the authority of the server believed there.
  await expect(asked(agents, textsOf(ann), at(other))).rejects.toThrow(
    /self-signed certificate|unable to (get|verify)/,
  );
});

it('a WebSocket is opened with the certificate too', async () => {
  const sockets = new WebSocketServer({ server: demanding });
  const names: string[] = [];
  sockets.on('connection', (_socket, { socket }) => names.push(nameOf(socket as TLSSocket)));
  const tls = new ServerTls('a', at(demanding), { caFile: authority.caFile, ...ann }, folder);
  const transport = new WebSocketTransport(
    {
      url: at(demanding).replace('https', 'wss'),
      headers: {},
      credentials: new NoCredentials(),
      limits: { maxUpstreamMessageBytes: 1_000 } as never,
      openTimeoutMs: 5_000,
      addresses: undefined,
      proxy: undefined,
      tls,
    },
    { lost: () => undefined } as never,
  );
  await transport.open();
  await transport.close();
  sockets.close();
  expect(names).toEqual(['ann']);
});
