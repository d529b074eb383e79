/** Sign-ins when their browser changes hands, or their user is replaced, while a page is open. */
import { createHash, randomBytes } from 'node:crypto';
import { beforeEach, expect, it, vi } from 'vitest';
import { AuthorizationUnderTest, Cookies } from './authorization-under-test.ts';
import { digestOf, leastCost } from './users.ts';

const password = 'correct horse battery staple';
const back = 'http://127.0.0.1:7/callback';

let url: string;
let digest: string;
let under: AuthorizationUnderTest;

/** The users of the file. @param since time of each user's password. */
const usersOf = (names: readonly string[], since?: string): Parameters<AuthorizationUnderTest['write']>[0] =>
  names.map((name) => ({
    name,
    password: digest,
    groups: [],
    ...(since === undefined ? {} : { passwordSince: since }),
  }));

beforeEach(async () => {
  digest = await digestOf(password, leastCost);
  under = await AuthorizationUnderTest.start(
    { clients: [{ id: 'listed', redirectUris: [back] }] },
    usersOf(['ann', 'ben']),
  );
  ({ url } = under);
  return () => under[Symbol.asyncDispose]();
});

/** A browser as far as these pages need one: it keeps every cookie for every path. */
class Browser {
  readonly #cookies = new Cookies();
  readonly #verifier = randomBytes(32).toString('base64url');

  /** @returns the text of the page, or the address of the client that it leads to. */
  async open(to: string, form?: Readonly<Record<string, string>>): Promise<string> {
    const response = await this.#cookies.ask(new URL(to, url), form);
    const location = response.headers.get('location');
    if (location === null) return response.text();
    return location.startsWith(back) ? location : this.open(location);
  }

  /** Goes where the client sends its user. */
  begin(more: Readonly<Record<string, string>> = {}): Promise<string> {
    return this.open(
      `/authorize?${new URLSearchParams({ client_id: 'listed', response_type: 'code', redirect_uri: back, code_challenge: createHash('sha256').update(this.#verifier).digest('base64url'), code_challenge_method: 'S256', ...more }).toString()}`,
    );
  }

  submit(page: string, action: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const [, to = '', token = ''] =
      new RegExp(`action="([^"]*/${action})"><input type="hidden" name="token" value="([^"]*)">`).exec(page) ?? [];
    return to === ''
      ? expect.fail(`there is no form "${action}" on the page:\n${page}`)
      : this.open(to, { token, ...fields });
  }

  signIn(page: string, name: string): Promise<string> {
    return this.submit(page, 'login', { name, password });
  }

  /** Redeems the code of an answer. @returns the user of the token, or the error. */
  async userOf(answer: string): Promise<unknown> {
    const code = URL.parse(answer)?.searchParams.get('code') ?? expect.fail(`no code came: ${answer}`);
    const said = await under.post('/token', {
      grant_type: 'authorization_code',
      client_id: 'listed',
      code,
      redirect_uri: back,
      code_verifier: this.#verifier,
    });
    return said['access_token'] === undefined
      ? said['error']
      : (
          JSON.parse(Buffer.from(said['access_token'].split('.')[1] ?? '', 'base64url').toString()) as {
            readonly sub: string;
          }
        ).sub;
  }
}

it('another user may sign in with a browser in which somebody is signed in, and is asked as himself', async () => {
  const browser = new Browser();
  const asked = await browser.signIn(await browser.begin(), 'ann');
  expect(await browser.userOf(await browser.submit(asked, 'consent'))).toBe('ann');
  const other = await browser.signIn(await browser.begin({ prompt: 'login' }), 'ben');
  expect(other).toMatch(/Signed in as<\/dt><dd>ben</);
  expect(await browser.userOf(await browser.submit(other, 'consent'))).toBe('ben');
  expect(await browser.open('/account')).toContain('<strong>ben</strong>');
});

it('whoever comes after a user who is none any more signs in with the same browser', async () => {
  const browser = new Browser();
  await browser.signIn(await browser.begin(), 'ann');
  await under.write(usersOf(['ben']));
  await vi.waitUntil(() => under.server.userOfFile('ann') === undefined);
  const asked = await browser.signIn(await browser.begin(), 'ben');
  expect(await browser.userOf(await browser.submit(asked, 'consent'))).toBe('ben');
});

it('a program is signed in by a code as the user who comes after another one, too', async () => {
  const browser = new Browser();
  await browser.signIn(await browser.begin(), 'ann');
  await under.write(usersOf(['ben']));
  await vi.waitUntil(() => under.server.userOfFile('ann') === undefined);
  const ask = async (path: string, form: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> =>
    (
      await fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams({ client_id: 'listed', ...form }) })
    ).json() as Promise<Readonly<Record<string, string>>>;
  const { user_code: code = '', device_code: device = '' } = await ask('/device_authorization', {});
  const secretOf = (page: string): string => /name="xsrf" value="([^"]*)"/.exec(page)?.[1] ?? '';
  const typed = await browser.open('/device', { xsrf: secretOf(await browser.open('/device')), user_code: code });
  const asked = await browser.signIn(
    await browser.open('/device', { xsrf: secretOf(typed), user_code: code, confirm: 'yes' }),
    'ben',
  );
  expect(await browser.submit(asked, 'consent')).toContain('You have signed in');
  expect(
    await ask('/token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: device }),
  ).toHaveProperty('access_token');
});

it('whoever has signed in before the password was changed, and allows after it, has to sign in again', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const browser = new Browser();
    const asked = await browser.signIn(await browser.begin(), 'ann');
    vi.setSystemTime(Date.now() + 5_000);
    digest = await digestOf('another horse battery staple', leastCost);
    await under.write(usersOf(['ann', 'ben'], new Date().toISOString()));
    await vi.waitUntil(
      () => (under.server.userOfFile('ann') as { readonly password?: string } | undefined)?.password === digest,
    );
    vi.setSystemTime(Date.now() + 5_000);
    expect(await browser.submit(asked, 'consent')).toContain('type="password"');
  } finally {
    vi.useRealTimers();
  }
});
