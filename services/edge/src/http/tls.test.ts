/** Clients over TLS, with real certificates: the edge's certificate, changes of its files, and the identities of clients by theirs. */
import { once } from 'node:events';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { Agent, request, type RequestOptions } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Authenticator, type AuthenticatorOptions } from '@omnibus/identity';
import { forLoopback, TestAuthority, type Issued } from '@omnibus/identity/testing';
import { EdgeUnderTest } from '../edge-under-test.ts';
import { tlsProblem } from '@omnibus/identity';

let authority: TestAuthority;
let clients: TestAuthority;
let server: Issued;
let ca: string;

beforeAll(async () => {
  [authority, clients] = await Promise.all([TestAuthority.create('servers'), TestAuthority.create('clients')]);
  [server, ca] = await Promise.all([authority.issue(forLoopback), authority.ca()]);
});

afterAll(async () => {
  await authority[Symbol.asyncDispose]();
  await clients[Symbol.asyncDispose]();
});

interface Answer {
  readonly status: number;
  readonly body: string;
}

const toolsList = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/list',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});

/** Asks on a connection of its own. */
function ask(test: EdgeUnderTest, options: RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${test.origin}/mcp`,
      {
        method: 'POST',
        ca,
        agent: false,
        ...options,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/list',
          ...(options.headers as Record<string, string>),
        },
      },
      (response) => {
        let body = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => {
            body += chunk;
          })
          .on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      },
    );
    asked.on('error', reject);
    asked.end(toolsList);
  });
}

/** The serial number of the certificate that the edge shows. */
async function shown(test: EdgeUnderTest): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(test.url).port), ca });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

describe('TLS', () => {
  it('serves clients, on a WebSocket too, and closes connections without TLS, which end nothing else', async () => {
    await using test = await EdgeUnderTest.start('', {
      tls: { certFile: server.certFile, keyFile: server.keyFile, clients: undefined },
    });
    await test.serveStateless();
    expect(test.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const { port } = new URL(test.url);
    const plain = connectPlain(Number(port), '127.0.0.1').on('error', () => undefined);
    plain.write('POST /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await once(plain, 'close');
    connectPlain(Number(port), '127.0.0.1').resetAndDestroy();
    expect((await ask(test)).status).toBe(200);
    const socket = new WebSocket(`wss://127.0.0.1:${port}/ws`, 'mcp', { ca });
    await once(socket, 'open');
    socket.send(toolsList);
    const [answer] = (await once(socket, 'message')) as [Buffer];
    expect(JSON.parse(answer.toString())).toMatchObject({ id: 1, result: {} });
    socket.close();
    await expect.poll(() => test.metrics.text()).toContain('omnibus_tls_handshakes_failed_total 2');
  });

  it('ends when the edge does, with connections that are in the middle of their handshake', async () => {
    const test = await EdgeUnderTest.start('', {
      tls: { certFile: server.certFile, keyFile: server.keyFile, clients: undefined },
    });
    const socket = connectPlain(Number(new URL(test.url).port), '127.0.0.1');
    await once(socket, 'connect');
    await expect.poll(() => test.metrics.text()).toContain('omnibus_client_connections 1');
    await test[Symbol.asyncDispose]();
    socket.destroy();
  });

  it('uses the new certificate when its files change, and the old one when they become invalid, which it logs and counts', async () => {
    const [certFile, keyFile] = [join(authority.folder, 'edge.pem'), join(authority.folder, 'edge.key')];
    const write = async (issued: Issued): Promise<void> => {
      await copyFile(issued.certFile, certFile);
      await copyFile(issued.keyFile, keyFile);
    };
    await write(server);
    await using test = await EdgeUnderTest.start('', { tls: { certFile, keyFile, clients: undefined } });
    const first = await shown(test);
    await write(await authority.issue(forLoopback));
    await expect.poll(() => shown(test)).not.toBe(first);
    const second = await shown(test);
    await writeFile(keyFile, server.key);
    await expect.poll(() => test.metrics.text()).toContain('omnibus_tls_reloads_refused_total 1');
    expect(await shown(test)).toBe(second);
    await test.serveStateless();
    expect((await ask(test)).status).toBe(200);
  });

  it('is refused with files that do not fit, in words that name them', async () => {
    const other = await authority.issue(forLoopback);
    const text = join(authority.folder, 'text.pem');
    await writeFile(text, 'hello');
    const files = { certFile: server.certFile, keyFile: server.keyFile, clients: undefined };
    expect(tlsProblem(files)).toBeUndefined();
    expect(tlsProblem({ ...files, keyFile: other.keyFile })).toBe(
      `the key ${other.keyFile} is not that of the certificate ${server.certFile}`,
    );
    expect(tlsProblem({ ...files, certFile: text })).toContain(`${text} holds no certificate in PEM`);
    expect(tlsProblem({ ...files, keyFile: text })).toContain(`${text} holds no private key in PEM`);
    expect(tlsProblem({ ...files, keyFile: `${text}.not` })).toBe(
      `the key ${text}.not cannot be read: it is not there`,
    );
    expect(tlsProblem({ ...files, clients: { caFile: text, isRequired: false } })).toContain(
      `${text} holds no certificate in PEM`,
    );
    const half = join(authority.folder, 'half.pem');
    for (const rest of [
      '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
      '-----BEGIN CERTIFICATE-----\nMIIB',
    ]) {
      await writeFile(half, `${server.cert}${rest}`);
      expect(tlsProblem({ ...files, clients: { caFile: half, isRequired: false } })).toContain(
        `${half} holds: a certificate that cannot be read, number 2 of 2`,
      );
      expect(tlsProblem({ ...files, certFile: half })).toContain(
        `${half} holds: a certificate that cannot be read, number 2 of 2`,
      );
    }
    await expect(EdgeUnderTest.start('', { tls: { ...files, keyFile: other.keyFile } })).rejects.toThrow(
      'is not that of the certificate',
    );
  });
});

describe('a client certificate', () => {
  type Settings = NonNullable<AuthenticatorOptions['certificates']>;
  const start = (settings: Settings = { subject: 'uri' }, isRequired = false): Promise<EdgeUnderTest> =>
    EdgeUnderTest.start('', {
      tls: { certFile: server.certFile, keyFile: server.keyFile, clients: { caFile: clients.caFile, isRequired } },
      authenticate: () => Authenticator.open({ issuers: [], certificates: settings, warn: () => undefined }),
    });
  const spiffe = (name: string): string => `URI:spiffe://example.org/${name}`;

  it('proves its workload by SPIFFE ID, on each connection and the same on all of them; without one nobody is there', async () => {
    await using test = await start();
    const callers = await test.serveStateless();
    const [ann, bob] = await Promise.all([
      clients.issue({ otherNames: [spiffe('ann')] }),
      clients.issue({ otherNames: [spiffe('bob'), 'DNS:bob.example.org'] }),
    ]);
    const again = await clients.issue({ otherNames: [spiffe('ann')] });
    for (const { cert, key } of [ann, bob, again]) expect((await ask(test, { cert, key })).status).toBe(200);
    const principals = callers.map(({ principal }) => principal);
    expect([principals[0] === principals[2], principals[0] === principals[1]]).toEqual([true, false]);
    const stranger = await ask(test);
    expect([stranger.status, JSON.parse(stranger.body)]).toEqual([
      401,
      expect.objectContaining({
        error: expect.objectContaining({
          data: expect.objectContaining({ reason: 'auth.required' }) as object,
        }) as object,
      }),
    ]);
  });

  it('proves no identity when it is of another authority, for servers, expired, or names no subject or two, and says which', async () => {
    await using test = await start({ subject: 'uri', uriPrefix: 'spiffe://example.org/' });
    await test.serveStateless();
    for (const [certificate, why] of [
      [await authority.issue({ otherNames: [spiffe('ann')] }), 'not signed by an authority'],
      [await clients.issue({ otherNames: [spiffe('ann')], usage: 'serverAuth' }), 'not meant for clients'],
      [await clients.issue({ otherNames: [spiffe('ann')], until: new Date(Date.now() - 60_000) }), 'it has expired'],
      [await clients.issue({ otherNames: [spiffe('ann'), spiffe('bob')] }), 'more than one URI'],
      [await clients.issue({ subject: '/CN=ann' }), 'no URI'],
      [
        await clients.issue({ otherNames: ['URI:spiffe://evil.example/ann'] }),
        'does not begin with spiffe://example.org/',
      ],
      [await clients.issue({ otherNames: ['DNS:URI:spiffe://example.org/ann'] }), 'no URI'],
    ] as const) {
      const { status, body } = await ask(test, { cert: certificate.cert, key: certificate.key });
      expect([status, body]).toEqual([401, expect.stringContaining(why)]);
    }
  });

  it('is asked for before anything is said where it is required', async () => {
    await using test = await start({ subject: 'uri' }, true);
    await test.serveStateless();
    const [good, bad] = [
      await clients.issue({ otherNames: [spiffe('ann')] }),
      await authority.issue({ otherNames: [spiffe('ann')] }),
    ];
    expect((await ask(test, { cert: good.cert, key: good.key })).status).toBe(200);
    await expect(ask(test)).rejects.toThrow();
    await expect(ask(test, { cert: bad.cert, key: bad.key })).rejects.toThrow();
  });

  it('opens nothing any more when its authority was replaced, on connections that it has opened before either', async () => {
    await using next = await TestAuthority.create('next');
    const caFile = join(clients.folder, 'accepted.pem');
    await copyFile(clients.caFile, caFile);
    await using test = await EdgeUnderTest.start('', {
      tls: { certFile: server.certFile, keyFile: server.keyFile, clients: { caFile, isRequired: false } },
      authenticate: () => Authenticator.open({ issuers: [], certificates: { subject: 'uri' }, warn: () => undefined }),
    });
    await test.serveStateless();
    const [old, fresh] = await Promise.all([
      clients.issue({ otherNames: [spiffe('ann')] }),
      next.issue({ otherNames: [spiffe('ann')] }),
    ]);
    const open = async ({
      cert,
      key,
    }: Issued): Promise<{ readonly closed: Promise<unknown>; readonly socket: WebSocket }> => {
      const socket = new WebSocket(`${test.origin.replace('https', 'wss')}/ws`, 'mcp', { ca, cert, key });
      await once(socket, 'open');
      return { socket, closed: once(socket, 'close') };
    };
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask(test, { cert: old.cert, key: old.key, agent })).status).toBe(200);
    const former = await open(old);
    // Both are trusted for a while: no client loses its connection.
    await writeFile(caFile, `${await clients.ca()}${await next.ca()}`);
    await expect.poll(async () => (await ask(test, { cert: fresh.cert, key: fresh.key })).status).toBe(200);
    const latter = await open(fresh);
    expect(former.socket.readyState).toBe(WebSocket.OPEN);
    await copyFile(next.caFile, caFile);
    await former.closed;
    expect((await ask(test, { cert: old.cert, key: old.key, agent })).body).toContain('not signed by an authority');
    expect(latter.socket.readyState).toBe(WebSocket.OPEN);
    latter.socket.close();
    agent.destroy();
  });

  it('opens nothing any more when its authority has revoked it, on connections that it has opened before either', async () => {
    await using test = await EdgeUnderTest.start('', {
      tls: {
        certFile: server.certFile,
        keyFile: server.keyFile,
        clients: { caFile: clients.caFile, crlFile: await clients.revoke(), isRequired: false },
      },
      authenticate: () => Authenticator.open({ issuers: [], certificates: { subject: 'uri' }, warn: () => undefined }),
    });
    await test.serveStateless();
    const issued = await Promise.all(['ann', 'bob'].map((name) => clients.issue({ otherNames: [spiffe(name)] })));
    const [ann, bob] = issued as [Issued, Issued];
    const sockets = issued.map(
      ({ cert, key }) => new WebSocket(`${test.origin.replace('https', 'wss')}/ws`, 'mcp', { ca, cert, key }),
    );
    await Promise.all(sockets.map((socket) => once(socket, 'open')));
    const closed = once(sockets[0] as WebSocket, 'close');
    await clients.revoke(ann);
    await closed;
    expect((await ask(test, { cert: ann.cert, key: ann.key })).body).toContain('its authority has revoked it');
    expect((await ask(test, { cert: bob.cert, key: bob.key })).status).toBe(200);
    expect(sockets[1]?.readyState).toBe(WebSocket.OPEN);
    sockets[1]?.close();
    await clients.revoke(undefined, 1);
    await expect
      .poll(async () => (await ask(test, { cert: bob.cert, key: bob.key })).body, { timeout: 30_000 })
      .toContain('the list of revoked certificates has expired');
  });

  it('is refused where its authority has no list of revoked certificates, if lists are checked', async () => {
    await using other = await TestAuthority.create('unlisted');
    const caFile = join(other.folder, 'both.pem');
    await writeFile(caFile, `${await clients.ca()}${await other.ca()}`);
    const { certFile, keyFile } = server;
    const tls = { certFile, keyFile, clients: { caFile, crlFile: await clients.revoke(), isRequired: false } };
    await using test = await EdgeUnderTest.start('', {
      tls,
      authenticate: () => Authenticator.open({ issuers: [], certificates: { subject: 'uri' }, warn: () => undefined }),
    });
    await test.serveStateless();
    const { cert, key } = await other.issue({ otherNames: [spiffe('ann')] });
    expect((await ask(test, { cert, key })).body).toContain('there is no list of revoked certificates');
    expect(tlsProblem({ ...tls, clients: { ...tls.clients, crlFile: caFile } })).toContain(
      `${caFile} holds no list of revoked certificates`,
    );
    // The lists of two authorities, of which the second is not written to its end yet.
    const lists = await readFile(await clients.revoke(), 'utf8');
    const crlFile = join(other.folder, 'lists.pem');
    await writeFile(crlFile, lists + lists.slice(0, lists.length / 2));
    expect(tlsProblem({ ...tls, clients: { ...tls.clients, crlFile } })).toContain('holds a list that cannot be read');
  });

  it('ends the streams that it opened when it expires, and proves no identity any more on connections that stay', async () => {
    await using test = await start();
    await test.serveStateless();
    const { cert, key } = await clients.issue({ otherNames: [spiffe('ann')], until: new Date(Date.now() + 3_000) });
    const socket = new WebSocket(`${test.origin.replace('https', 'wss')}/ws`, 'mcp', { ca, cert, key });
    const closed = once(socket, 'close');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await once(socket, 'open');
    expect((await ask(test, { cert, key, agent })).status).toBe(200);
    expect((await closed)[0]).toBe(1008);
    expect((await ask(test, { cert, key, agent })).body).toContain('it has expired');
    agent.destroy();
  });
});
