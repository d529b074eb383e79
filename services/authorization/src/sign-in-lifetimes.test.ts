/** How long sign-ins last: until users are removed, replaced or given another password, also while no process of the gateway ran, and as long as programs refresh their tokens. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { decodeJwt } from 'jose';
import { MemoryBus } from '@omnibus/bus';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { AuthorizationServer } from './server.ts';
import { digestOf, formatUsers, leastCost, type UserRecord } from './users.ts';

const password = 'correct horse battery staple';
const grant = 'urn:ietf:params:oauth:grant-type:device_code';
const key = Buffer.alloc(32, 7);
/** Of an unused password. */
const otherDigest = `scrypt$15$8$3$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const users: Record<'ann' | 'ben' | 'carl', UserRecord> = Object.create(null) as never;

let http: Server;
let url: string;
let folder: string;
let bus: MemoryBus;
let authorization: AuthorizationServer;

async function open(records: readonly UserRecord[]): Promise<void> {
  const usersFile = join(folder, 'users.yaml');
  await writeFile(usersFile, formatUsers(records));
  authorization = await AuthorizationServer.open({
    publicUrl: url,
    bus,
    registration: 'open',
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    sealingKeys: [key],
    scopes: ['mcp'],
    moreScopes: [],
    accessTokenMs: 600_000,
    signInMs: 3_600_000,
    refreshGraceMs: 0,
    clients: [],
    clientDocuments: false,
    documentHosts: [],
    usersFile,
    signIn: undefined,
    serversAt: () => [],
  });
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  folder = await mkdtemp(join(tmpdir(), 'omnibus-sign-in-lifetimes-'));
  http = createServer((request, response) => authorization.handle(request, response, '198.51.100.1'));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  bus = new MemoryBus(({ what }) => expect.fail(what));
  const digest = await digestOf(password, leastCost);
  for (const name of ['ann', 'ben', 'carl'] as const)
    users[name] = { name, password: digest, groups: [], created: new Date(Date.now() - 3_600_000).toISOString() };
  await open(Object.values(users));
});

afterEach(async () => {
  vi.useRealTimers();
  http.closeAllConnections();
  http.close();
  await authorization.close();
  await bus.drain();
  await rm(folder, { recursive: true });
});

interface SignedIn {
  readonly cookies: Map<string, string>;
  readonly tokens: Readonly<Record<'access_token' | 'refresh_token', string>>;
  readonly client: string;
}

async function visit(
  cookies: Map<string, string>,
  to: string,
  form?: Readonly<Record<string, string>>,
): Promise<string> {
  const response = await fetch(new URL(to, url), {
    headers: { accept: 'text/html', cookie: [...cookies.values()].join('; ') },
    redirect: 'manual',
    ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
  });
  for (const line of response.headers.getSetCookie())
    cookies.set(line.split('=', 1)[0] as string, line.split(';', 1)[0] as string);
  const location = response.headers.get('location');
  return location === null ? response.text() : visit(cookies, location);
}

function submit(
  cookies: Map<string, string>,
  text: string,
  action: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<string> {
  const [, to = '', inner = ''] =
    [...text.matchAll(/<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/g)].find((form) =>
      form[1]?.endsWith(action),
    ) ?? expect.fail(`there is no form ${action} in ${text}`);
  return visit(cookies, to, {
    ...Object.fromEntries(
      [...inner.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    ),
    ...fields,
  });
}

async function post(
  path: string,
  body: Readonly<Record<string, string>> | string,
): Promise<Readonly<Record<string, string>>> {
  return (
    await fetch(`${url}${path}`, {
      method: 'POST',
      ...(typeof body === 'string'
        ? { headers: { 'content-type': 'application/json' }, body }
        : { body: new URLSearchParams(body) }),
    })
  ).json() as Promise<Readonly<Record<string, string>>>;
}

async function signIn(name: string): Promise<SignedIn> {
  const cookies = new Map<string, string>();
  const { client_id: client = '' } = await post(
    '/register',
    JSON.stringify({ grant_types: [grant], token_endpoint_auth_method: 'none' }),
  );
  const { device_code: device = '', user_code: code = '' } = await post('/device_authorization', {
    client_id: client,
    scope: 'mcp',
  });
  const typed = await submit(cookies, await visit(cookies, '/device'), '/device', { user_code: code });
  const asked = await submit(cookies, await submit(cookies, typed, '/device'), '/login', { name, password });
  await submit(cookies, asked, '/consent');
  return {
    cookies,
    client,
    tokens: (await post('/token', { client_id: client, grant_type: grant, device_code: device })) as SignedIn['tokens'],
  };
}

const refresh = ({ client, tokens }: SignedIn): Promise<Readonly<Record<string, string>>> =>
  post('/token', { client_id: client, grant_type: 'refresh_token', refresh_token: tokens.refresh_token });
const isRevoked = ({ tokens }: SignedIn): boolean => {
  const { grant_id: granted, sub = '' } = decodeJwt(tokens.access_token);
  return authorization.isRevoked(granted as string, sub);
};
const isSignedIn = async ({ cookies }: SignedIn): Promise<boolean> =>
  (await visit(cookies, '/account')).includes('Signed in as');

it('their consents are revoked at the start, their browsers must sign in again, and others are not affected', async () => {
  const [ann, ben, carl] = [await signIn('ann'), await signIn('ben'), await signIn('carl')];
  await authorization.close();
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

it('a user with the name of a removed one is another caller, and gets nothing of the old one, whatever the clocks say', async () => {
  await authorization.close();
  const created = new Date(Date.now() - 3_600_000).toISOString();
  const [first, second] = [
    { ...users.ann, id: 'first', created },
    { ...users.ann, id: 'second', created },
  ];
  await open([first, users.carl]);
  const [ann, carl] = [await signIn('ann'), await signIn('carl')];
  await authorization.close();
  vi.setSystemTime(Date.now() + 2_000);
  await open([second, users.carl]);
  expect([ann, carl].map(isRevoked)).toEqual([true, false]);
  expect(await refresh(ann)).toMatchObject({ error: 'invalid_grant' });
  expect([await isSignedIn(ann), await isSignedIn(carl)]).toEqual([false, true]);
  const other = await signIn('ann');
  await authorization.close();
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
  await authorization.close();
  await open([users.carl]);
  expect([ann, carl].map(isRevoked)).toEqual([true, false]);
});

it('a user whose record is of a clock that runs ahead can sign in, and stays signed in', async () => {
  await authorization.close();
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
  await fetch(`${url}/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token: ann.tokens.refresh_token, client_id: ann.client }),
  });
  expect(await taken()).toContain('<p>Nothing.</p>');
});
