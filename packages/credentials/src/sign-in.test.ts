/** How the gateway identifies itself to issuers at sign-ins, and what becomes of a registration that an issuer does not know any more. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Fetch } from './outbound.ts';
import { beginSignIn, finishSignIn, issuerHost, type Begun, type SignInOptions } from './sign-in.ts';
import type { ClientIdentity } from './token-request.ts';
import { Envelopes } from './vault/envelope.ts';
import { FileStore } from './vault/file-store.ts';
import { KeyRing, parseVaultKeys } from './vault/key-ring.ts';
import { Vault } from './vault/vault.ts';

const [url, issuer, redirectUri] = [
  'https://server.example/mcp',
  'https://issuer.example',
  'https://gateway.example/connect/callback',
];
const nothing = { resourceMetadata: undefined, scope: undefined, error: undefined };

/** An issuer that registers every client, and knows them until `forget`. */
class Registrar {
  readonly registered: string[] = [];
  readonly forms: URLSearchParams[] = [];
  readonly headers: Readonly<Record<string, string>>[] = [];
  /** Members of its metadata in place of the usual ones. */
  metadata: object = {};
  /** Further members of its answer to a registration. */
  given: object = {};
  #known = new Set<string>();

  know(clientId: string): void {
    this.#known.add(clientId);
  }

  forget(): void {
    this.#known = new Set();
  }

  readonly fetch: Fetch = (address, { body = '', headers = {} } = {}) => {
    const json = (status: number, value: object): Promise<Response> =>
      Promise.resolve(new Response(JSON.stringify(value), { status }));
    if (address.includes('oauth-protected-resource'))
      return json(200, { resource: url, authorization_servers: [issuer] });
    if (address.endsWith('/.well-known/oauth-authorization-server')) {
      return json(200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        code_challenge_methods_supported: ['S256'],
        ...this.metadata,
      });
    }
    if (address === `${issuer}/register`) {
      const { scope } = JSON.parse(body) as { readonly scope?: string };
      this.registered.push(scope ?? '');
      const id = `client-${this.registered.length}`;
      this.#known.add(id);
      return json(201, { client_id: id, token_endpoint_auth_method: 'none', ...this.given });
    }
    const form = new URLSearchParams(body);
    this.forms.push(form);
    this.headers.push(headers);
    const [basic = ''] = Buffer.from((headers['authorization'] ?? '').replace('Basic ', ''), 'base64')
      .toString()
      .split(':');
    return this.#known.has(form.get('client_id') ?? basic)
      ? json(200, { access_token: 'access', token_type: 'Bearer' })
      : json(401, { error: 'invalid_client' });
  };
}

interface Ground {
  readonly registrar: Registrar;
  readonly begin: (scope?: string, doubted?: string) => Promise<Begun & { readonly address: URL }>;
  readonly finish: (begun: Begun, answer?: string) => Promise<unknown>;
  readonly host: () => Promise<string | undefined>;
}

function ground(client?: ClientIdentity): Ground {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-sign-in-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const vault = new Vault(
    new FileStore(join(folder, 'vault.json')),
    new Envelopes(new KeyRing(parseVaultKeys([`a:${randomBytes(32).toString('base64')}`]))),
    () => undefined,
  );
  const registrar = new Registrar();
  const options: SignInOptions = {
    fetch: registrar.fetch,
    vault,
    url,
    issuer: client === undefined ? undefined : issuer,
    client,
    clientDocument: undefined,
    scope: undefined,
    namesResource: true,
  };
  return {
    registrar,
    async begin(scope, doubted) {
      const { begun, address } = await beginSignIn(options, redirectUri, { ...nothing, scope }, undefined, doubted);
      return { ...begun, address: new URL(address) };
    },
    host: () => issuerHost(options, nothing),
    finish: (begun, answer = 'code=code-0123456789') => finishSignIn(options, begun, new URLSearchParams(answer)),
  };
}

it('the host of the page on which the issuer has users sign in is known before they are sent there, unless its metadata name none', async () => {
  const { registrar, host } = ground();
  registrar.metadata = { authorization_endpoint: 'https://login.issuer.example/authorize' };
  await expect(host()).resolves.toBe('login.issuer.example');
  for (const endpoint of ['no address', undefined]) {
    registrar.metadata = { authorization_endpoint: endpoint };
    await expect(host()).resolves.toBeUndefined();
  }
  expect(registrar.registered).toEqual([]);
});

it('a registration is used for all sign-ins whose scopes it has, and another one is made for further scopes, with all of them', async () => {
  const { registrar, begin } = ground();
  const [first, again, further, narrow] = [
    await begin('read'),
    await begin('read'),
    await begin('write read'),
    await begin('write'),
  ];
  expect([first, again, further, narrow].map(({ client }) => client.clientId)).toEqual([
    'client-1',
    'client-1',
    'client-2',
    'client-2',
  ]);
  expect(registrar.registered).toEqual(['read', 'read write']);
});

it('a registration whose secret has expired is replaced', async () => {
  const { registrar, begin } = ground();
  registrar.given = { client_secret: 'secret', client_secret_expires_at: Math.floor(Date.now() / 1_000) - 1 };
  await begin();
  registrar.given = { client_secret: 'secret', client_secret_expires_at: 0 };
  expect([(await begin()).client.clientId, (await begin()).client.clientId]).toEqual(['client-2', 'client-2']);
});

it.each(['code=code-0123456789', 'error=unauthorized_client', 'error=invalid_client'])(
  'a registration that the issuer does not know any more (%s) is replaced with the next sign-in',
  async (answer) => {
    const { registrar, begin, finish } = ground();
    const begun = await begin();
    registrar.forget();
    await expect(finish(begun, answer)).rejects.toThrow('registers itself anew');
    await expect(finish(await begin())).resolves.toMatchObject({ client: { clientId: 'client-2' } });
  },
);

it('a sign-in from which a user never came back is no reason to register anew for ten minutes', async () => {
  const { begin } = ground();
  expect([(await begin()).client.clientId, (await begin(undefined, 'client-1')).client.clientId]).toEqual([
    'client-1',
    'client-1',
  ]);
});

it('an issuer is asked for consent where offline access is wanted, without which OpenID providers give no refresh token', async () => {
  const { registrar, begin } = ground();
  registrar.metadata = { scopes_supported: ['read', 'offline_access'] };
  expect(Object.fromEntries((await begin('read')).address.searchParams)).toMatchObject({
    scope: 'read offline_access',
    prompt: 'consent',
  });
  registrar.metadata = {};
  expect((await begin('read')).address.searchParams.has('prompt')).toBe(false);
});

it.each([
  ['code_challenge_methods_supported', 7, 'PKCE'],
  ['code_challenge_methods_supported', null, 'PKCE'],
  ['code_challenge_methods_supported', [['S256']], 'PKCE'],
  ['token_endpoint_auth_methods_supported', null, undefined],
  ['token_endpoint_auth_methods_supported', { none: true }, undefined],
  ['scopes_supported', 5, undefined],
  ['dpop_signing_alg_values_supported', 5, undefined],
  ['revocation_endpoint', null, undefined],
])('metadata whose member %s is %j are read as if they did not have it', async (name, value, problem) => {
  const { registrar, begin, finish } = ground();
  registrar.metadata = { [name]: value };
  if (problem === undefined)
    await expect(finish(await begin('read'))).resolves.toMatchObject({ tokens: { accessToken: 'access' } });
  else await expect(begin('read')).rejects.toThrow(problem);
});

it.each([
  ['access_denied', 'it was declined'],
  ['invalid_scope', 'the sign-in did not go through'],
  ['server_error', 'the sign-in did not go through'],
])('a sign-in that the issuer ends with %s says so, and nothing else that is in the answer', async (error, words) => {
  const { begin, finish } = ground();
  await expect(finish(await begin(), `error=${error}&error_description=words`)).rejects.toThrow(
    new RegExp(`^${words} at the issuer \\(${error}\\)$`),
  );
  await expect(finish(await begin(), 'error=call+0800-1234')).rejects.toThrow(
    /^the sign-in did not go through at the issuer$/,
  );
});

it.each([
  [{ clientSecret: 'secret' }, ['authorization']],
  [{ clientSecret: 'secret', method: 'client_secret_post' }, ['client_secret']],
  [{ clientSecret: 'secret', method: 'client_secret_basic' }, ['authorization']],
  [
    {
      privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
        type: 'pkcs8',
        format: 'pem',
      }) as string,
    },
    ['client_assertion'],
  ],
  [{}, []],
])('a client of the configuration authenticates as that says: %#', async (shown, expected) => {
  const { registrar, begin, finish } = ground({ clientId: 'gateway', ...shown });
  registrar.metadata = {
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
  };
  registrar.know('gateway');
  const begun = await begin();
  expect(JSON.stringify(begun)).not.toContain('PRIVATE KEY');
  await expect(finish(begun)).resolves.toMatchObject({ tokens: { accessToken: 'access' } });
  const form = registrar.forms.at(-1);
  expect([
    ...(registrar.headers.at(-1)?.['authorization'] === undefined ? [] : ['authorization']),
    ...['client_secret', 'client_assertion'].filter((name) => form?.has(name) === true),
  ]).toEqual(expected);
});

it('a client of the configuration that the issuer does not accept is a matter of the configuration', async () => {
  const { begin, finish } = ground({ clientId: 'unknown', clientSecret: 'secret' });
  await expect(finish(await begin())).rejects.toThrow(
    /invalid_client: it does not accept the gateway as its client "unknown"; see `clientId`, `clientSecret` and `clientAuthentication`/,
  );
});
