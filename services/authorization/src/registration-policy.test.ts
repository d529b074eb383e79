/** Registration of clients: open, with a token, or off. */
import { expect, it, onTestFinished } from 'vitest';
import { AuthorizationUnderTest } from './authorization-under-test.ts';
import type { Rules } from './settings.ts';

const registrationToken = 'token-of-the-operator';

/** @returns its address. */
async function serve(registration: Rules['registration']): Promise<string> {
  const under = await AuthorizationUnderTest.start({
    registration,
    registrationToken: registration === 'token' ? registrationToken : undefined,
    clients: [
      { id: 'listed', redirectUris: ['http://127.0.0.1/callback'] },
      { id: 'page', redirectUris: ['https://app.example/callback'] },
    ],
    serversAt: () => ['up'],
  });
  onTestFinished(() => under[Symbol.asyncDispose]());
  return under.url;
}

async function register(
  url: string,
  authorization?: string,
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
  const headers = { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) };
  const answer = await fetch(`${url}/register`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/callback'] }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    body: (text.startsWith('{') ? JSON.parse(text) : {}) as Readonly<Record<string, unknown>>,
  };
}

const metadataOf = async (url: string): Promise<Readonly<Record<string, unknown>>> =>
  (await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()) as Readonly<Record<string, unknown>>;

/** The status of a sign-in for an unknown client, which must not get a redirect. */
async function statusOfUnknown(url: string): Promise<number> {
  return (
    await fetch(
      `${url}/authorize?client_id=unknown&response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcallback`,
      { redirect: 'manual' },
    )
  ).status;
}

it('open: whoever asks', async () => {
  const url = await serve('open');
  expect(await register(url)).toMatchObject({ status: 201, body: { redirect_uris: ['http://127.0.0.1/callback'] } });
  expect(await metadataOf(url)).toMatchObject({ registration_endpoint: `${url}/register` });
});

it('token: clients that have it, and none without or with another', async () => {
  const url = await serve('token');
  for (const wrong of [
    undefined,
    'Bearer ',
    'Bearer token-of-somebody-else',
    `Bearer ${registrationToken}x`,
    `Basic ${registrationToken}`,
    registrationToken,
  ]) {
    const { status, body } = await register(url, wrong);
    expect([wrong, status >= 400 && status < 500, body['client_id']]).toEqual([wrong, true, undefined]);
  }
  expect(await register(url, `Bearer ${registrationToken}`)).toMatchObject({
    status: 201,
    body: { redirect_uris: ['http://127.0.0.1/callback'] },
  });
  expect(await metadataOf(url)).toMatchObject({ registration_endpoint: `${url}/register` });
});

it('off: no client, as the metadata say; listed clients are served', async () => {
  const url = await serve('off');
  for (const given of [undefined, `Bearer ${registrationToken}`]) expect((await register(url, given)).status).toBe(404);
  expect(await metadataOf(url)).not.toHaveProperty('registration_endpoint');
  expect(await statusOfUnknown(url)).toBe(400);
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
  const listed = await fetch(
    `${url}/authorize?client_id=listed&response_type=code&code_challenge=${challenge}&code_challenge_method=S256&redirect_uri=${encodeURIComponent('http://127.0.0.1:7/callback')}`,
    { redirect: 'manual' },
  );
  expect([listed.status, listed.headers.get('location')]).toEqual([303, expect.stringContaining('/interaction/')]);
});

it.each([
  ['forgotten', 'No program with the client id forgotten is known here', 'sign out in the program'],
  [
    'http://app.example/client.json',
    'No program with the client id http://app.example/client.json is known here',
    'begins with https://',
  ],
  [
    'https://app.example/a/../b',
    'No program with the client id https://app.example/a/../b is known here',
    'begins with https://',
  ],
  ['<b>', 'No program with the client id &#60;b&#62; is known here', 'sign out in the program'],
])('the user of a program that is not known is told which one, and what helps: %s', async (id, who, advice) => {
  const url = await serve('open');
  const page = await fetch(
    `${url}/authorize?${new URLSearchParams({ client_id: id, response_type: 'code', redirect_uri: 'http://127.0.0.1/callback' }).toString()}`,
    { redirect: 'manual' },
  );
  expect([page.status, await page.text()]).toEqual([400, expect.stringContaining(who)]);
  expect(await (await fetch(page.url)).text()).toContain(advice);
});

it('a program of the configuration may be signed in on another device, and a page of the web may not', async () => {
  const url = await serve('off');
  const begin = async (client: string): Promise<unknown> =>
    (
      await fetch(`${url}/device_authorization`, { method: 'POST', body: new URLSearchParams({ client_id: client }) })
    ).json();
  expect(await begin('listed')).toMatchObject({ user_code: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/) as string });
  expect(await begin('page')).toMatchObject({ error: 'invalid_request' });
});
