/** Tokens that are accepted, and every way known to make one that must not be. */
import { SignJWT, UnsecuredJWT } from 'jose';
import { rootEndpoint, type EndpointName, type JsonObject } from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Authenticator, type AuthenticatorOptions } from './authenticator.ts';
import type { Facts, Verdict } from './facts.ts';
import { StandInIssuer } from './testing/index.ts';

const publicUrl = 'https://mcp.example.com';
const audience = `${publicUrl}/mcp`;
const algorithms = ['ES256', 'RS256', 'EdDSA'];

let issuer: StandInIssuer;
let other: StandInIssuer;
let authenticator: Authenticator;
let warnings: string[];

async function open(more: Partial<AuthenticatorOptions> = {}): Promise<Authenticator> {
  const one = { subject: 'sub', groups: 'groups', algorithms, tokenType: 'auto' } as const;
  authenticator = await Authenticator.open({
    keysFile: undefined,
    proxy: undefined,
    warn: (details) => warnings.push(JSON.stringify(details)),
    issuers: [
      {
        ...one,
        issuer: issuer.issuer,
        introspection: { url: `${issuer.issuer}/introspect`, clientId: 'omnibus', clientSecret: 'secret' },
      },
      { ...one, issuer: other.issuer },
    ],
    resource: { publicUrl, audience: [], scopes: [] },
    ...more,
  });
  return authenticator;
}

beforeEach(async () => {
  warnings = [];
  issuer = await StandInIssuer.start();
  other = await StandInIssuer.start();
  await open();
});

afterEach(async () => {
  vi.useRealTimers();
  await authenticator.close();
  await issuer[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

function ask(
  token: string,
  endpoint: EndpointName = rootEndpoint,
  address = '198.51.100.1',
): Verdict | Promise<Verdict> {
  const headers = { authorization: `Bearer ${token}` };
  return authenticator.authenticate(
    { headers, rawHeaders: Object.entries(headers).flat() },
    { url: '/mcp', endpoint, peer: address, address: () => address },
  );
}

async function problemOf(token: string, endpoint?: EndpointName): Promise<string> {
  const verdict = await ask(token, endpoint);
  return 'fault' in verdict ? `${verdict.fault.reason}: ${verdict.fault.message}` : `accepted ${verdict.subject}`;
}

const now = (): number => Math.floor(Date.now() / 1_000);
const signed = (claims: Readonly<Record<string, unknown>> = {}, header = {}): Promise<string> =>
  issuer.token({ sub: 'ann', aud: audience, ...claims }, header);

it('a token proves its subject at its issuer, with what the issuer says besides', async () => {
  const facts = (await ask(
    await signed({
      groups: ['staff'],
      scope: 'mcp files',
      client_id: 'vscode',
      act: { sub: 'agent', act: { sub: 'robot' } },
    }),
  )) as Facts;
  expect(facts).toMatchObject({
    issuer: issuer.issuer,
    subject: 'ann',
    groups: ['staff'],
    scopes: ['mcp', 'files'],
    client: 'vscode',
    actors: [
      { issuer: issuer.issuer, subject: 'agent' },
      { issuer: issuer.issuer, subject: 'robot' },
    ],
  });
  const plain = (await ask(await signed())) as Facts;
  expect(plain.principal).not.toBe(facts.principal);
  expect(await ask(await signed({ jti: 'another' }))).toMatchObject({ principal: plain.principal });
  expect(await ask(await signed({ sub: undefined, client_id: 'ci' }))).toMatchObject({ subject: 'client:ci' });
});

it('is looked at once: from then on it is known without waiting, and asked of nobody', async () => {
  const token = await signed();
  const both = [ask(token), ask(token)];
  expect(both[0]).toBeInstanceOf(Promise);
  const [first, second] = [await both[0], await both[1]];
  expect([ask(token), second]).toEqual([first, first]);
  expect(issuer.asked.filter((path) => path === '/keys')).toHaveLength(1);
});

it('the same name at two issuers is two callers', async () => {
  const [mine, theirs] = (await Promise.all([
    ask(await signed()),
    ask(await other.token({ sub: 'ann', aud: audience })),
  ])) as [Facts, Facts];
  expect(mine.principal).not.toBe(theirs.principal);
});

describe.each([
  [
    'for another audience',
    () => signed({ aud: 'https://other.example/mcp' }),
    /it is for https:\/\/other\.example\/mcp, and not for https:\/\/mcp\.example\.com\/mcp/,
  ],
  ['for a part of the audience', () => signed({ aud: publicUrl }), /it is for/],
  ['for an audience that begins like ours', () => signed({ aud: `${audience}.evil.example` }), /it is for/],
  ['for another endpoint', () => signed({ aud: `${audience}/github` }), /it is for/],
  [
    'for many others',
    () => signed({ aud: Array.from({ length: 100 }, (_, index) => `https://other.example/${index}`) }),
    /it is for https:\/\/other\.example\/0, .{250,330}…, and not for https:\/\/mcp\.example\.com\/mcp$/,
  ],
  ['for nobody', () => signed({ aud: undefined }), /it is for nobody, and not for https:\/\/mcp\.example\.com\/mcp/],
  ['for an empty list', () => signed({ aud: [] }), /it is for nobody/],
  [
    'of an issuer that is not known',
    () => signed({ iss: 'https://evil.example' }),
    /its issuer is https:\/\/evil\.example, whose tokens are not accepted here$/,
  ],
  [
    'of an issuer with a slash more',
    () => signed({ iss: `${issuer.issuer}/` }),
    /its issuer is http\S+\/, and not http/,
  ],
  [
    'signed by another issuer that is trusted too (mix-up)',
    () => other.token({ iss: issuer.issuer, sub: 'ann', aud: audience }),
    /its signature is not of/,
  ],
  ['that has expired', () => signed({ exp: now() - 31 }), /it has expired/],
  ['that never expires', () => signed({ exp: undefined }), /"exp" is missing$/],
  ['that expires as a text', () => signed({ exp: '9999999999' }), /is malformed|"exp" is wrong$/],
  ['that is not valid yet', () => signed({ nbf: now() + 60 }), /not valid yet/],
  ['of nobody', () => signed({ sub: undefined }), /names nobody/],
  ['of a name that is too long', () => signed({ sub: 'a'.repeat(256) }), /too long/],
  [
    'without a signature',
    () =>
      Promise.resolve(new UnsecuredJWT({ sub: 'ann', aud: audience, iss: issuer.issuer, exp: now() + 60 }).encode()),
    /algorithm that is not allowed|malformed/,
  ],
  [
    'that says its algorithm is none',
    async () =>
      `${Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url')}.${(await signed()).split('.')[1] as string}.AAAA`,
    /algorithm that is not allowed|malformed/,
  ],
  [
    'signed with the public key as a shared secret (confusion)',
    () =>
      new SignJWT({ sub: 'ann', aud: audience, iss: issuer.issuer, exp: now() + 60 })
        .setProtectedHeader({ alg: 'HS256', kid: 'key-1', typ: 'at+jwt' })
        .sign(new TextEncoder().encode(JSON.stringify(issuer.publicKey))),
    /algorithm that is not allowed here: HS256, and not ES256/,
  ],
  ['that brings its own key', () => signed({}, { jwk: { kty: 'EC' }, kid: 'mine' }), /has no such key/],
  [
    'that names where its key is',
    () => signed({}, { jku: 'https://evil.example/keys', kid: 'mine' }),
    /has no such key/,
  ],
  [
    'that demands what nobody knows (crit)',
    async () =>
      `${Buffer.from(JSON.stringify({ alg: 'ES256', kid: 'key-1', typ: 'at+jwt', crit: ['x'], x: 1 })).toString('base64url')}.${(await signed()).split('.').slice(1).join('.')}`,
    /malformed|not accepted/,
  ],
  [
    'that was changed',
    async () =>
      (await signed()).replace(
        /\.([^.]+)\./,
        `.${Buffer.from(JSON.stringify({ sub: 'bob', aud: audience, iss: issuer.issuer, exp: now() + 60 })).toString('base64url')}.`,
      ),
    /its signature is not of/,
  ],
  ['that is an ID token', () => signed({ nonce: 'n' }, { typ: 'JWT' }), /ID token/],
  ['that is an ID token by its hash', () => signed({ at_hash: 'h' }, { typ: 'JWT' }), /ID token/],
  [
    'that tells of a sign-out and says of itself only that it is a JWT',
    () =>
      signed({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} }, scope: 'mcp' }, { typ: 'JWT' }),
    /security event/,
  ],
  ['of another kind', () => signed({}, { typ: 'logout+jwt' }), /another kind/],
  ['whose kind is no text', () => signed({}, { typ: 5 as unknown as string }), /another kind/],
  ['that is bound to a key of its holder', () => signed({ cnf: { jkt: 'x' } }), /bound to a key/],
  ['whose groups are too many to stand in it', () => signed({ _claim_names: { groups: 'src1' } }), /too many/],
  [
    'with more groups than are read',
    () => signed({ groups: Array.from({ length: 201 }, (_, index) => `g${index}`) }),
    /more than 200 groups/,
  ],
  ['with groups that are none', () => signed({ groups: { admin: true } }), /no list of texts/],
  [
    'of a chain of actors that is too long',
    () => signed({ act: { sub: '1', act: { sub: '2', act: { sub: '3', act: { sub: '4', act: { sub: '5' } } } } } }),
    /more than 4 act/,
  ],
  ['of an actor without a name', () => signed({ act: {} }), /not who/],
])('a token %s', (_what, make, why) => {
  it('proves no identity, and messages about it do not repeat it', async () => {
    const token = await make();
    const problem = await problemOf(token);
    expect(problem).toMatch(/^auth\.invalid: /);
    expect(problem).toMatch(why);
    expect(problem).not.toContain(token.split('.')[2]?.slice(0, 20) || token);
    // The second time it is refused for the same reason, without being looked at.
    expect(await problemOf(token)).toBe(problem);
  });
});

it('a token for one endpoint opens that one, whichever way its address is written', async () => {
  for (const aud of [
    `${audience}/github`,
    `${audience}/github/`,
    'HTTPS://MCP.example.com/mcp/github',
    `${publicUrl}/sse/github`,
  ])
    expect(await problemOf(await signed({ aud }), 'github' as EndpointName), aud).toBe('accepted ann');
  expect(await problemOf(await signed(), 'github' as EndpointName)).toBe('accepted ann');
  const token = await signed({ aud: [`${audience}/github`, 'https://other.example'] });
  expect(await problemOf(token, 'github' as EndpointName)).toBe('accepted ann');
  expect(await problemOf(token, 'files' as EndpointName)).toMatch(/^auth\.invalid/);
});

it('where scopes are required, a token that lacks one is told all of them', async () => {
  await open({ resource: { publicUrl, audience: [], scopes: ['mcp', 'mcp:files'] } });
  expect(await ask(await signed({ scope: 'mcp' }))).toMatchObject({
    fault: { reason: 'auth.scope', data: { requiredScopes: ['mcp', 'mcp:files'] } },
  });
  expect(await problemOf(await signed({ scope: 'x mcp:files mcp' }))).toBe('accepted ann');
});

it('a token that is known is not believed beyond its time', async () => {
  const token = await signed({ exp: now() - 10 });
  expect(await problemOf(token)).toBe('accepted ann');
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime((now() + 21) * 1_000);
  expect(await problemOf(token)).toMatch(/it has expired/);
});

it('a token that does not name its key is tried with those of the issuer that may have signed it', async () => {
  const before = await signed({}, { kid: undefined });
  await issuer.rotate();
  const after = await signed({}, { kid: undefined });
  expect([await problemOf(before), await problemOf(after)]).toEqual(['accepted ann', 'accepted ann']);
  expect(
    await problemOf(await other.token({ iss: issuer.issuer, sub: 'ann', aud: audience }, { kid: undefined } as object)),
  ).toMatch(/its signature is not of/);
});

it('keys that rotate are fetched when a token names a new one, once for many that name unknown ones', async () => {
  await ask(await signed());
  await issuer.rotate(false);
  for (let count = 0; count < 20; count += 1)
    expect(await problemOf(await signed({ jti: String(count) }))).toMatch(/has no such key/);
  expect(issuer.asked.filter((path) => path === '/keys')).toHaveLength(1);
});

it.each([
  ['speak for another issuer', () => ({ issuer: other.issuer })],
  ['speak for it with a slash more', () => ({ issuer: `${issuer.issuer}/` })],
  ['name keys in the clear, at an address of a cloud', () => ({ jwks_uri: 'http://169.254.169.254/latest/meta-data' })],
  ['name keys in a file', () => ({ jwks_uri: 'file:///etc/passwd' })],
  ['name no keys', () => ({ jwks_uri: undefined })],
])(
  'metadata of an issuer that %s are not followed: no token of it is believed, and none is refused for good',
  async (_what, says) => {
    issuer.saysInstead = says();
    expect(await ask(await signed())).toMatchObject({ fault: { reason: 'auth.unavailable' } });
    expect(issuer.asked).not.toContain('/keys');
    expect(other.asked).toEqual([]);
  },
);

it('an issuer that leads elsewhere is not followed there', async () => {
  issuer.redirectsTo = `${other.issuer}/.well-known/oauth-authorization-server`;
  expect(await ask(await signed())).toMatchObject({ fault: { reason: 'auth.unavailable' } });
  expect(other.asked).toEqual([]);
});

it('the same name in two tenants is two callers, and a token without a tenant is invalid', async () => {
  await open({
    issuers: [
      { issuer: issuer.issuer, subject: 'sub', groups: 'groups', tenant: 'tid', algorithms, tokenType: 'auto' },
    ],
  });
  const [one, two] = [await ask(await signed({ tid: 'one' })), await ask(await signed({ tid: 'two' }))] as [
    Facts,
    Facts,
  ];
  expect([one.tenant, two.tenant]).toEqual(['one', 'two']);
  expect(one.principal).not.toBe(two.principal);
  for (const tid of [undefined, '', 7, ['one']])
    expect(await problemOf(await signed({ tid })), String(tid)).toMatch(/^auth\.invalid.*"tid"/);
});

it('a token of our own authorization server has the tenant that its user has at his provider; a user of ours has none', async () => {
  await open({
    issuers: [],
    own: {
      issuer: issuer.issuer,
      publicKeys: () => ({ keys: [issuer.publicKey as JsonObject] }),
      isRevoked: () => false,
      onChanged: () => undefined,
    },
  });
  const [one, two, ours] = [
    await ask(await signed({ grant_id: 'g', tenant: 'one' })),
    await ask(await signed({ grant_id: 'g', tenant: 'two' })),
    await ask(await signed({ grant_id: 'g' })),
  ] as [Facts, Facts, Facts];
  expect([one.tenant, two.tenant, ours.tenant]).toEqual(['one', 'two', undefined]);
  expect(new Set([one.principal, two.principal, ours.principal]).size).toBe(3);
  for (const tenant of ['', 7, ['one'], null])
    expect(await problemOf(await signed({ grant_id: 'g', tenant })), String(tenant)).toMatch(
      /^auth\.invalid.*"tenant"/,
    );
});

it('when the metadata for old clients cannot be had, the operator is told why, and a stranger nothing of the answer', async () => {
  issuer.saysInstead = { issuer: 'https://internal.example' };
  for (let count = 0; count < 3; count += 1)
    await expect(authenticator.serverMetadata()).rejects.toThrow(
      new Error(`the metadata of ${issuer.issuer} cannot be had now`),
    );
  expect(warnings).toEqual([expect.stringContaining('speaks for')]);
});

it('an issuer that does not answer is no fault of the token: it may be sent again', async () => {
  issuer.isBroken = true;
  expect(await ask(await signed())).toMatchObject({ fault: { reason: 'auth.unavailable' } });
  expect(warnings.join()).toContain('500');
});

it('an opaque token is asked about, once in a while, and is held to the same rules', async () => {
  const good = { active: true, sub: 'ann', aud: audience, iss: issuer.issuer, exp: now() + 60, scope: 'mcp' };
  issuer.opaque
    .set('good', good)
    .set('foreign', { ...good, aud: 'https://other.example' })
    .set('old', { ...good, exp: now() - 60 })
    .set('mixed', { ...good, iss: other.issuer })
    .set('lax', { ...good, active: 'yes' });
  expect(await ask('good')).toMatchObject({ subject: 'ann', scopes: ['mcp'], issuer: issuer.issuer });
  expect(await ask('good')).toMatchObject({ subject: 'ann' });
  for (const bad of ['foreign', 'old', 'mixed', 'lax', 'never'])
    expect(await problemOf(bad), bad).toMatch(/^auth\.invalid/);
  expect(issuer.asked.filter((path) => path === '/introspect')).toHaveLength(6);
});

it.each<[string, (at: number) => object, number | string]>([
  ['no expiry', () => ({ exp: undefined }), 330],
  ['no expiry, said', () => ({ exp: null }), 330],
  ['an expiry as a text', (at) => ({ exp: String(at + 60) }), 90],
  ['an expiry in milliseconds', (at) => ({ exp: (at + 60) * 1_000 }), 90],
  ['an expiry in the past', (at) => ({ exp: at - 60 }), 'it has expired'],
  ['an expiry in the past, as a text', (at) => ({ exp: String(at - 60) }), 'it has expired'],
  ['an expiry in the past, in milliseconds', (at) => ({ exp: (at - 60) * 1_000 }), 'it has expired'],
  ['an expiry that is no time', () => ({ exp: 'tomorrow' }), 'its claim "exp" is no time'],
  ['an expiry before 1970', () => ({ exp: -1 }), 'its claim "exp" is no time'],
  ['an expiry that is a list', (at) => ({ exp: [at + 60] }), 'its claim "exp" is no time'],
  ['a beginning in the future, as a text', (at) => ({ nbf: String(at + 60) }), 'it is not valid yet'],
  ['a beginning in the future, in milliseconds', (at) => ({ nbf: (at + 60) * 1_000 }), 'it is not valid yet'],
  ['no kind', () => ({ token_type: undefined }), 90],
  ['the kind Bearer', () => ({ token_type: 'BEARER' }), 90],
  ['the kind of an access token', () => ({ token_type: 'access_token', token_use: 'access_token' }), 90],
  [
    'the kind of a refresh token',
    () => ({ token_type: 'refresh_token' }),
    'says that it is of the kind "refresh_token"',
  ],
  [
    'the use of a refresh token',
    () => ({ token_type: 'Bearer', token_use: 'refresh_token' }),
    'says that it is of the kind "refresh_token"',
  ],
  ['a kind that its holder has to prove', () => ({ token_type: 'DPoP' }), 'says that it is of the kind "DPoP"'],
  ['a kind that is no text', () => ({ token_type: ['Bearer'] }), 'says that it is of the kind'],
  ['a key of its holder', () => ({ cnf: { jkt: 'x' } }), 'bound to a key of its holder'],
])('an opaque token of which its issuer says %s', async (_what, says, expected) => {
  const at = now();
  issuer.opaque.set('odd', { active: true, sub: 'ann', aud: audience, exp: at + 60, ...says(at) });
  const verdict = await ask('odd');
  if (typeof expected === 'string') {
    expect(verdict).toMatchObject({
      fault: { reason: 'auth.invalid', message: expect.stringContaining(expected) as string },
    });
  } else {
    const seconds = Math.round((((verdict as Facts).expiresAt as number) - at * 1_000) / 1_000);
    expect([expected, expected + 1]).toContain(seconds);
  }
});

it('a signed token that says its expiry in milliseconds is held to it', async () => {
  expect(await problemOf(await signed({ exp: (now() - 60) * 1_000 }))).toMatch(/^auth\.invalid.*it has expired/);
  expect(((await ask(await signed({ exp: (now() + 60) * 1_000 }))) as Facts).expiresAt).toBeLessThan(
    Date.now() + 120_000,
  );
});

describe('a proxy that has signed its users in', () => {
  const from = (peer: string, headers: Record<string, string>, rawHeaders = Object.entries(headers).flat()): string => {
    const verdict = authenticator.authenticate(
      { headers, rawHeaders },
      { url: '/mcp', endpoint: rootEndpoint, peer, address: () => '198.51.100.1' },
    ) as Verdict;
    return 'fault' in verdict ? verdict.fault.reason : verdict.subject;
  };
  beforeEach(() =>
    open({
      proxy: { addresses: ['10.0.0.0/8', '::1'], userHeader: 'x-forwarded-user', groupsHeader: 'x-forwarded-groups' },
    }),
  );

  it('is believed from its own addresses, and no other sender is', () => {
    const forged = { 'x-forwarded-user': 'ann', 'x-forwarded-for': '10.0.0.1', forwarded: 'for=10.0.0.1' };
    expect([from('10.1.2.3', forged), from('::ffff:10.1.2.3', forged), from('::1', forged)]).toEqual([
      'ann',
      'ann',
      'ann',
    ]);
    expect([from('198.51.100.1', forged), from('127.0.0.1', forged), from('', forged)]).toEqual([
      'auth.required',
      'auth.required',
      'auth.required',
    ]);
  });

  it('is listened to about groups with each request, and what is made of a user is made once', () => {
    const asked = (groups: string): Verdict => {
      const headers = { 'x-forwarded-user': 'ann', 'x-forwarded-groups': groups };
      return authenticator.authenticate(
        { headers, rawHeaders: Object.entries(headers).flat() },
        { url: '/mcp', endpoint: rootEndpoint, peer: '10.0.0.1', address: () => '10.0.0.1' },
      ) as Verdict;
    };
    const [staff, more] = [asked('staff'), asked('staff, admin')] as [Facts, Facts];
    expect([staff.groups, more.groups, more.principal]).toEqual([['staff'], ['staff', 'admin'], staff.principal]);
    expect(asked('staff')).toBe(staff);
  });

  it("that passes a client's own header on beside its own names nobody", () => {
    const headers = { 'x-forwarded-user': 'mallory, ann' };
    expect(from('10.1.2.3', headers, ['X-Forwarded-User', 'mallory', 'x-forwarded-user', 'ann'])).toBe('auth.invalid');
    expect(from('10.1.2.3', { 'x-forwarded-user': '' })).toBe('auth.invalid');
    expect(from('10.1.2.3', {})).toBe('auth.required');
  });
});
