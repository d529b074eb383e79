/** The subject of a certificate, on real connections. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ClientCertificates, type ClientCertificatesOptions } from './client-certificates.ts';
import type { Verdict } from './facts.ts';
import { forLoopback, TestAuthority, type IssueOptions } from './testing/certificates.ts';

let authority: TestAuthority;

beforeAll(async () => {
  authority = await TestAuthority.create();
});

afterAll(() => authority[Symbol.asyncDispose]());

/** The result for a client with such a certificate. */
async function verdictOf(options: ClientCertificatesOptions, issued: IssueOptions): Promise<Verdict | undefined> {
  const [{ cert, key }, client, ca] = await Promise.all([
    authority.issue(forLoopback),
    authority.issue(issued),
    authority.ca(),
  ]);
  const server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: false }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    ca,
    cert: client.cert,
    key: client.key,
  });
  const [peer] = (await once(server, 'secureConnection')) as [TLSSocket];
  const verdict = new ClientCertificates(options).verify(peer);
  socket.destroy();
  peer.destroy();
  server.close();
  return verdict;
}

it('the common name of a subject is its caller, and its organizations or their units are its groups, where that is asked for', async () => {
  const subject = '/O=team/O=company/OU=night/CN=ann';
  expect(await verdictOf({ subject: 'commonName', groups: 'organization' }, { subject })).toMatchObject({
    issuer: 'omnibus:certificates',
    subject: 'ann',
    groups: ['team', 'company'],
  });
  expect(await verdictOf({ subject: 'commonName', groups: 'organizationalUnit' }, { subject })).toMatchObject({
    groups: ['night'],
  });
  expect(await verdictOf({ subject: 'commonName' }, { subject })).toMatchObject({ groups: [] });
});

it('a proof lasts as long as its certificate', async () => {
  const until = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 60_000);
  expect(
    await verdictOf({ subject: 'uri' }, { otherNames: ['URI:spiffe://example.org/ns/a/sa/b'], until }),
  ).toMatchObject({ subject: 'spiffe://example.org/ns/a/sa/b', expiresAt: until.getTime() });
});

it("two common names are nobody's, and a name with signs in it is taken as it is", async () => {
  expect(await verdictOf({ subject: 'commonName' }, { subject: '/CN=ann/CN=bob' })).toMatchObject({
    fault: { message: expect.stringContaining('more than one common name') as string },
  });
  expect(
    await verdictOf({ subject: 'uri' }, { otherNames: ['URI:https://example.org/a, URI:spiffe://example.org/admin'] }),
  ).toMatchObject({ subject: 'https://example.org/a, URI:spiffe://example.org/admin' });
});

it('a trust domain is a whole name, also where its slash is left out', async () => {
  const options = { subject: 'uri', uriPrefix: 'spiffe://example.org' } as const;
  expect(await verdictOf(options, { otherNames: ['URI:spiffe://example.org.evil.example/ns/a'] })).toMatchObject({
    fault: { message: expect.stringContaining('does not begin with spiffe://example.org/') as string },
  });
  expect(await verdictOf(options, { otherNames: ['URI:spiffe://example.org/ns/a'] })).toMatchObject({
    subject: 'spiffe://example.org/ns/a',
  });
});
