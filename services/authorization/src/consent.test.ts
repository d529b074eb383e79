/** The text of the consent page, and the bounds on guessing passwords. */
import { beforeEach, expect, it, vi } from 'vitest';
import { AuthorizationUnderTest, Cookies, formOf } from './authorization-under-test.ts';
import { DevicePolls } from './device.ts';
import { digestOf, leastCost } from './users.ts';

const password = 'correct horse battery staple';
const grant = 'urn:ietf:params:oauth:grant-type:device_code';

let url: string;
let under: AuthorizationUnderTest;

beforeEach(async () => {
  // No attempt of an address or a user comes back while a test runs, however long that takes.
  vi.useFakeTimers({ toFake: ['performance'] });
  under = await AuthorizationUnderTest.start(
    {
      registration: 'open',
      moreScopes: [
        { name: 'mcp:admin', isAnnounced: false, administers: true },
        { name: 'files:write', isAnnounced: true, administers: false, description: 'change <files>' },
      ],
    },
    [{ name: 'ann', password: await digestOf(password, leastCost), groups: [] }],
  );
  ({ url } = under);
  return async () => {
    await under[Symbol.asyncDispose]();
    vi.useRealTimers();
  };
});

interface Page {
  readonly at: string;
  readonly status: number;
  readonly text: string;
}

/** A browser as far as these pages need one: it keeps every cookie for every path. */
class Browser {
  readonly #cookies = new Cookies();

  async open(to: string, form?: Readonly<Record<string, string>>): Promise<Page> {
    const response = await this.#cookies.ask(new URL(to, url), form);
    const location = response.headers.get('location');
    if (location !== null) return this.open(location);
    return { at: to, status: response.status, text: await response.text() };
  }

  submit({ text }: Page, action: string, fields: Readonly<Record<string, string>> = {}): Promise<Page> {
    const { to, hidden } = formOf(text, action);
    return this.open(to, { ...hidden, ...fields });
  }
}

/** Begins the sign-in of a program, up to the page where the user enters a password or consents. */
async function begin(
  client: string,
  browser: Browser,
  scope = 'mcp mcp:admin',
): Promise<{ readonly typed: Page; readonly page: Page; readonly device: string }> {
  const { device_code: device = '', user_code: code = '' } = await under.post(
    '/device_authorization',
    new URLSearchParams({ client_id: client, scope }),
  );
  const typed = await browser.submit(await browser.open('/device'), '/device', { user_code: code });
  return { page: await browser.submit(typed, '/device'), typed, device };
}

const registered = async (): Promise<string> =>
  (await under.post('/register', JSON.stringify({ grant_types: [grant], token_endpoint_auth_method: 'none' })))[
    'client_id'
  ] as string;

it('whoever has allowed a client to administer the gateway is told so again, each time that he is asked', async () => {
  const client = await registered();
  const browser = new Browser();
  const first = await begin(client, browser);
  const asked = await browser.submit(first.page, '/login', { name: 'ann', password });
  expect(asked.text).toContain('permission to administer the gateway');
  await browser.submit(asked, '/consent');
  const { page, device } = await begin(client, browser);
  expect(page.text).toContain('permission to administer the gateway');
  expect(page.text).toContain('<code>mcp:admin</code>');
  await browser.submit(page, '/consent');
  expect(
    await under.post('/token', new URLSearchParams({ client_id: client, grant_type: grant, device_code: device })),
  ).toMatchObject({ scope: 'mcp mcp:admin' });
});

it('a scope that certain tools need is announced, shown in words to whom it is asked of, and given to who asks; another one is not', async () => {
  const { scopes_supported: supported } = (await (
    await fetch(`${url}/.well-known/oauth-authorization-server`)
  ).json()) as { readonly scopes_supported: readonly string[] };
  expect(supported).toEqual(expect.arrayContaining(['mcp', 'files:write']));
  expect(supported).not.toContain('mcp:admin');
  const [client, browser] = [await registered(), new Browser()];
  const tokenFor = async (scope: string, shown: (page: Page) => void): Promise<unknown> => {
    const { page, device } = await begin(client, browser, scope);
    const asked = page.text.includes('type="password"')
      ? await browser.submit(page, '/login', { name: 'ann', password })
      : page;
    shown(asked);
    await browser.submit(asked, '/consent');
    return (
      await under.post('/token', new URLSearchParams({ client_id: client, grant_type: grant, device_code: device }))
    )['scope'];
  };
  expect(await tokenFor('mcp', ({ text }) => expect(text).not.toContain('files:write'))).toBe('mcp');
  expect(
    await tokenFor('files:write nobody:knows', ({ text }) => {
      expect(text).toContain('<code>files:write</code> (change &#60;files&#62;)');
      expect(text).not.toContain('nobody:knows');
      expect(text).not.toContain('permission to administer');
    }),
  ).toBe('mcp files:write');
  expect(await tokenFor('mcp', ({ text }) => expect(text).not.toContain('files:write'))).toBe('mcp');
});

it('an address that has no attempts left takes none from a user who is elsewhere', async () => {
  const browser = new Browser();
  const { page } = await begin(await registered(), browser);
  const statusOf = async (name: string, said: string): Promise<number> =>
    (await browser.submit(page, '/login', { name, password: said })).status;
  for (let guess = 0; guess < 20; guess += 1) expect(await statusOf(`nobody-${guess}`, 'x'.repeat(1_001))).toBe(403);
  for (let guess = 0; guess < 10; guess += 1) expect(await statusOf('ann', 'x'.repeat(1_001))).toBe(429);
  under.address = '198.51.100.2';
  expect((await browser.submit(page, '/login', { name: 'ann', password })).text).toContain('to act for you?');
});

it('wrong passwords that a stranger types at another address do not lock a user out', async () => {
  const browser = new Browser();
  const { page } = await begin(await registered(), browser);
  const statusOf = async (said: string): Promise<number> =>
    (await browser.submit(page, '/login', { name: 'ann', password: said })).status;
  for (let guess = 0; guess < 10; guess += 1) expect(await statusOf('x'.repeat(1_001))).toBe(403);
  expect(await statusOf(password)).toBe(429);
  under.address = '198.51.100.2';
  expect((await browser.submit(page, '/login', { name: 'ann', password })).text).toContain('to act for you?');
});

it('a dozen addresses that register programs all the time keep no other address from registering one', async () => {
  const register = async (from: string): Promise<number> => {
    under.address = from;
    const body = JSON.stringify({ redirect_uris: ['http://127.0.0.1:7/callback'], token_endpoint_auth_method: 'none' });
    return (await fetch(`${url}/register`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }))
      .status;
  };
  const statuses: number[] = [];
  for (let count = 0; count < 30; count += 1)
    for (let host = 1; host <= 12; host += 1) statuses.push(await register(`198.51.100.${host}`));
  expect(new Set(statuses)).toEqual(new Set([201, 429]));
  expect(await register('198.51.100.99')).toBe(201);
});

it('whoever types the code of a program sees where it asked from, and not the proxy between', async () => {
  under.address = '203.0.113.7';
  const { typed } = await begin(await registered(), new Browser());
  expect(typed.text).toContain('<dt>Asked from</dt><dd>203.0.113.7</dd>');
});

it('a program that asks all the time whether its code was typed is told to slow down, and another one beside it is not', async () => {
  const [client, browser] = [await registered(), new Browser()];
  const [eager, patient] = [await begin(client, browser), await begin(client, browser)];
  const poll = async (device: string): Promise<string | undefined> =>
    (await under.post('/token', new URLSearchParams({ client_id: client, grant_type: grant, device_code: device })))[
      'error'
    ];
  const answers: (string | undefined)[] = [];
  for (let count = 0; count < 12; count += 1) answers.push(await poll(eager.device));
  expect(new Set(answers.slice(0, 5))).toEqual(new Set(['authorization_pending']));
  expect(answers.at(-1)).toBe('slow_down');
  expect(await poll(patient.device)).toBe('authorization_pending');
  expect(
    (
      await under.post(
        '/token',
        new URLSearchParams({ client_id: client, grant_type: 'refresh_token', refresh_token: 'x' }),
      )
    )['error'],
  ).toBe('invalid_grant');
});

it('a program that asks every five seconds is never told to slow down, and whoever guesses codes is by its address', () => {
  let now = 0;
  const polls = new DevicePolls(() => now);
  const take = (code: string, from: string): boolean => polls.take(new URLSearchParams({ device_code: code }), from);
  for (let count = 0; count < 120; count += 1) {
    now += 5_000;
    expect(take('patient', '198.51.100.1')).toBe(true);
  }
  const guessed = Array.from({ length: 400 }, (_, index) => take(`guess ${index}`, '198.51.100.2'));
  expect(guessed.filter(Boolean).length).toBe(300);
  expect(take('other', '198.51.100.1')).toBe(true);
});

it('a user with a new password must sign in again with every browser, and so must one who withdraws all consents', async () => {
  const [one, other] = [new Browser(), new Browser()];
  const signIn = async (browser: Browser, said: string): Promise<Page> =>
    browser.submit(await browser.open('/account'), '/login', { name: 'ann', password: said });
  const isIn = async (browser: Browser): Promise<boolean> =>
    (await browser.open('/account')).text.includes('What you have allowed');
  for (const browser of [one, other]) expect((await signIn(browser, password)).text).toContain('What you have allowed');
  const inNextSecond = (): Promise<boolean> => {
    const began = Math.floor(Date.now() / 1_000);
    return vi.waitUntil(() => Math.floor(Date.now() / 1_000) > began, { timeout: 45_000 });
  };
  await inNextSecond();
  await under.write([{ name: 'ann', password: await digestOf('another horse battery staple', leastCost), groups: [] }]);
  await expect.poll(() => isIn(one)).toBe(false);
  expect(await isIn(other)).toBe(false);
  for (const browser of [one, other])
    expect((await signIn(browser, 'another horse battery staple')).text).toContain('What you have allowed');
  await inNextSecond();
  const { text } = await one.open('/account');
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(text) ?? [];
  const { text: after } = await one.open('/account/revoke', { token, grant: '*' });
  expect([after.includes('have no access any more'), after.includes('keep their access')]).toEqual([true, false]);
  expect(await isIn(other)).toBe(false);
});

it('no answer is posted by a page with a script: whoever wants that is told so, and the metadata do not offer it', async () => {
  const { client_id: client = '' } = await under.post(
    '/register',
    JSON.stringify({ redirect_uris: ['http://127.0.0.1:1/callback'], token_endpoint_auth_method: 'none' }),
  );
  for (const path of ['/authorize', '/authorize/']) {
    const answer = await fetch(
      `${url}${path}?${new URLSearchParams({ client_id: client, response_type: 'code', redirect_uri: 'http://127.0.0.1:1/callback', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256', prompt: 'none', response_mode: 'form_post' }).toString()}`,
    );
    const text = await answer.text();
    expect([answer.status, answer.headers.get('content-security-policy')]).toEqual([
      400,
      expect.stringContaining("frame-ancestors 'none'"),
    ]);
    expect(text).toContain('form_post');
    expect(text).not.toContain('<script');
  }
  expect(await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()).toMatchObject({
    response_modes_supported: ['query', 'fragment'],
  });
});
