/** Tokens in the name of a known user: the requests to issuers, and the effects of their refusals. */
import { expect, it } from 'vitest';
import { byIdentityAssertion, byTokenExchange, type Grant } from './grants.ts';
import type { Fetch } from './outbound.ts';
import { sealToken, TokenReceiver, type GivenToken } from './sealed-token.ts';
import { WorkloadTokens } from './workload.ts';

const [issuer, provider, url] = ['https://issuer.example', 'https://provider.example', 'https://server.example/mcp'];
const idJag = 'urn:ietf:params:oauth:token-type:id-jag';
const client = { clientId: 'gateway', clientSecret: 'secret' };
const assertion = { access_token: 'an.id.jag', issued_token_type: idJag, token_type: 'N_A' };

interface Asked {
  readonly address: string;
  readonly form: Readonly<Record<string, string>>;
}

/** Issuers of these addresses, with these answers of their token endpoints. */
function issuers(answers: Readonly<Record<string, { readonly status?: number; readonly body: object }>>): {
  readonly fetch: Fetch;
  readonly asked: Asked[];
} {
  const asked: Asked[] = [];
  return {
    asked,
    fetch: (address, request) => {
      const { origin, pathname } = new URL(address);
      if (pathname === '/.well-known/oauth-authorization-server')
        return Promise.resolve(new Response(JSON.stringify({ issuer: origin, token_endpoint: `${origin}/token` })));
      if (pathname !== '/token') return Promise.resolve(new Response('no', { status: 404 }));
      asked.push({ address, form: Object.fromEntries(new URLSearchParams(request?.body)) });
      const { status = 200, body } = answers[origin] as { readonly status?: number; readonly body: object };
      return Promise.resolve(new Response(JSON.stringify(body), { status }));
    },
  };
}

const sourceOf = (fetch: Fetch, grant: Grant): WorkloadTokens =>
  new WorkloadTokens({ fetch, url, client, issuer, scope: 'read', namesResource: true, asked: () => undefined, grant });
const exchange = byTokenExchange({ client, audience: undefined, subject: () => Promise.resolve('token-of-ann') });
const assert = byIdentityAssertion({
  provider: { issuer: provider, client: { clientId: 'at-provider' } },
  client,
  idToken: () => Promise.resolve('id-token-of-ann'),
});

it('many who wait for one token have it exchanged once, and it is used until shortly before its end', async () => {
  const { fetch, asked } = issuers({
    [issuer]: {
      body: {
        access_token: 'exchanged',
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: 'Bearer',
        expires_in: 60,
      },
    },
  });
  const source = sourceOf(fetch, exchange);
  const given = await Promise.all(Array.from({ length: 20 }, () => source.ask()));
  expect(new Set(given.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer exchanged']));
  expect(asked).toEqual([
    {
      address: `${issuer}/token`,
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: 'token-of-ann',
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        resource: url,
        scope: 'read',
      },
    },
  ]);
  expect(source.until - Date.now()).toBeGreaterThan(30_000);
  expect(source.until - Date.now()).toBeLessThan(60_000);
});

it('an assertion is made for the issuer of the server and redeemed there; it is shown to nobody else, nor is the ID token', async () => {
  const { fetch, asked } = issuers({
    [provider]: { body: assertion },
    [issuer]: { body: { access_token: 'for the server'.replaceAll(' ', '-'), token_type: 'bearer' } },
  });
  expect(await sourceOf(fetch, assert).ask()).toEqual({ authorization: 'Bearer for-the-server' });
  expect(asked).toEqual([
    {
      address: `${provider}/token`,
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        client_id: 'at-provider',
        subject_token: 'id-token-of-ann',
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        requested_token_type: idJag,
        audience: issuer,
        resource: url,
        scope: 'read',
      },
    },
    {
      address: `${issuer}/token`,
      form: { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: 'an.id.jag' },
    },
  ]);
});

it.each([
  [
    'the token is not exchanged',
    exchange,
    { [issuer]: { status: 400, body: { error: 'unauthorized_client', error_description: 'token-of-ann' } } },
    `the token of the user is not exchanged: the issuer ${issuer} gives no token: unauthorized_client`,
    false,
  ],
  [
    'the issuer is away',
    exchange,
    { [issuer]: { status: 503, body: {} } },
    `the token of the user is not exchanged: the issuer ${issuer} answers HTTP 503`,
    true,
  ],
  [
    'the provider makes no assertion',
    assert,
    { [provider]: { status: 400, body: { error: 'invalid_grant', error_description: 'id-token-of-ann' } } },
    `the identity provider makes no assertion about the user: the issuer ${provider} gives no token: invalid_grant`,
    false,
  ],
  [
    'the provider gives an access token',
    assert,
    { [provider]: { body: { access_token: 'a', token_type: 'bearer' } } },
    `the identity provider makes no assertion about the user: the issuer ${provider} gives a token of another type than ${idJag}`,
    false,
  ],
  [
    'the assertion is refused',
    assert,
    { [provider]: { body: assertion }, [issuer]: { status: 400, body: { error: 'invalid_grant' } } },
    `the assertion about the user is not accepted: the issuer ${issuer} gives no token: invalid_grant`,
    false,
  ],
])(
  'where %s, the step, the issuer and its error code are named, and no token',
  async (_what, grant, answers, message, isPassing) => {
    await expect(sourceOf(issuers(answers).fetch, grant).ask()).rejects.toMatchObject({ message, isPassing });
  },
);

it('a token on its way is read by its receiver alone, and used for no other server or user', async () => {
  const [receiver, other] = [new TokenReceiver(), new TokenReceiver()];
  const given: GivenToken = { server: 'records', principal: 'p_ann', authorization: 'Bearer exchanged', until: 1 };
  const sealed = await sealToken(await receiver.key(), given);
  expect(Buffer.from(sealed, 'base64url').toString()).not.toContain('exchanged');
  expect(await receiver.open(sealed, 'records', 'p_ann')).toEqual(given);
  await expect(receiver.open(sealed, 'mail', 'p_ann')).rejects.toThrow(/another server or another user/);
  await expect(receiver.open(sealed, 'records', 'p_ben')).rejects.toThrow(/another server or another user/);
  await expect(other.open(sealed, 'records', 'p_ann')).rejects.toThrow(Error);
});
