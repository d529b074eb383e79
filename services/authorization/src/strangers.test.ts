/** Effects of strangers on the authorization server: little, and within bounds that leave room for others. */
import { createHash } from 'node:crypto';
import { beforeEach, expect, it, vi } from 'vitest';
import { authorizationBuckets } from '@omnibus/bus';
import { AuthorizationUnderTest } from './authorization-under-test.ts';

const back = 'http://127.0.0.1:7/callback';
const authorize = `/authorize?${new URLSearchParams({ client_id: 'listed', response_type: 'code', redirect_uri: back, code_challenge: createHash('sha256').update('v').digest('base64url'), code_challenge_method: 'S256' }).toString()}`;

let url: string;
let under: AuthorizationUnderTest;

beforeEach(async () => {
  // No request of an address comes back to it while a test runs, however long that takes.
  vi.useFakeTimers({ toFake: ['performance'] });
  under = await AuthorizationUnderTest.start({
    clients: [{ id: 'listed', redirectUris: [back] }],
    clientDocuments: true,
  });
  ({ url } = under);
  return async () => {
    await under[Symbol.asyncDispose]();
    vi.useRealTimers();
  };
});

const ask = (
  path: string,
  { headers, ...request }: Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> =>
  fetch(`${url}${path}`, { redirect: 'manual', ...request, headers: { accept: 'text/html', ...headers } });

async function keysOf(kind: 'short' | 'long'): Promise<number> {
  let count = 0;
  (
    await (
      await under.bus.keyValue<string>(authorizationBuckets[kind])
    ).watch(() => {
      count += 1;
    })
  ).close();
  return count;
}

it.each([
  ['GET', '/authorize', authorize],
  ['HEAD', '/authorize', authorize],
  ['GET', '/authorize/', authorize.replace('?', '/?')],
  ['GET', '/device', '/device'],
  ['HEAD', '/device', '/device?user_code=BCDF-GHJK'],
  ['GET', '/device/', '/device/'],
  ['GET', '/device//', '/device//?user_code=x'],
  ['GET', '/device/%2e', '/device/%2e'],
])('what %s %s keeps, an address may ask for so often, and others as before', async (method, _place, path) => {
  const statuses: number[] = [];
  for (let count = 0; count < 70; count += 1) statuses.push((await ask(path, { method })).status);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(5);
  under.address = '198.51.100.2';
  expect((await ask(path, { method })).status).toBeLessThan(400);
});

it('a page has the same headers, and no script, with a slash at the end of its address', async () => {
  const headersOf = async (path: string): Promise<readonly (string | null)[]> => {
    const { headers } = await ask(path);
    return ['content-security-policy', 'x-frame-options', 'cache-control', 'content-length'].map((name) =>
      headers.get(name),
    );
  };
  for (const query of ['', '?user_code=BCDF-GHJK', '?user_code=x'])
    expect(await headersOf(`/device/${query}`), query).toEqual(await headersOf(`/device${query}`));
  expect((await ask('/device/')).headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
});

it.each(['/authorize/none', '/authorize/..%2f', '/authorize//x', '/authorize/a/b'])(
  'parameters of a request at the address of one that goes on change nothing: %s',
  async (path) => {
    const [plain, asked] = [await ask(path), await ask(authorize.replace('/authorize', path))];
    expect([asked.status, await asked.text()]).toEqual([plain.status, await plain.text()]);
    expect(asked.status).toBeLessThan(500);
  },
);

it('an address or form that is longer than any program needs is refused in words, and nothing of it is stored', async () => {
  const before = await keysOf('short');
  const long = `${authorize}&state=${'x'.repeat(8_192)}`;
  for (const method of ['GET', 'HEAD']) expect((await ask(long, { method })).status).toBe(414);
  expect(await (await ask(long)).text()).toContain('longer than 8192 characters');
  for (const path of ['/device_authorization', '/token', '/register']) {
    const { status } = await ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'x'.repeat(1_000_000),
    });
    expect(status, path).toBe(413);
  }
  const answer = await ask('/device_authorization', {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'listed', scope: 'mcp', more: 'x'.repeat(8_192) }),
  });
  expect([answer.status, await answer.json()]).toEqual([
    413,
    { error: 'invalid_request', error_description: 'the form is longer than 8192 characters' },
  ]);
  expect(await keysOf('short')).toBe(before);
  expect((await ask(`${authorize}&state=${'x'.repeat(7_500)}`)).status).toBe(303);
  // Parameters in a body would not be bounded.
  expect((await ask('/authorize', { method: 'POST', body: new URLSearchParams(authorize.split('?')[1]) })).status).toBe(
    405,
  );
});

it('where it is, no header says', async () => {
  const headers = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-prefix': '/evil',
    'x-forwarded-for': '10.0.0.1',
    forwarded: 'host=evil.example;proto=https',
    'x-original-url': '/evil',
    'x-forwarded-port': '666',
  };
  for (const path of ['/.well-known/oauth-authorization-server', authorize, '/device']) {
    const answer = await ask(path, { headers });
    expect(`${JSON.stringify([...answer.headers])}${await answer.text()}`, path).not.toMatch(/evil|:666\b/);
  }
  expect(await (await ask('/.well-known/oauth-authorization-server', { headers })).json()).toMatchObject({
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
  });
});

it('records of strangers are stored with short-lived ones, and displace no user', async () => {
  const page = await ask('/device');
  expect(page.headers.getSetCookie().join(' ')).toContain('omnibus-session=');
  expect([(await keysOf('short')) > 0, await keysOf('long')]).toEqual([true, 0]);
});

it('a form for a code that comes without the page that it is on leads back to that page, and is no failure here', async () => {
  const said = vi.spyOn(console, 'error');
  const form = { method: 'POST', body: new URLSearchParams({ user_code: 'BCDF-GHJK', xsrf: 'x' }) };
  const cookies = (await ask('/device')).headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ');
  for (const [path, request] of [
    ['/device', form],
    ['/device', { ...form, headers: { cookie: 'omnibus-session=none' } }],
    ['/device/some-uid', {}],
  ] as const) {
    const answer = await ask(path, request);
    expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 303, '/device']);
  }
  const answer = await ask('/device', { ...form, headers: { cookie: cookies } });
  expect([answer.status, (await answer.text()).includes('name="user_code"')]).toEqual([400, true]);
  expect(said).not.toHaveBeenCalled();
});

it.each(['/token', '/revoke'])(
  'requests for documents of clients at %s are bounded for one caller, and do not affect others',
  async (path) => {
    const saidOf = async (name: string): Promise<unknown> =>
      (
        (await (
          await ask(path, {
            method: 'POST',
            headers: { accept: 'application/json' },
            body: new URLSearchParams({
              client_id: `https://127.0.0.1/${name}`,
              token: 't',
              grant_type: 'refresh_token',
              refresh_token: 'r',
            }),
          })
        ).json()) as { readonly error_description?: string }
      ).error_description;
    const said: unknown[] = [];
    for (let count = 0; count < 30; count += 1) said.push(await saidOf(String(count)));
    expect([said[0], said.at(-1)]).toEqual([
      'client_id metadata document fetch failed',
      'client_id metadata document fetch not allowed',
    ]);
    under.address = '198.51.100.2';
    expect(await saidOf('other')).toBe('client_id metadata document fetch failed');
  },
);

it.each([
  ['/token', 'GET', 'POST'],
  ['/token', 'PUT', 'POST'],
  ['/register', 'GET', 'POST'],
  ['/revoke', 'DELETE', 'POST'],
  ['/device_authorization', 'GET', 'POST'],
  ['/authorize', 'POST', 'GET, HEAD'],
  ['/.well-known/oauth-authorization-server', 'POST', 'GET, HEAD'],
  ['/.well-known/jwks.json', 'DELETE', 'GET, HEAD'],
])('%s says to %s which methods it takes', async (path, method, allowed) => {
  const answer = await ask(path, { method });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed]);
  expect(await answer.text()).toContain(`this address takes ${allowed} only`);
});
