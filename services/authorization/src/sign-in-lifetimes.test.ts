/** How long sign-ins last: until users are removed, replaced or given another password, also while no process of the gateway ran, and as long as programs refresh their tokens. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { decodeJwt } from 'jose';
import { AuthorizationUnderTest, Cookies, formOf } from './authorization-under-test.ts';
import { digestOf, leastCost, type UserRecord } from './users.ts';

const dayMs = 86_400_000;
const password = 'correct horse battery staple';
const grant = 'urn:ietf:params:oauth:grant-type:device_code';
const key = Buffer.alloc(32, 7);
/** Of an unused password. */
const otherDigest = `scrypt$15$8$3$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const users: Record<'ann' | 'ben' | 'carl', UserRecord> = Object.create(null) as never;

let under: AuthorizationUnderTest;

const settings = { registration: 'open', sealingKeys: [key] } as const;
const open = (records: readonly UserRecord[]): Promise<void> => under.open(settings, records);

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const digest = await digestOf(password, leastCost);
  for (const name of ['ann', 'ben', 'carl'] as const)
    users[name] = { name, password: digest, groups: [], created: new Date(Date.now() - 3_600_000).toISOString() };
  under = await AuthorizationUnderTest.start(settings, Object.values(users));
});

afterEach(async () => {
  vi.useRealTimers();
  await under[Symbol.asyncDispose]();
});

interface SignedIn {
  readonly cookies: Cookies;
  readonly tokens: Readonly<Record<'access_token' | 'refresh_token', string>>;
  readonly client: string;
}

async function visit(cookies: Cookies, to: string, form?: Readonly<Record<string, string>>): Promise<string> {
  const response = await cookies.ask(new URL(to, under.url), form);
  const location = response.headers.get('location');
  return location === null ? response.text() : visit(cookies, location);
}

function submit(
  cookies: Cookies,
  text: string,
  action: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { to, hidden } = formOf(text, action);
  return visit(cookies, to, { ...hidden, ...fields });
}

async function signIn(name: string): Promise<SignedIn> {
  const cookies = new Cookies();
  const { client_id: client = '' } = await under.post(
    '/register',
    JSON.stringify({ grant_types: [grant], token_endpoint_auth_method: 'none' }),
  );
  const { device_code: device = '', user_code: code = '' } = await under.post('/device_authorization', {
    client_id: client,
    scope: 'mcp',
  });
  const typed = await submit(cookies, await visit(cookies, '/device'), '/device', { user_code: code });
  const asked = await submit(cookies, await submit(cookies, typed, '/device'), '/login', { name, password });
  await submit(cookies, asked, '/consent');
  return {
    cookies,
    client,
    tokens: (await under.post('/token', {
      client_id: client,
      grant_type: grant,
      device_code: device,
    })) as SignedIn['tokens'],
  };
}

const refresh = ({ client, tokens }: SignedIn): Promise<Readonly<Record<string, string>>> =>
  under.post('/token', { client_id: client, grant_type: 'refresh_token', refresh_token: tokens.refresh_token });
const isRevoked = ({ tokens }: SignedIn): boolean => {
  const { grant_id: granted, sub = '' } = decodeJwt(tokens.access_token);
  return under.server.isRevoked(granted as string, sub);
};
const isSignedIn = async ({ cookies }: SignedIn): Promise<boolean> =>
  (await visit(cookies, '/account')).includes('Signed in as');

it('their consents are revoked at the start, their browsers must sign in again, and others are not affected', async () => {
  const [ann, ben, carl] = [await signIn('ann'), await signIn('ben'), await signIn('carl')];
  await under.server.close();
  vi.setSystemTime(Date.now() + 60_000);
  const now = new Date(Date.now() - 10_000).toISOString();
  // Ann was removed, and another has her name now; Ben has another password.
  await open([
    { ...users.ann, password: otherDigest, created: now },
    { ...users.ben, password: otherDigest, passwordSince: now },
    users.carl,
  ]);
  expect([ann, ben, carl].map(isRevoked)).toEqual([true, true, false]);
  for (const one of [ann, ben]) expect(await refresh(one)).toMatchObject({ error: 'invalid_grant' });
  expect(await refresh(carl)).toHaveProperty('access_token');
  expect([await isSignedIn(ann), await isSignedIn(ben), await isSignedIn(carl)]).toEqual([false, false, true]);
});

it('the account page has the day on which each program was last used', async () => {
  const day = (): string => new Date().toISOString().slice(0, 10);
  // At noon, so that the browser's sign-in has ended when the next day begins, whenever this runs.
  vi.setSystemTime((Math.ceil(Date.now() / dayMs) + 0.5) * dayMs);
  const first = day();
  const ann = await signIn('ann');
  let { tokens } = ann;
  expect(await visit(ann.cookies, '/account')).toContain(`since ${first}, last used ${first}`);
  while (day() === first) {
    vi.setSystemTime(Date.now() + 3_000_000);
    tokens = (await refresh({ ...ann, tokens })) as SignedIn['tokens'];
  }
  const page = await visit(ann.cookies, '/account');
  expect(await submit(ann.cookies, page, '/login', { name: 'ann', password })).toContain(
    `since ${first}, last used ${day()}`,
  );
});

it('a user with the name of a removed one is another caller, and gets nothing of the old one, whatever the clocks say', async () => {
  await under.server.close();
  const created = new Date(Date.now() - 3_600_000).toISOString();
  const [first, second] = [
    { ...users.ann, id: 'first', created },
    { ...users.ann, id: 'second', created },
  ];
  await open([first, users.carl]);
  const [ann, carl] = [await signIn('ann'), await signIn('carl')];
  await under.server.close();
  vi.setSystemTime(Date.now() + 2_000);
  await open([second, users.carl]);
  expect([ann, carl].map(isRevoked)).toEqual([true, false]);
  expect(await refresh(ann)).toMatchObject({ error: 'invalid_grant' });
  expect([await isSignedIn(ann), await isSignedIn(carl)]).toEqual([false, true]);
  const other = await signIn('ann');
  await under.server.close();
  await open([second, users.carl]);
  expect([isRevoked(other), await isSignedIn(other)]).toEqual([false, true]);
  // By this claim the gateway tells one from the other.
  expect([ann, other, carl].map(({ tokens }) => decodeJwt(tokens.access_token)['omnibus_user'])).toEqual([
    'first',
    'second',
    undefined,
  ]);
});

it('the tokens of a user who is no longer in the file are revoked at the start', async () => {
  const [ann, carl] = [await signIn('ann'), await signIn('carl')];
  await under.server.close();
  await open([users.carl]);
  expect([ann, carl].map(isRevoked)).toEqual([true, false]);
});

it('a user whose record is of a clock that runs ahead can sign in, and stays signed in', async () => {
  await under.server.close();
  await open([{ ...users.ann, created: new Date(Date.now() + 3_600_000).toISOString() }]);
  const ann = await signIn('ann');
  expect(await isSignedIn(ann)).toBe(true);
  expect(await refresh(ann)).toHaveProperty('access_token');
});

it('a program that refreshes its tokens in time stays signed in, however long ago its user has allowed it', async () => {
  let carl = await signIn('carl');
  for (let count = 0; count < 4; count += 1) {
    vi.setSystemTime(Date.now() + 3_000_000);
    const tokens = await refresh(carl);
    expect(tokens).toHaveProperty('refresh_token');
    carl = { cookies: carl.cookies, client: carl.client, tokens: tokens as SignedIn['tokens'] };
  }
  vi.setSystemTime(Date.now() + 3_700_000);
  expect(await refresh(carl)).toMatchObject({ error: 'invalid_grant' });
});

it('a user is shown what is allowed now, and not what has ended', async () => {
  const ann = await signIn('ann');
  const taken = (): Promise<string> => visit(ann.cookies, '/account');
  expect(await taken()).toContain('Take back<');
  await fetch(`${under.url}/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token: ann.tokens.refresh_token, client_id: ann.client }),
  });
  expect(await taken()).toContain('<p>Nothing.</p>');
});
