/**
 * Users of an OpenID provider: when their sign-in ends or their data change at the provider, the gateway follows, even if a browser still has a session.
 */
import { createHash, randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import { beforeEach, expect, it, vi } from 'vitest';
import { AuthorizationUnderTest, Cookies } from './authorization-under-test.ts';
import { StandInProvider } from './stand-in-provider.ts';

const back = 'http://127.0.0.1:7/callback';

interface Arrived {
  readonly url: URL;
  readonly text: string;
}

/** A browser that keeps every cookie for every path, and signs in at the provider. */
class Browser {
  readonly #cookies = new Cookies();
  /** Number of redirects to the provider. */
  signIns = 0;
  /** Where the provider was asked last. */
  asked: URL | undefined;

  async open(to: string, form?: Readonly<Record<string, string>>): Promise<Arrived> {
    const response = await this.#cookies.ask(new URL(to, url), form);
    const location = response.headers.get('location');
    if (location === null) return { url: new URL(to, url), text: await response.text() };
    const next = new URL(location, url);
    if (next.href.startsWith(back)) return { url: next, text: '' };
    if (next.origin !== provider.issuer) return this.open(next.href);
    this.signIns += 1;
    this.asked = next;
    return this.open(provider.signedIn(next));
  }

  /** Consents on the page and redeems the code. @returns the tokens. */
  async tokens(): Promise<Readonly<Record<string, string>>> {
    const verifier = randomBytes(32).toString('base64url');
    const page = await this.begin(verifier);
    const [, action = '', token = ''] =
      /action="([^"]+\/consent)"><input type="hidden" name="token" value="([^"]+)"/.exec(page.text) ?? [];
    const arrived = page.text === '' ? page : await this.open(action, { token });
    return under.post('/token', {
      grant_type: 'authorization_code',
      client_id: 'listed',
      code: arrived.url.searchParams.get('code') ?? arrived.text,
      redirect_uri: back,
      code_verifier: verifier,
    });
  }

  /** Goes where a client sends its user. @returns the page of the consent, or the one that says what went wrong. */
  begin(
    verifier = randomBytes(32).toString('base64url'),
    more: Readonly<Record<string, string>> = {},
  ): Promise<Arrived> {
    const query = new URLSearchParams({
      client_id: 'listed',
      response_type: 'code',
      redirect_uri: back,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    });
    return this.open(`/authorize?${query.toString()}`);
  }
}

const refresh = (tokens: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> =>
  under.post('/token', {
    grant_type: 'refresh_token',
    client_id: 'listed',
    refresh_token: tokens['refresh_token'] ?? '',
  });

const claimsOf = (tokens: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(tokens['access_token']?.split('.')[1] ?? '', 'base64url').toString()) as Readonly<
    Record<string, unknown>
  >;

let provider: StandInProvider;
let under: AuthorizationUnderTest;
let url: string;
/** Whether any server is called by assertions of the provider. */
let keepsIdTokens: boolean;

beforeEach(async () => {
  keepsIdTokens = true;
  vi.useFakeTimers({ toFake: ['Date'] });
  provider = new StandInProvider();
  await provider.open();
  under = await AuthorizationUnderTest.start({
    signInMs: 14 * 86_400_000,
    clients: [{ id: 'listed', redirectUris: [back] }],
    signIn: {
      issuer: provider.issuer,
      clientId: 'omnibus',
      clientSecret: 'secret',
      scopes: ['openid'],
      subject: 'sub',
      groups: 'groups',
      tenant: 'org',
      require: {},
      parameters: {},
      isAnyCase: true,
      keepsIdTokens: () => keepsIdTokens,
    },
  });
  ({ url } = under);
  return async () => {
    vi.useRealTimers();
    provider.close();
    await under[Symbol.asyncDispose]();
  };
});

/** Advances the clock by more than the shortest time between two questions to the provider. */
const pass = (): void => void vi.setSystemTime(Date.now() + 1_500);

it('a user signed out at the provider must sign in there again, and gets nothing more by a browser that is signed in here', async () => {
  const browser = new Browser();
  expect(claimsOf(await browser.tokens())).toMatchObject({ sub: `${provider.issuer}|una` });
  provider.isSignedOut = true;
  pass();
  expect(claimsOf(await browser.tokens())).toMatchObject({ sub: `${provider.issuer}|una` });
  expect(browser.signIns).toBe(2);
  provider.isSignedOut = false;
  pass();
  await browser.tokens();
  expect(browser.signIns).toBe(2);
});

it('where the provider gives nothing to ask with, whoever comes back after his sign-in has ended signs in there again', async () => {
  provider.givesRefreshTokens = false;
  const browser = new Browser();
  await browser.tokens();
  vi.setSystemTime(Date.now() + 60_000);
  const { iat, exp } = claimsOf(await browser.tokens()) as { readonly iat: number; readonly exp: number };
  expect([browser.signIns, exp - iat >= 1]).toEqual([2, true]);
});

it('the page with what he has allowed is shown to nobody whom the provider has signed out', async () => {
  const browser = new Browser();
  await browser.tokens();
  expect((await browser.open('/account')).text).toContain('What you have allowed');
  provider.isSignedOut = true;
  pass();
  const { signIns } = browser;
  await browser.open('/account');
  expect(browser.signIns).toBe(signIns + 1);
});

it('tokens of a user who moved to another tenant, or to none, are no longer refreshed', async () => {
  for (const org of ['rival', undefined]) {
    provider.claims = { sub: 'una', org: 'acme', sid: 'session-1' };
    const first = await new Browser().tokens();
    expect(claimsOf(first)).toMatchObject({ tenant: 'acme' });
    provider.claims = { sub: 'una', org, sid: 'session-1' };
    pass();
    expect(await refresh(first)).toMatchObject({ error: 'invalid_grant' });
  }
});

it('whoever signs in anew while the provider is asked about his sign-in before goes on with the new one', async () => {
  const first = await new Browser().tokens();
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  provider.mayRefresh = promise;
  pass();
  const asking = refresh(first);
  await expect.poll(() => provider.refreshTokens.used.length).toBe(1);
  const second = await new Browser().tokens();
  const { given } = provider.refreshTokens;
  answer();
  await asking;
  pass();
  expect(await refresh(second)).not.toHaveProperty('error');
  expect(provider.refreshTokens.used).toEqual([given]);
});

it('where capital and small letters are the same, consents are taken back in whatever form the name is written', async () => {
  const as = (sub: string): void => {
    provider.claims = { ...provider.claims, sub };
  };
  const browser = new Browser();
  as('UNA');
  const first = await browser.tokens();
  as('Una');
  const second = await new Browser().tokens();
  as('ben');
  const other = await new Browser().tokens();
  pass();
  await under.server.takeBack(`${provider.issuer}|una`);
  expect(await refresh(other)).not.toHaveProperty('error');
  as('Una');
  expect(await refresh(second)).toMatchObject({ error: 'invalid_grant' });
  as('UNA');
  expect(await refresh(first)).toMatchObject({ error: 'invalid_grant' });
  expect(under.server.isRevoked(String(claimsOf(first)['grant_id']), `${provider.issuer}|UNA`)).toBe(true);
  await browser.tokens();
  expect(browser.signIns).toBe(2);
});

it('a sign-out that the provider tells is heard, whether it names the session or the user', async () => {
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  for (const said of [{ sid: 'session-1' }, { sub: 'una' }, { sub: 'una', sid: 'a-session-that-was-never-told' }]) {
    provider.claims = { sub: 'una', org: 'acme', ...('sid' in said ? { sid: 'session-1' } : {}) };
    const first = await new Browser().tokens();
    const answer = await fetch(`${url}/federation/logout`, {
      method: 'POST',
      body: new URLSearchParams({
        logout_token: await provider.token({ events, jti: randomBytes(4).toString('hex'), ...said }, 'logout+jwt'),
      }),
    });
    expect(answer.status, JSON.stringify(said)).toBe(200);
    expect(await refresh(first), JSON.stringify(said)).toMatchObject({ error: 'invalid_grant' });
  }
});

it('a sign-out that cannot be checked now may be told again, and one that is not of the provider is refused', async () => {
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const tell = async (claims: object): Promise<number> =>
    (
      await fetch(`${url}/federation/logout`, {
        method: 'POST',
        body: new URLSearchParams({
          logout_token: await provider.token({ events, sub: 'una', jti: 'j', ...claims }, 'logout+jwt'),
        }),
      })
    ).status;
  const first = await new Browser().tokens();
  provider.isDown = true;
  expect(await tell({})).toBe(503);
  provider.isDown = false;
  expect([await tell({ aud: 'another' }), await tell({})]).toEqual([400, 200]);
  expect(await refresh(first)).toMatchObject({ error: 'invalid_grant' });
});

it.each([
  [
    'the code is refused',
    { status: 400, answer: { error: 'invalid_grant', error_description: 'a secret text' } },
    undefined,
    'gives no tokens for the sign-in: invalid_grant (HTTP 400)',
  ],
  [
    'the gateway is not accepted as a client',
    { status: 401, answer: { error: 'invalid_client' } },
    undefined,
    'gives no tokens for the sign-in: invalid_client (HTTP 401)',
  ],
  ['the provider fails', { status: 503, answer: {} }, undefined, 'answers HTTP 503'],
  [
    'there is no ID token',
    { status: 200, answer: { access_token: 'at', token_type: 'bearer' } },
    undefined,
    'OAUTH_INVALID_RESPONSE',
  ],
  [
    'the provider refuses',
    undefined,
    { error: 'temporarily_unavailable' },
    'did not let the sign-in through: temporarily_unavailable',
  ],
])('a sign-in that fails since %s is explained, in no words of the provider', async (_why, refusal, error, words) => {
  Object.assign(provider, { refusal, error });
  const { text } = await new Browser().begin();
  expect(text).toContain(words);
  expect(text).toContain(new URL(provider.issuer).host);
  expect(text).not.toContain('a secret text');
});

it('whoever refuses at the provider goes back to the program, which is told so in no words of the provider', async () => {
  provider.error = { error: 'access_denied', error_description: 'a secret text' };
  const { href, searchParams } = (await new Browser().begin()).url;
  expect(href).toMatch(back);
  expect(Object.fromEntries(searchParams)).toMatchObject({
    error: 'access_denied',
    error_description: `the sign-in was refused or broken off at ${new URL(provider.issuer).host}`,
    iss: url,
  });
});

it("a sign-in with the ID token of somebody else's client names the claim that is wrong", async () => {
  provider.claims = { sub: 'una', org: 'acme', aud: 'another' };
  expect((await new Browser().begin()).text).toContain('whose &#34;aud&#34; is not the expected one');
});

it('the ID token of a user is kept for assertions of the provider, and another one asked for when it has expired', async () => {
  await new Browser().tokens();
  const subject = `${provider.issuer}|una`;
  const first = await under.server.idTokenOf(subject);
  expect(decodeJwt(first)).toMatchObject({ iss: provider.issuer, sub: 'una', aud: 'omnibus' });
  vi.setSystemTime(Date.now() + 3_600_000);
  expect((decodeJwt(await under.server.idTokenOf(subject)).exp ?? 0) * 1_000).toBeGreaterThan(Date.now());
  vi.setSystemTime(Date.now() + 3_600_000);
  provider.isSignedOut = true;
  await expect(under.server.idTokenOf(subject)).rejects.toThrow(/he has to sign in at the gateway again/);
});

it('no ID token is kept where no server is called by one', async () => {
  keepsIdTokens = false;
  await new Browser().tokens();
  await expect(under.server.idTokenOf(`${provider.issuer}|una`)).rejects.toThrow(/has given no ID token of this user/);
  await expect(under.server.idTokenOf('nobody')).rejects.toThrow(/has given no ID token of this user/);
});

it.each([{ sub: 'una\nben' }, { org: 'acme\u001b' }, { groups: ['devs', 'ops\u0000'] }])(
  'whom the provider names by %j is told so when he signs in, and not with each of his requests',
  async (claims) => {
    provider.claims = { ...provider.claims, ...claims };
    expect((await new Browser().begin()).text).toContain('has a control character, or half of a character');
  },
);

it.each([
  [Array.from({ length: 201 }, (_, index) => `group-${index}`), 'names more than 200 groups'],
  [['devs', 'ops\u0000'], 'has a control character'],
  [['devs', 'x'.repeat(256)], 'by a name that is too long'],
  [['devs', 7], 'is no list of names'],
  [{ roles: ['devs'] }, 'is no list of names'],
])(
  'whose groups cannot be told any more is refreshed no more as somebody without groups, and is told why (%#)',
  async (groups, why) => {
    provider.claims = { ...provider.claims, groups: ['devs'] };
    const first = await new Browser().tokens();
    expect(claimsOf(first)).toMatchObject({ groups: ['devs'] });
    provider.claims = { ...provider.claims, groups };
    pass();
    expect(await refresh(first)).toMatchObject({ error: 'invalid_grant' });
    expect((await new Browser().begin()).text).toContain(why);
  },
);

it('groups that the provider says to be null are none, at a sign-in and later', async () => {
  provider.claims = { ...provider.claims, groups: null };
  const first = await new Browser().tokens();
  pass();
  for (const tokens of [first, await refresh(first)]) expect(claimsOf(tokens)).not.toHaveProperty('groups');
});

it('a client that wants the name asked for again has the provider ask for it', async () => {
  const browser = new Browser();
  await browser.begin();
  expect(browser.asked?.searchParams.get('prompt')).toBe(null);
  await browser.begin(undefined, { prompt: 'login' });
  expect(browser.signIns).toBe(2);
  expect(browser.asked?.searchParams.get('prompt')).toBe('login');
});
