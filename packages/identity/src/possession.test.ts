/** Tokens that are bound to a key or a certificate: the proofs that are accepted, and every known way to make one that must not be. */
import {
  createHmac,
  generateKeyPairSync,
  hash,
  randomBytes,
  randomUUID,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';
import { calculateJwkThumbprint, SignJWT, type JWK } from 'jose';
import { rootEndpoint } from '@omnibus/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Authenticator } from './authenticator.ts';
import type { Verdict } from './facts.ts';
import type { PossessionOptions } from './possession.ts';
import { StandInIssuer, TestAuthority } from './testing/index.ts';

const publicUrl = 'https://mcp.example.com/team';
const address = `${publicUrl}/mcp`;
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const jwk = pair.publicKey.export({ format: 'jwk' }) as JWK;
const seconds = (): number => Math.floor(Date.now() / 1_000);

let issuer: StandInIssuer;
let token: string;
let plain: string;
/** Proofs that are remembered by all edges. */
const seen = new Set<string>();
/** Callers by whom the proofs are counted. */
const counted: string[] = [];
let isAway = false;
const open: Authenticator[] = [];

async function edge(more: Partial<PossessionOptions> = {}, needsBinding = false): Promise<Authenticator> {
  const authenticator = await Authenticator.open({
    issuers: [{ issuer: issuer.issuer, subject: 'sub', groups: 'groups', algorithms: ['ES256'], tokenType: 'at+jwt' }],
    resource: { publicUrl, audience: [], scopes: [] },
    needsBinding,
    possession: {
      publicUrl,
      needsNonce: false,
      secret: Buffer.alloc(32, 7),
      isFirst: (caller, id) => {
        counted.push(caller);
        if (isAway) return Promise.reject(new Error('away'));
        const isNew = !seen.has(id);
        seen.add(id);
        return Promise.resolve(isNew);
      },
      ...more,
    },
    warn: () => undefined,
  });
  open.push(authenticator);
  return authenticator;
}

let here: Authenticator;

beforeAll(async () => {
  issuer = await StandInIssuer.start();
  token = await issuer.token({ sub: 'bot', aud: address, cnf: { jkt: await calculateJwkThumbprint(jwk) } });
  plain = await issuer.token({ sub: 'ann', aud: address });
  here = await edge();
});

afterAll(async () => {
  for (const authenticator of open) await authenticator.close();
  await issuer[Symbol.asyncDispose]();
});

const claims = (more: object = {}): Record<string, unknown> => ({
  jti: randomUUID(),
  htm: 'POST',
  htu: address,
  iat: seconds(),
  ath: hash('sha256', token, 'base64url'),
  ...more,
});

const signed = (
  said: Record<string, unknown>,
  header: object = {},
  key: KeyObject = pair.privateKey,
): Promise<string> => new SignJWT(said).setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk, ...header }).sign(key);

async function ask(
  headers: Readonly<Record<string, string>>,
  {
    at = here,
    method = 'POST',
    secure,
    isAdminPort,
  }: {
    readonly at?: Authenticator;
    readonly method?: string;
    readonly secure?: Parameters<Authenticator['authenticate']>[1]['secure'];
    readonly isAdminPort?: true;
  } = {},
): Promise<Verdict> {
  return at.authenticate(
    { method, headers, rawHeaders: Object.entries(headers).flat() },
    {
      url: '/mcp?x=1',
      endpoint: rootEndpoint,
      peer: '198.51.100.1',
      address: () => '198.51.100.1',
      secure,
      ...(isAdminPort === undefined ? {} : { isAdminPort }),
    },
  );
}

const bound = (dpop: string): Readonly<Record<string, string>> => ({ authorization: `DPoP ${token}`, dpop });
const reasonOf = (verdict: Verdict): unknown => ('fault' in verdict ? verdict.fault.reason : verdict.subject);

describe('a token that is bound to a key', () => {
  it('is accepted with a proof for each request, and each proof once at all edges', async () => {
    const proof = await signed(claims());
    expect(reasonOf(await ask(bound(proof)))).toBe('bot');
    expect(reasonOf(await ask(bound(proof)))).toBe('auth.proof');
    expect(reasonOf(await ask(bound(proof), { at: await edge() }))).toBe('auth.proof');
    expect(reasonOf(await ask(bound(await signed(claims()))))).toBe('bot');
  });

  it.each<[string, () => Promise<Readonly<Record<string, string>>>]>([
    ['as a bearer token', () => Promise.resolve({ authorization: `Bearer ${token}` })],
    [
      'as a bearer token with a proof',
      async () => ({ authorization: `Bearer ${token}`, dpop: await signed(claims()) }),
    ],
    ['without a proof', () => Promise.resolve({ authorization: `DPoP ${token}` })],
    ['with a proof by another key', async () => bound(await signed(claims(), {}, other.privateKey))],
    [
      'with a proof by another key that it names',
      async () => bound(await signed(claims(), { jwk: other.publicKey.export({ format: 'jwk' }) }, other.privateKey)),
    ],
    [
      'with a proof that contains the private key',
      async () => bound(await signed(claims(), { jwk: pair.privateKey.export({ format: 'jwk' }) })),
    ],
    ['with a proof of another kind', async () => bound(await signed(claims(), { typ: 'JWT' }))],
    ['with a proof for another method', async () => bound(await signed(claims({ htm: 'GET' })))],
    ['with a proof for another endpoint', async () => bound(await signed(claims({ htu: `${address}/github` })))],
    [
      'with a proof for another gateway',
      async () => bound(await signed(claims({ htu: 'https://evil.example/team/mcp' }))),
    ],
    [
      'with a proof for the address without its path',
      async () => bound(await signed(claims({ htu: 'https://mcp.example.com/mcp' }))),
    ],
    [
      'with a proof for an address with a user',
      async () => bound(await signed(claims({ htu: 'https://a@mcp.example.com/team/mcp' }))),
    ],
    ['with a proof for no address', async () => bound(await signed(claims({ htu: 5 })))],
    [
      'with a proof for another token',
      async () => bound(await signed(claims({ ath: hash('sha256', plain, 'base64url') }))),
    ],
    ['with a proof for no token', async () => bound(await signed(claims({ ath: undefined })))],
    ['with a proof without an id', async () => bound(await signed(claims({ jti: undefined })))],
    ['with a proof with a long id', async () => bound(await signed(claims({ jti: 'x'.repeat(300) })))],
    ['with a proof without a time', async () => bound(await signed(claims({ iat: undefined })))],
    ['with a proof of many kilobytes', async () => bound(await signed(claims({ more: 'x'.repeat(10_000) })))],
    ['with text as proof', () => Promise.resolve(bound('proof'))],
  ])('is refused %s', async (_what, make) => {
    expect(reasonOf(await ask(await make()))).toBe('auth.proof');
  });

  it('is refused with a proof that is signed by nobody, by a shared secret, or by an RSA key for another algorithm', async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const header = { typ: 'dpop+jwt', jwk };
    expect(reasonOf(await ask(bound(`${part({ ...header, alg: 'none' })}.${part(claims())}.`)))).toBe('auth.proof');
    const text = `${part({ ...header, alg: 'HS256' })}.${part(claims())}`;
    const key = pair.publicKey.export({ format: 'pem', type: 'spki' });
    const forged = `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
    expect(reasonOf(await ask(bound(forged)))).toBe('auth.proof');
    expect(reasonOf(await ask(bound(await signed(claims(), { alg: 'RS256' }, rsa.privateKey))))).toBe('auth.proof');
  });

  it('is refused with two proofs, and at the admin port', async () => {
    const dpop = await signed(claims());
    const twice = await here.authenticate(
      {
        method: 'POST',
        headers: { authorization: `DPoP ${token}`, dpop },
        rawHeaders: ['authorization', `DPoP ${token}`, 'dpop', dpop, 'DPoP', dpop],
      },
      { url: '/mcp', endpoint: rootEndpoint, peer: undefined, address: () => '' },
    );
    expect(reasonOf(twice)).toBe('auth.proof');
    expect(reasonOf(await ask(bound(await signed(claims())), { isAdminPort: true }))).toBe('auth.invalid');
  });

  it('with a proof of a wrong clock gets a nonce, and is accepted with it; an invented nonce is refused', async () => {
    for (const more of [
      { iat: seconds() - 3_600 },
      { iat: seconds() + 3_600 },
      { nonce: 'invented' },
      { nonce: 'é'.repeat(43) },
    ]) {
      const verdict = await ask(bound(await signed(claims(more))));
      expect(verdict).toMatchObject({
        fault: { reason: 'auth.nonce', data: { dpopNonce: expect.any(String) as string } },
      });
      const nonce = 'fault' in verdict ? verdict.fault.data?.['dpopNonce'] : undefined;
      expect(reasonOf(await ask(bound(await signed(claims({ ...more, nonce })))))).toBe('bot');
      // Any edge accepts it.
      expect(reasonOf(await ask(bound(await signed(claims({ nonce }))), { at: await edge() }))).toBe('bot');
      expect(
        reasonOf(await ask(bound(await signed(claims({ nonce }))), { at: await edge({ secret: randomBytes(32) }) })),
      ).toBe('auth.nonce');
    }
    expect(reasonOf(await ask(bound(await signed(claims())), { at: await edge({ needsNonce: true }) }))).toBe(
      'auth.nonce',
    );
  });

  it('is refused while proofs cannot be compared with earlier ones', async () => {
    isAway = true;
    expect(reasonOf(await ask(bound(await signed(claims()))))).toBe('auth.unavailable');
    isAway = false;
  });

  it('counts for its caller, whichever of its keys signs', async () => {
    const before = counted.length;
    const theirs = other.publicKey.export({ format: 'jwk' }) as JWK;
    const more = await issuer.token({ sub: 'bot', aud: address, cnf: { jkt: await calculateJwkThumbprint(theirs) } });
    const ath = hash('sha256', more, 'base64url');
    const dpop = await signed(claims({ ath }), { jwk: theirs }, other.privateKey);
    const verdict = await ask({ authorization: `DPoP ${more}`, dpop });
    expect(reasonOf(await ask(bound(await signed(claims()))))).toBe('bot');
    expect(counted.slice(before)).toEqual(Array.from({ length: 2 }, () => 'principal' in verdict && verdict.principal));
  });

  it('may name the address of a WebSocket', async () => {
    const proof = await signed(claims({ htu: address.replace('https', 'wss'), htm: 'GET' }));
    expect(reasonOf(await ask(bound(proof), { method: 'GET' }))).toBe('bot');
  });
});

it('a token of its bearer is refused under the scheme DPoP, and everywhere if tokens must be bound', async () => {
  const dpop = await signed(claims({ ath: hash('sha256', plain, 'base64url') }));
  expect(reasonOf(await ask({ authorization: `Bearer ${plain}` }))).toBe('ann');
  expect(reasonOf(await ask({ authorization: `DPoP ${plain}`, dpop }))).toBe('auth.proof');
  const strict = await edge({}, true);
  expect(reasonOf(await ask({ authorization: `Bearer ${plain}` }, { at: strict }))).toBe('auth.proof');
  expect(reasonOf(await ask({ authorization: `Bearer ${plain}` }, { at: strict, isAdminPort: true }))).toBe('ann');
  expect(reasonOf(await ask(bound(await signed(claims())), { at: strict }))).toBe('bot');
  expect(reasonOf(await ask({ authorization: 'DPoP omk_3f9c21d07ab4_secret', dpop }))).toBe('auth.invalid');
});

it('a token that is bound to a certificate is accepted on connections that show this one', async () => {
  await using authority = await TestAuthority.create();
  const [mine, theirs] = await Promise.all([authority.issue({}), authority.issue({})]);
  const peer = (pem: string): Parameters<typeof ask>[1] => ({
    secure: { authorized: true, authorizationError: undefined, getPeerX509Certificate: () => new X509Certificate(pem) },
  });
  const x5t = hash('sha256', new X509Certificate(mine.cert).raw, 'base64url');
  const bearer = {
    authorization: `Bearer ${await issuer.token({ sub: 'pod', aud: address, cnf: { 'x5t#S256': x5t } })}`,
  };
  expect(reasonOf(await ask(bearer, peer(mine.cert)))).toBe('pod');
  expect(reasonOf(await ask(bearer, peer(theirs.cert)))).toBe('auth.invalid');
  expect(reasonOf(await ask(bearer))).toBe('auth.invalid');
});

it.each([{ jwk: {} }, { jkt: 'short' }, { 'x5t#S256': 5 }, {}, 'text', { jkt: 'A'.repeat(43), kid: 'x' }])(
  'a token that is bound by %j is refused',
  async (cnf) => {
    const odd = await issuer.token({ sub: 'bot', aud: address, cnf });
    expect(reasonOf(await ask({ authorization: `Bearer ${odd}` }))).toBe('auth.invalid');
  },
);
