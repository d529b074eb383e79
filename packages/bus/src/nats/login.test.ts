/** Every way to log in at NATS, and to check the identity of NATS. */
import { encodeAccount, encodeOperator, encodeUser, fmtCreds } from '@nats-io/jwt';
import { createAccount, createOperator, createUser } from '@nats-io/nkeys';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Authority, type Certificate } from '../testing/authority.ts';
import { startNatsProgram, type NatsServer } from '../testing/nats-server.ts';
import { openNatsBus } from './bus.ts';
import type { NatsLogin } from './login.ts';

let folder: string;
let authority: Authority;
let certificate: Certificate;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-login-'));
  authority = await Authority.create();
  certificate = await authority.sign('nats', [{ type: 'ip', value: '127.0.0.1' }]);
});
afterAll(async () => {
  await authority[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function written(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

/** Stores something and reads it again, or returns the message for the operator. */
async function uses(servers: string, login: NatsLogin = {}, connectTimeoutMs = 0): Promise<string> {
  const bus = await openNatsBus({ servers, login, clientName: 'login', connectTimeoutMs }, () => undefined);
  try {
    const bucket = await bus.keyValue<string>({ name: 'login', isSmall: true });
    await bucket.put('key', 'stored');
    return (await bucket.get('key'))?.value as string;
  } finally {
    await bus.drain();
  }
}

const at = (server: NatsServer, user = '', scheme = 'nats'): string => `${scheme}://${user}${new URL(server.url).host}`;

describe('a NATS that wants to know who we are', () => {
  it('is told a user and a password, beside the address or in it', async () => {
    await using server = await startNatsProgram('authorization { user: team, password: "pass:wo/rd" }');
    await expect(uses(at(server), { user: 'team', password: 'pass:wo/rd' })).resolves.toBe('stored');
    await expect(uses(at(server, 'team:pass%3Awo%2Frd@'))).resolves.toBe('stored');
    await expect(uses(at(server))).rejects.toThrow('does not let this process in');
  });

  it('is told a token, beside the address or in it', async () => {
    await using server = await startNatsProgram('authorization { token: let-me-in }');
    await expect(uses(at(server), { token: 'let-me-in' })).resolves.toBe('stored');
    await expect(uses(at(server, 'let-me-in@'))).resolves.toBe('stored');
  });

  it('is shown an NKey, of which a file holds the seed', async () => {
    const user = createUser();
    await using server = await startNatsProgram(`authorization { users = [{ nkey: ${user.getPublicKey()} }] }`);
    const nkeyFile = await written('user.nk', `# the seed of a user\n${new TextDecoder().decode(user.getSeed())}\n`);
    await expect(uses(at(server), { nkeyFile })).resolves.toBe('stored');
    await expect(uses(at(server), { nkeyFile: await written('none.nk', 'nothing here') })).rejects.toThrow(
      "holds no seed of a user's NKey",
    );
  });

  it('is shown the JWT of a credentials file', async () => {
    const [operator, system, account, user] = [createOperator(), createAccount(), createAccount(), createUser()];
    const unlimited = {
      imports: -1,
      exports: -1,
      wildcards: true,
      conn: -1,
      leaf: -1,
      subs: -1,
      data: -1,
      payload: -1,
    };
    const stored = { ...unlimited, mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const operatorJwt = await encodeOperator('operator', operator, { system_account: system.getPublicKey() });
    const accountJwts = await Promise.all([
      encodeAccount('system', system, { limits: unlimited }, { signer: operator }),
      encodeAccount('team', account, { limits: stored }, { signer: operator }),
    ]);
    const userJwt = await encodeUser('omnibus', user, account, {});
    await using server = await startNatsProgram(
      `operator: ${operatorJwt}\nresolver: MEMORY\nresolver_preload: { ${system.getPublicKey()}: ${accountJwts[0]}, ${account.getPublicKey()}: ${accountJwts[1]} }`,
    );
    const credentialsFile = await written('omnibus.creds', new TextDecoder().decode(fmtCreds(userJwt, user)));
    await expect(uses(at(server), { credentialsFile })).resolves.toBe('stored');
    await expect(uses(at(server), { credentialsFile: join(folder, 'missing.creds') })).rejects.toThrow(
      /missing\.creds/,
    );
  });

  it('is shown another NKey once the file was replaced, without a restart', async () => {
    const [before, after] = [createUser(), createUser()];
    const settings = (key: string): string => `authorization { users = [{ nkey: ${key} }] }`;
    await using server = await startNatsProgram(settings(before.getPublicKey()));
    const nkeyFile = await written('rotated.nk', new TextDecoder().decode(before.getSeed()));
    const bus = await openNatsBus(
      { servers: at(server), login: { nkeyFile }, clientName: 'rotated', connectTimeoutMs: 5_000 },
      () => undefined,
    );
    await server.kill();
    await server.start(settings(after.getPublicKey()));
    // Refused as long as the process uses the old key, but it keeps trying.
    await writeFile(nkeyFile, after.getSeed());
    await expect.poll(() => bus.connected && bus.reconnects > 0).toBe(true);
    await expect(bus.roundTrip()).resolves.toBeGreaterThan(0);
    await bus.drain();
  });

  it('is not blamed for a file of ours that holds something else', async () => {
    await using server = await startNatsProgram('authorization { token: let-me-in }');
    const seed = await written('seed.nk', new TextDecoder().decode(createUser().getSeed()));
    const missing = join(folder, 'missing.pem');
    const nothing = await written('nothing.pem', 'SUnothing');
    const { certFile, keyFile } = certificate;
    const told = async (login: NatsLogin): Promise<string> =>
      String(
        await uses(at(server), login).then(
          () => 'let in',
          (error: unknown) => error,
        ),
      );
    expect(await told({ credentialsFile: seed })).toContain(`${seed} holds no JWT of a user with its seed`);
    expect(await told({ tls: { caFile: missing } })).toContain(`${missing} cannot be read (ENOENT)`);
    expect(await told({ tls: { caFile: folder } })).toContain(`${folder} cannot be read (EISDIR)`);
    expect(await told({ tls: { caFile: nothing } })).toContain(`${nothing} holds no certificate`);
    expect(await told({ tls: { certFile: keyFile, keyFile } })).toContain(`${keyFile} holds no certificate`);
    expect(await told({ tls: { certFile, keyFile: certFile } })).toContain(`${certFile} holds no private key`);
    for (const login of [{ credentialsFile: seed }, { nkeyFile: nothing }, { tls: { caFile: missing } }]) {
      const text = await told(login);
      expect(text).toContain(`the login at NATS (nats://${new URL(server.url).host}) cannot be made`);
      expect(text).not.toMatch(/no NATS server answers|SU[A-Z2-7]{20}|SUnothing/);
    }
  });

  it('is never told apart by a secret in an error', async () => {
    await using server = await startNatsProgram('authorization { user: team, password: right }');
    const told = async (servers: string, login?: NatsLogin): Promise<string> =>
      String(
        await uses(servers, login).then(
          () => 'let in',
          (error: unknown) => error,
        ),
      );
    for (const text of [
      await told(at(server, 'team:hunter2@')),
      await told(at(server), { user: 'team', password: 'hunter2' }),
      await told(at(server), { token: 'hunter2' }),
    ]) {
      expect(text).toContain(new URL(server.url).host);
      expect(text).not.toContain('hunter2');
    }
  });
});

describe('a NATS that shows who it is', () => {
  const tls = ({ certFile, keyFile }: Certificate, more = ''): string =>
    `tls { cert_file: "${certFile}", key_file: "${keyFile}" ${more} }`;

  it('is believed when an authority that we name has signed its certificate', async () => {
    await using server = await startNatsProgram(tls(certificate));
    await expect(uses(at(server, '', 'tls'), { tls: { caFile: authority.caFile } })).resolves.toBe('stored');
    await expect(uses(at(server, '', 'tls'))).rejects.toThrow(/certificate of NATS .* is not trusted/);
    await expect(uses(at(server))).rejects.toThrow(
      /certificate of NATS .* is not trusted .*; nats\.tls\.caFile names its authority/,
    );
    await expect(uses(at(server))).rejects.not.toThrow('--use-system-ca');
  });

  it('is not believed once its certificate has expired', async () => {
    const old = await authority.sign('old', [{ type: 'ip', value: '127.0.0.1' }], -1);
    await using server = await startNatsProgram(tls(old));
    await expect(uses(at(server, '', 'tls'), { tls: { caFile: authority.caFile } })).rejects.toThrow(
      /certificate of NATS .* is not trusted .*expired/,
    );
  });

  it('is not believed under another name', async () => {
    const other = await authority.sign('other', [{ type: 'dns', value: 'nats.example.com' }]);
    await using server = await startNatsProgram(tls(other));
    await expect(uses(at(server, '', 'tls'), { tls: { caFile: authority.caFile } })).rejects.toThrow(
      /certificate of NATS .* is not trusted/,
    );
  });

  it('is shown our own certificate', async () => {
    await using server = await startNatsProgram(tls(certificate, `, ca_file: "${authority.caFile}", verify: true`));
    const own = await authority.sign('gateway', [{ type: 'dns', value: 'gateway' }]);
    await expect(uses(at(server, '', 'tls'), { tls: { caFile: authority.caFile, ...own } })).resolves.toBe('stored');
    await expect(uses(at(server, '', 'tls'), { tls: { caFile: authority.caFile } })).rejects.toThrow(
      'does it want a certificate of this process',
    );
  });

  it('is never spoken to in the clear where tls:// was said', async () => {
    await using server = await startNatsProgram();
    await expect(uses(at(server, '', 'tls'))).rejects.toThrow('offers no TLS');
    await expect(uses(`tls://127.0.0.1:1,${at(server)}`)).rejects.toThrow(/offers no TLS|refused/);
  });

  it('may begin with TLS before it says anything', async () => {
    await using server = await startNatsProgram();
    const { certFile, keyFile } = certificate;
    const front = createServer({ cert: await readFile(certFile), key: await readFile(keyFile) }, (socket) => {
      const behind = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.pipe(behind);
      // With TLS from the start, the server's first bytes say that TLS is required.
      behind.once('data', (first: Buffer) => {
        socket.write(first.toString().replace('INFO {', 'INFO {"tls_required":true,'));
        behind.pipe(socket);
      });
      for (const end of [socket, behind]) end.on('error', () => [socket, behind].map((each) => each.destroy()));
    });
    front.listen(0, '127.0.0.1');
    await once(front, 'listening');
    const address = `tls://127.0.0.1:${(front.address() as AddressInfo).port}`;
    await expect(uses(address, { tls: { caFile: authority.caFile, handshakeFirst: true } })).resolves.toBe('stored');
    front.close();
  });
});

describe('what the operator says of NATS', () => {
  it.each([
    ['http://127.0.0.1:4222', {}, 'an address of NATS is'],
    ['nats://', {}, 'an address of NATS is'],
    [' , ', {}, 'NATS needs an address'],
    ['nats://a:1@127.0.0.1,nats://b:2@127.0.0.1', {}, 'name different users'],
    ['nats://a:1@127.0.0.1', { user: 'b', password: '2' }, 'two ways to log in'],
    ['nats://team:50%off@127.0.0.1', {}, 'a % in it is written %25'],
    ['nats://127.0.0.1', { token: 't', nkeyFile: 'user.nk' }, 'two ways to log in'],
    ['nats://127.0.0.1', { password: '2' }, 'a password and no user'],
    ['nats://127.0.0.1', { tls: { certFile: 'cert.pem' } }, 'both the certificate and its key'],
  ] as const)('%s with %j is refused at once', async (servers, login, problem) => {
    await expect(uses(servers, login, Infinity)).rejects.toThrow(problem);
  });

  it('may name several addresses, of which one is there', async () => {
    await using server = await startNatsProgram();
    await expect(uses(`nats://127.0.0.1:1, ${at(server)}`)).resolves.toBe('stored');
  });
});
