/** The gateway's own authorization server, from outside: tokens for legitimate clients, and refusals of attacks. */
import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Balancer } from '../support/balancer.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { statusAt } from '../support/status-at.ts';
import { RawClient } from '../support/raw-client.ts';
import { bearer, Browser, callback, claimsOf, OAuthClient, register, type Tokens } from '../support/sign-in.ts';
import { Upstream } from '../support/upstream.ts';
import { manageUsers } from '../support/users.ts';

const password = 'correct horse battery staple';

let folder: string;
let usersFile: string;
let upstream: Upstream;

const users = (...args: string[]): Promise<number> => manageUsers(usersFile, password, ...args);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-authorization-'));
  usersFile = join(folder, 'users.yaml');
  for (const name of ['ann', 'bob', 'carol']) expect(await users('add', name, '--group', 'people')).toBe(0);
  upstream = await Upstream.start();
});

afterAll(async () => {
  await upstream[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe.each(shapesOfLane)('%s', (shape) => {
  let front: Balancer;
  let gateway: GatewayHere;
  let issuer: string;

  beforeAll(async () => {
    front = await Balancer.start();
    // Of several processes, the gateway stands below a path.
    issuer = shape === 'embedded' ? front.url : `${front.url}/team`;
    gateway = await startGatewayHere(shape, {
      publicUrl: issuer,
      auth: { server: { users: { file: usersFile }, refreshGrace: 0 } },
      mcpServers: { up: { url: upstream.url }, other: { url: upstream.url } },
    });
    front.edges = shape === 'embedded' ? [gateway.url] : [gateway.url, await gateway.startEdge()];
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await front[Symbol.asyncDispose]();
  });

  const statusWith = async (tokens: Tokens, path = '/mcp'): Promise<number> =>
    (await new RawClient(`${issuer}${path}`, bearer(tokens)).initialize('2025-11-25')).status;

  it('a client registers, its user signs in and consents, and it is served as that user; each refresh token works once', async () => {
    const client = await OAuthClient.register(issuer);
    const browser = new Browser();
    const answer = await client.allow(browser, 'ann', password);
    expect(Object.fromEntries(answer.searchParams)).toMatchObject({ state: client.state, iss: issuer });
    const { status, body } = await client.redeem(answer.searchParams.get('code') as string);
    expect([status, body]).toMatchObject([200, { token_type: 'Bearer', scope: 'mcp' }]);
    const tokens = body as unknown as Tokens;
    expect(claimsOf(tokens)).toMatchObject({
      iss: issuer,
      sub: 'ann',
      aud: `${issuer}/mcp`,
      client_id: client.id,
      scope: 'mcp',
      groups: ['people'],
    });
    expect(tokens.expires_in).toBeLessThanOrEqual(600);
    using mcp = await RawClient.open(`${issuer}/mcp`, '2025-11-25', bearer(tokens));
    expect(await mcp.untilTools((names) => names.length > 0)).toBeDefined();
    expect(await statusWith(tokens, '/mcp/up')).toBe(200);
    const next = await client.refresh(tokens.refresh_token);
    expect(next.status).toBe(200);
    expect((await client.refresh(tokens.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
    expect((await client.refresh((next.body as unknown as Tokens).refresh_token)).body).toMatchObject({
      error: 'invalid_grant',
    });
    await expect.poll(() => statusWith(next.body as unknown as Tokens)).toBe(401);
  });

  it('a code that is redeemed several times at once, at several edges, gives tokens once, and these are then revoked', async () => {
    const client = await OAuthClient.register(issuer);
    const code = (await client.allow(new Browser(), 'ann', password)).searchParams.get('code') as string;
    const answers = await Promise.all([1, 2, 3].map(() => client.redeem(code)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
    const tokens = answers.find(({ status }) => status === 200)?.body as unknown as Tokens;
    await expect.poll(() => statusWith(tokens)).toBe(401);
    expect((await client.refresh(tokens.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('a program that shows a device code gets tokens once, after its user has typed it, at any edge', async () => {
    const grant = 'urn:ietf:params:oauth:grant-type:device_code';
    const client = await OAuthClient.register(issuer, { redirect_uris: undefined, grant_types: [grant] });
    const begin = async (more: Readonly<Record<string, string>> = {}): Promise<Readonly<Record<string, string>>> =>
      (
        await fetch(`${issuer}/device_authorization`, {
          method: 'POST',
          body: new URLSearchParams({ client_id: client.id, ...more }),
        })
      ).json() as Promise<Readonly<Record<string, string>>>;
    const { device_code: device = '', user_code: code = '', verification_uri: page = '' } = await begin();
    const poll = (): ReturnType<OAuthClient['token']> => client.token({ grant_type: grant, device_code: device });
    expect((await poll()).body).toMatchObject({ error: 'authorization_pending' });
    const browser = new Browser();
    let at = await browser.submit(await browser.open(page), '/device', { user_code: code });
    at = await browser.submit(at, '/device');
    if (at.text.includes('type="password"')) at = await browser.submit(at, '/login', { name: 'bob', password });
    expect((await poll()).body).toMatchObject({ error: 'authorization_pending' });
    await browser.submit(at, '/consent');
    const given = await poll();
    expect([given.status, claimsOf(given.body as unknown as Tokens)]).toMatchObject([
      200,
      { sub: 'bob', scope: 'mcp', aud: `${issuer}/mcp` },
    ]);
    // When another party redeems the code of the device too, the tokens of both are revoked.
    expect((await Promise.all([poll(), poll()])).map(({ body }) => body)).toMatchObject([
      { error: 'invalid_grant' },
      { error: 'invalid_grant' },
    ]);
    expect(await begin({ resource: 'https://elsewhere.example/mcp' })).toMatchObject({ error: 'invalid_target' });
    expect((await register(issuer, { client_name: 'x', grant_types: ['authorization_code'] })).body).toMatchObject({
      error: 'invalid_redirect_uri',
    });
    const metrics = (
      await Promise.all(
        [...gateway.processes].map(async (each) => (await fetch(`http://${await gateway.admin(each)}/metrics`)).text()),
      )
    ).join('\n');
    for (const line of [
      /omnibus_oauth_tokens_issued_total\{grant="device_code"\} [1-9]/,
      /omnibus_sign_ins_total\{way="password",outcome="good"\} [1-9]/,
      /omnibus_oauth_clients_registered_total [1-9]/,
      /omnibus_oauth_grants_revoked_total [1-9]/,
      /omnibus_auth_requests_total\{way="token",outcome="verified"\} [1-9]/,
    ])
      expect(metrics).toMatch(line);
    expect(metrics).not.toMatch(/"(?:bob|ann)"/);
  });

  it('a user sees granted consents and revokes one, which ends it at once at every edge; signing out ends the session', async () => {
    const client = await OAuthClient.register(issuer, { client_name: 'Taken back' });
    const browser = new Browser();
    const tokens = await client.signIn(browser, 'bob', password);
    using mcp = await RawClient.open(`${issuer}/mcp`, '2025-11-25', bearer(tokens));
    const stream = await fetch(`${issuer}/mcp`, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': mcp.session as string, ...bearer(tokens) },
    });
    expect(stream.status).toBe(200);
    const account = await browser.open(`${issuer}/account`);
    expect(account.text).toContain('Taken back');
    const after = await browser.submit(account, '/account/revoke');
    expect(after.text).not.toContain('Taken back');
    await stream.text();
    for (const url of front.edges)
      await expect
        .poll(async () => (await new RawClient(url, bearer(tokens)).initialize('2025-11-25')).status)
        .toBe(401);
    expect((await client.refresh(tokens.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
    expect((await new Browser().open(`${issuer}/account`)).text).toContain('type="password"');
    expect((await browser.submit(after, '/account/sign-out')).text).toContain('signed out');
    expect((await browser.open(`${issuer}/account`)).text).toContain('type="password"');
  });

  // The rest does not depend on the shape, and is tested where every step may reach another edge.
  if (shape === 'embedded') return;

  it('every sign-in needs PKCE with S256, and the right verifier', async () => {
    const client = await OAuthClient.register(issuer);
    const browser = new Browser();
    const errorOf = async (more: Readonly<Record<string, string | undefined>>): Promise<string | null> =>
      new URL((await browser.open(client.authorizeUrl(more), callback)).url).searchParams.get('error');
    expect(await errorOf({ code_challenge: undefined, code_challenge_method: undefined })).toBe('invalid_request');
    expect(await errorOf({ code_challenge: client.verifier, code_challenge_method: 'plain' })).toBe('invalid_request');
    expect(await errorOf({ code_challenge_method: undefined })).toBe('invalid_request');
    const code = (await client.allow(browser, 'ann', password)).searchParams.get('code') as string;
    expect((await client.redeem(code, { code_verifier: 'x'.repeat(43) })).body).toMatchObject({
      error: 'invalid_grant',
    });
    expect((await client.token({ grant_type: 'authorization_code', code, redirect_uri: callback })).body).toMatchObject(
      { error: 'invalid_grant' },
    );
  });

  it.each([
    'http://evil.example/callback',
    'https://127.0.0.1.evil.example/callback',
    'http://127.0.0.1@evil.example/callback',
    'http://127.0.0.1/other',
    'http://localhost/callback',
    '//evil.example/callback',
    'javascript:alert(1)',
    'http://127.0.0.1/callback/../x',
    'http://127.0.0.1/callback#x',
  ])('no user is sent to %s, which the client has not registered: a page says so', async (redirect) => {
    const client = await OAuthClient.register(issuer, { redirect_uris: ['http://127.0.0.1/callback'] });
    const response = await fetch(client.authorizeUrl({ redirect_uri: redirect }), {
      redirect: 'manual',
      headers: { accept: 'text/html' },
    });
    expect([response.status, response.headers.get('location')]).toEqual([400, null]);
    const page = await response.text();
    expect(page).toContain('redirect_uri');
    expect(page).not.toContain('evil.example');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('a program may listen on any port of the loopback address that it has registered', async () => {
    const client = await OAuthClient.register(issuer, { redirect_uris: ['http://127.0.0.1/callback'] });
    expect((await client.allow(new Browser(), 'ann', password, { redirect_uri: callback })).href).toMatch(
      /^http:\/\/127\.0\.0\.1:1\/callback\?code=/,
    );
  });

  it.each([
    [{ redirect_uris: ['http://evil.example/callback'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['https://good.example/callback#fragment'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['https://user@good.example/callback'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['data:text/html,x'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: [] }, 'invalid_redirect_uri'],
    [{}, 'invalid_redirect_uri'],
    [
      { redirect_uris: Array.from({ length: 11 }, (_, index) => `https://good.example/${index}`) },
      'invalid_redirect_uri',
    ],
    [
      { redirect_uris: [callback], token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'http://169.254.169.254/' },
      'invalid_client_metadata',
    ],
    ['text', 'invalid_client_metadata'],
    [{ redirect_uris: [callback], client_name: 'x'.repeat(20_000) }, 'invalid_request'],
  ])('what is wrong with what a client registers is said (%#)', async (metadata, error) => {
    expect((await register(issuer, metadata)).body).toMatchObject({ error });
  });

  it('a token is for the address that was asked for, and for no other one', async () => {
    const client = await OAuthClient.register(issuer);
    const browser = new Browser();
    const tokens = await client.signIn(browser, 'ann', password, { resource: `${issuer}/mcp/up/` });
    expect(claimsOf(tokens)['aud']).toBe(`${issuer}/mcp/up`);
    expect([
      await statusWith(tokens, '/mcp/up'),
      await statusWith(tokens, '/mcp'),
      await statusWith(tokens, '/mcp/other'),
    ]).toEqual([200, 401, 401]);
    for (const resource of [
      'https://elsewhere.example/mcp',
      `${issuer}/mcp/nothing`,
      `${issuer}/authorize`,
      `${issuer}/mcp?x=1`,
      `${issuer}/mcp#x`,
      `${issuer}/mcp/up#`,
      'mcp',
    ]) {
      expect(
        new URL((await browser.open(client.authorizeUrl({ resource }), callback)).url).searchParams.get('error'),
      ).toBe('invalid_target');
    }
    for (const [asked, redeemed] of [
      ['/mcp/', '/mcp'],
      ['/mcp', '/mcp/'],
      ['', '/mcp'],
    ] as const) {
      const given = (await client.allow(browser, 'ann', password, { resource: `${issuer}${asked}` })).searchParams.get(
        'code',
      ) as string;
      expect(
        claimsOf((await client.redeem(given, { resource: `${issuer}${redeemed}` })).body as unknown as Tokens)['aud'],
      ).toBe(`${issuer}/mcp`);
    }
    const code = (await client.allow(browser, 'ann', password)).searchParams.get('code') as string;
    expect((await client.redeem(code, { resource: `${issuer}/mcp/other` })).body).toMatchObject({
      error: 'invalid_target',
    });
    // The same resource may be named twice; with two different ones, later requests have to name one.
    const twice = await browser.submit(
      await browser.open(
        `${client.authorizeUrl({ resource: `${issuer}/mcp` })}&resource=${encodeURIComponent(`${issuer}/mcp/`)}`,
        callback,
      ),
      '/consent',
      {},
      callback,
    );
    expect(
      claimsOf(
        (await client.redeem(new URL(twice.url).searchParams.get('code') as string, { resource: `${issuer}/mcp` }))
          .body as unknown as Tokens,
      )['aud'],
    ).toBe(`${issuer}/mcp`);
  });

  it('a client of 2025-03-26 names neither resource nor scope, and is given a token for all servers', async () => {
    const client = await OAuthClient.register(issuer);
    const tokens = await client.signIn(new Browser(), 'ann', password, { resource: undefined, scope: undefined });
    expect(claimsOf(tokens)).toMatchObject({ aud: `${issuer}/mcp`, scope: 'mcp' });
    expect(await statusWith(tokens, '/mcp/other')).toBe(200);
  });

  it('a forged token, or one of another kind, gives no access', async () => {
    const client = await OAuthClient.register(issuer);
    const tokens = await client.signIn(new Browser(), 'ann', password, { scope: 'mcp openid' });
    const [header = '', body = '', signature = ''] = tokens.access_token.split('.');
    const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const said = JSON.parse(Buffer.from(header, 'base64url').toString()) as Readonly<Record<string, unknown>>;
    const key = await (await fetch(`${issuer}/.well-known/jwks.json`)).text();
    expect(JSON.parse(key)).toMatchObject({ keys: [{ kty: 'EC' }] });
    expect(key).not.toContain('"d"');
    const symmetric = `${encoded({ ...said, alg: 'HS256' })}.${body}`;
    const forged = [
      `${encoded({ ...said, alg: 'none' })}.${body}.`,
      `${encoded({ ...said, alg: 'none' })}.${body}.${signature}`,
      `${symmetric}.${createHmac('sha256', key).update(symmetric).digest('base64url')}`,
      `${header}.${encoded({ ...claimsOf(tokens), sub: 'bob' })}.${signature}`,
      `${encoded({ ...said, kid: 'other' })}.${body}.${signature}`,
      tokens.id_token ?? '',
      tokens.refresh_token,
    ];
    for (const token of forged) expect(await statusWith({ ...tokens, access_token: token })).toBe(401);
    expect(await statusWith(tokens)).toBe(200);
  });

  it('only the browser with the question can answer, and not from a page of another origin', async () => {
    const client = await OAuthClient.register(issuer);
    const [ann, bob] = [new Browser(), new Browser()];
    const page = await ann.submit(
      await ann.open(client.authorizeUrl(), callback),
      '/login',
      { name: 'ann', password },
      callback,
    );
    expect(page.text).toContain('Signed in as');
    const other = await bob.submit(
      await bob.open(client.authorizeUrl(), callback),
      '/login',
      { name: 'bob', password },
      callback,
    );
    expect((await bob.submit(page, '/consent', {}, callback)).status).toBe(400);
    expect((await ann.submit(page, '/consent', { token: 'x' }, callback)).status).toBe(403);
    const otherToken = /name="token" value="([^"]+)"/.exec(other.text)?.[1] as string;
    expect((await ann.submit(page, '/consent', { token: otherToken }, callback)).status).toBe(403);
    expect((await ann.submit(page, '/consent', {}, callback, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await ann.submit(page, '/consent', {}, callback, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await ann.submit(page, '/abort', {}, callback)).url).toContain('error=access_denied');
    for (const [name, value] of Object.entries({ 'x-frame-options': 'DENY', 'cache-control': 'no-store' }))
      expect(page.headers.get(name)).toBe(value);
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; frame-ancestors 'none'; base-uri 'none'$/,
    );
    expect(page.text).not.toContain('<script');
  });

  it('a signed-in user is asked again for each client, whose name is shown as text', async () => {
    const browser = new Browser();
    await (await OAuthClient.register(issuer)).signIn(browser, 'ann', password);
    const second = await OAuthClient.register(issuer, {
      client_name: '<script>alert(1)</script>',
      redirect_uris: ['https://tool.example/callback'],
    });
    const page = await browser.open(
      second.authorizeUrl({ redirect_uri: 'https://tool.example/callback' }),
      'https://tool.example/',
    );
    expect(page.text).toContain('Signed in as');
    expect(page.text).toContain('<p class="where">tool.example</p>');
    expect(page.text).toContain('up, other');
    expect(page.text).toContain('&#60;script&#62;');
    const allowed = await browser.submit(page, '/consent', {}, 'https://tool.example/');
    expect(allowed.url).toContain('code=');
    // Only this client can have that address, so the user is not asked again.
    expect(
      (
        await browser.open(
          second.authorizeUrl({ redirect_uri: 'https://tool.example/callback' }),
          'https://tool.example/',
        )
      ).url,
    ).toContain('code=');
  });

  it('a user removed while the gateway runs loses tokens, streams, refreshing and signing in at every edge, and others are not affected', async () => {
    const client = await OAuthClient.register(issuer);
    const browser = new Browser();
    const tokens = await client.signIn(browser, 'carol', password);
    const others = await (await OAuthClient.register(issuer)).signIn(new Browser(), 'ann', password);
    using mcp = await RawClient.open(`${issuer}/mcp`, '2025-11-25', bearer(tokens));
    const stream = await fetch(`${issuer}/mcp`, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': mcp.session as string, ...bearer(tokens) },
    });
    expect(stream.status).toBe(200);
    expect(await users('remove', 'carol')).toBe(0);
    await stream.text();
    for (const url of front.edges)
      await expect
        .poll(async () => (await new RawClient(url, bearer(tokens)).initialize('2025-11-25')).status)
        .toBe(401);
    expect((await client.refresh(tokens.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
    for (const one of [browser, new Browser()]) {
      const page = await one.open(client.authorizeUrl(), callback);
      expect(page.text).toContain('type="password"');
      expect((await one.submit(page, '/login', { name: 'carol', password }, callback)).url).not.toContain('code=');
    }
    expect(await statusWith(others)).toBe(200);
  });

  it('a refresh token works for its client only', async () => {
    const [client, other] = [await OAuthClient.register(issuer), await OAuthClient.register(issuer)];
    const tokens = await client.signIn(new Browser(), 'ann', password);
    expect((await other.refresh(tokens.refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
  });

  it('a page of another Host is served nothing (DNS rebinding)', async () => {
    const statuses = await Promise.all(
      ['/authorize', '/token', '/account', '/.well-known/oauth-authorization-server'].map((path) =>
        statusAt(`${gateway.url.replace(/\/mcp$/, '')}${path}`, 'evil.example'),
      ),
    );
    expect(statuses).toEqual([403, 403, 403, 403]);
  });

  it("a page of any origin may register and read metadata, and only the client's own page gets tokens", async () => {
    const preflight = await fetch(`${issuer}/register`, {
      method: 'OPTIONS',
      headers: { origin: 'https://inspector.example', 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    const metadata = await fetch(`${issuer}/.well-known/oauth-authorization-server`, {
      headers: { origin: 'https://inspector.example' },
    });
    expect(metadata.headers.get('access-control-allow-origin')).toMatch(/^(\*|https:\/\/inspector\.example)$/);
    expect(await metadata.json()).toMatchObject({
      issuer,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      registration_endpoint: `${issuer}/register`,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
    });
    expect(await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()).toMatchObject({ issuer });
    expect(await (await fetch(`${issuer}/.well-known/oauth-protected-resource/mcp/up`)).json()).toMatchObject({
      resource: `${issuer}/mcp/up`,
      authorization_servers: [issuer],
    });
  });
});
