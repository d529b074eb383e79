/** A question to the provider whether a sign-in still holds, which is answered after its user has signed in again. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { authorizationBuckets, MemoryBus } from '@omnibus/bus';
import { People, type Person } from './people.ts';
import { Revocations } from './revocations.ts';
import { SealedStore } from './sealed-store.ts';
import { Secrets } from './secrets.ts';
import { Upstream } from './upstream.ts';

it('what the provider says of an older sign-in changes nothing of a newer one', async () => {
  let asked = (): void => undefined;
  let answer: Promise<void> = Promise.resolve();
  const provider = createServer((request, response) => {
    const { port } = provider.address() as AddressInfo;
    const issuer = `http://127.0.0.1:${port}`;
    const json = (value: object): void =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (request.url !== '/token')
      return json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
      });
    asked();
    void answer.then(() =>
      json({ access_token: 'at', token_type: 'bearer', expires_in: 60, refresh_token: 'second of the older' }),
    );
  });
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const secrets = new Secrets(undefined);
  const revocations = await Revocations.open(await bus.keyValue<string>(authorizationBuckets.revoked), 60_000);
  const people = new People(
    new SealedStore(authorizationBuckets.long.name, await bus.keyValue<string>(authorizationBuckets.long), secrets),
    revocations,
  );
  onTestFinished(async () => {
    provider.closeAllConnections();
    provider.close();
    revocations.close();
    await bus.drain();
  });
  const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const upstream = new Upstream(
    {
      issuer,
      clientId: 'omnibus',
      clientSecret: 'secret',
      scopes: ['openid'],
      subject: 'sub',
      groups: 'groups',
      require: {},
      parameters: {},
    },
    'http://127.0.0.1:1',
    secrets,
    people,
  );
  const signedIn = (refreshToken: string, groups: readonly string[]): Person => ({
    subject: `${issuer}|una`,
    name: 'una',
    groups,
    tenant: undefined,
    upstream: { refreshToken, endsAt: undefined, checkedAt: 0, askingUntil: 0, sid: undefined },
  });

  const [older, newer] = [signedIn('first of the older', ['old']), signedIn('of the newer', ['new'])];
  await people.signedIn(older);
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  let release = (): void => undefined;
  answer = new Promise((resolve) => {
    release = resolve;
  });
  const lasts = upstream.lasts(older);
  await isAsked;
  await people.signedIn(newer);
  release();
  expect(await lasts).toBe(true);
  expect(await people.find(newer.subject)).toEqual(newer);
  // Without a new sign-in, the answer counts.
  await people.signedIn(older);
  await upstream.lasts(older);
  expect((await people.find(older.subject))?.upstream).toMatchObject({
    refreshToken: 'second of the older',
    askingUntil: 0,
  });
});
