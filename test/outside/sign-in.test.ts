/**
 * Complete sign-ins with the official SDK clients and a browser: at our own authorization server, at a third-party one, and at ours with users of another
 * provider.
 */
import { createServer } from 'node:https';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authority, freePorts } from '@omnibus/bus/testing';
import { saidHere } from '../support/command-here.ts';
import { Balancer } from '../support/balancer.ts';
import { ForeignProvider } from '../support/foreign-provider.ts';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { omnibusProgram, startProcess } from '../support/processes.ts';
import { sdks, SdkUser, stepsUp } from '../support/sdk-user.ts';
import { Browser, callback, OAuthClient, type Tokens } from '../support/sign-in.ts';
import { Upstream } from '../support/upstream.ts';
import { manageUsers } from '../support/users.ts';
import { Callback, openWalker, type User, type Walker } from '../support/walker.ts';
import { suitePath } from '../conformance/run-suite.ts';

const main = omnibusProgram;
const ann: User = { name: 'ann', password: 'correct horse battery staple' };

let folder: string;
let authority: Authority;
let foreign: ForeignProvider;
let upstream: Upstream;
/** A gateway with its own authorization server, with users of a file and of the foreign provider. */
let own: { readonly front: Balancer; readonly gateway: GatewayUnderTest };
/** A gateway that accepts only tokens of the foreign provider. */
let resource: typeof own;
let walker: Walker;
let answers: Callback;

async function inFront(make: () => object, environment: Readonly<Record<string, string>> = {}): Promise<typeof own> {
  const front = await Balancer.start();
  const gateway = await startGateway(
    'embedded',
    { publicUrl: front.url, mcpServers: { up: { url: upstream.url } }, ...make() },
    environment,
  );
  front.edges = [gateway.url];
  return { front, gateway };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-sign-in-'));
  const file = join(folder, 'users.yaml');
  expect(await manageUsers(file, ann.password, 'add', ann.name)).toBe(0);
  upstream = await Upstream.start();
  authority = await Authority.create();
  foreign = await ForeignProvider.start();
  [own, resource, walker, answers] = await Promise.all([
    inFront(
      () => ({
        auth: {
          scopes: ['mcp'],
          stepUp: [{ scope: 'up:call', for: 'up/*', description: 'make it echo' }],
          server: {
            users: { file },
            signIn: {
              issuer: foreign.issuer,
              clientId: 'omnibus',
              clientSecret: foreign.clientSecret,
              scopes: ['openid', 'profile', 'offline_access'],
            },
            documentHosts: ['localhost'],
          },
        },
      }),
      { NODE_EXTRA_CA_CERTS: authority.caFile },
    ),
    inFront(() => ({ auth: { issuers: [{ issuer: foreign.issuer }], scopes: ['mcp'] } })),
    openWalker(),
    Callback.start(),
  ]);
  foreign.serve({
    user: 'una',
    redirectUris: [`${own.front.url}/federation/callback`],
    resources: [`${resource.front.url}/mcp`],
  });
});

afterAll(async () => {
  await Promise.all([own, resource].map(({ gateway }) => gateway[Symbol.asyncDispose]()));
  for (const each of [authority, own.front, resource.front, foreign, walker, answers, upstream])
    await each[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const ways = {
  'our own server': () => ({ url: `${own.front.url}/mcp`, user: ann, claims: { iss: own.front.url, sub: 'ann' } }),
  'one of another': () => ({
    url: `${resource.front.url}/mcp`,
    user: undefined,
    claims: { iss: foreign.issuer, sub: 'una' },
  }),
  'ours, whose users are of another': () => ({
    url: `${own.front.url}/mcp`,
    user: undefined,
    claims: { iss: own.front.url, sub: `${foreign.issuer}|una`, groups: ['strangers'] },
  }),
};

it.each(Object.keys(sdks).flatMap((sdk) => Object.keys(ways).map((way) => [sdk, way] as const)))(
  '%s and a browser sign in at %s, and are served',
  async (sdk, way) => {
    const { url, user, claims } = ways[way as keyof typeof ways]();
    const kept = new SdkUser({ answers, walker }, user);
    expect(await sdks[sdk as keyof typeof sdks](url, kept)).toEqual(['echo']);
    expect(kept.claims).toMatchObject({ ...claims, aud: url });
    expect(walker.complaints).toEqual([]);
  },
);

// SDK 1 refreshes its token instead of asking its user, where it has a refresh token.
it.each([
  ['SDK 1', false],
  ['SDK 2', true],
] as const)(
  '%s asks its user for the scope that a tool needs when it calls the tool, and calls it again',
  async (sdk, refreshes) => {
    const url = `${own.front.url}/mcp`;
    const kept = new SdkUser({ answers, walker }, ann, refreshes);
    expect(await sdks[sdk](url, kept)).toEqual(['echo']);
    expect(kept.claims['scope']).toBe('mcp');
    const [refused, called] = await stepsUp[sdk](url, kept);
    expect(refused).toBeInstanceOf(Error);
    expect(called).toMatchObject({ content: expect.any(Array) as unknown[] });
    expect(String(kept.claims['scope']).split(' ').toSorted()).toEqual(['mcp', 'up:call']);
    expect(walker.complaints).toEqual([]);
  },
);

it('the metadata of a client come from its document, which is fetched only from permitted addresses', async () => {
  const { certFile, keyFile } = await authority.sign('localhost', [{ type: 'dns', value: 'localhost' }]);
  const asked: string[] = [];
  const documents = createServer(
    { cert: await readFile(certFile), key: await readFile(keyFile) },
    (request, response) => {
      asked.push(`${request.headers.host ?? ''}${request.url ?? ''}`);
      const { port } = documents.address() as AddressInfo;
      const of = (name: string): string =>
        JSON.stringify({
          client_id: `https://localhost:${port}${name}`,
          client_name: 'Documented',
          redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
          token_endpoint_auth_method: 'none',
        });
      const answers: Readonly<Record<string, [number, string]>> = {
        '/client.json': [200, of('/client.json')],
        '/other.json': [200, of('/client.json')],
        '/large.json': [200, `${of('/large.json')}${' '.repeat(10_000)}`],
        '/moved.json': [302, ''],
        '/upper.json': [200, of('/upper.json').replace('https://localhost', 'https://LOCALHOST')],
        '/list.json': [200, '[]'],
        '/evil.json': [200, of('/evil.json').replace('http://localhost/callback', 'http://evil.example/callback')],
      };
      const [status, body] = answers[request.url ?? ''] ?? [404, ''];
      response.writeHead(status, { 'content-type': 'application/json', location: '/client.json' }).end(body);
    },
  ).listen(0, '127.0.0.1');
  await once(documents, 'listening');
  const { port } = documents.address() as AddressInfo;
  const issuer = own.front.url;
  const tokens = await new OAuthClient(issuer, `https://localhost:${port}/client.json`).signIn(
    new Browser(),
    ann.name,
    ann.password,
  );
  expect(
    (await fetch(`${issuer}/mcp`, { method: 'POST', headers: { authorization: `Bearer ${tokens.access_token}` } }))
      .status,
  ).not.toBe(401);
  const before = asked.length;
  const bad = [
    ['other', 'its client_id is not its address'],
    ['large', 'it cannot be fetched, is too large'],
    ['moved', 'its address answers HTTP 302'],
    ['missing', 'its address answers HTTP 404'],
    ['evil', 'must be a loopback address'],
    ['list', 'it is no JSON object'],
  ] as const;
  for (const [name, why] of bad) {
    const page = await new Browser().open(
      new OAuthClient(issuer, `https://localhost:${port}/${name}.json`).authorizeUrl(),
      callback,
    );
    expect([page.status, page.text], name).toEqual([400, expect.stringContaining(why)]);
  }
  expect(asked.length - before).toBe(bad.length);
  // A client id is compared as a text, however its host is written.
  expect(
    (await new Browser().open(new OAuthClient(issuer, `https://LOCALHOST:${port}/upper.json`).authorizeUrl(), callback))
      .text,
  ).toContain('Documented');
  expect(asked.slice(before).every((each) => !each.endsWith('/client.json'))).toBe(true);
  const seen = asked.length;
  for (const id of [
    `https://127.0.0.1:${port}/client.json`,
    `https://[::1]:${port}/client.json`,
    'https://169.254.169.254/client.json',
    `https://localhost:${port}/`,
    `http://localhost:${port}/client.json`,
  ]) {
    expect(
      (await new Browser().open(new OAuthClient(issuer, id).authorizeUrl(), callback)).status,
      id,
    ).toBeGreaterThanOrEqual(400);
  }
  expect(asked.length).toBe(seen);
  documents.closeAllConnections();
  documents.close();
});

it('the tokens of a user signed out at the other provider are not refreshed, and end', async () => {
  const client = await OAuthClient.register(own.front.url, { redirect_uris: [answers.url] });
  const arrived = answers.next();
  await walker.visit(new URL(client.authorizeUrl({ redirect_uri: answers.url })));
  const { body } = await client.redeem((await arrived).searchParams.get('code') as string, {
    redirect_uri: answers.url,
  });
  const first = await client.refresh((body as unknown as Tokens).refresh_token);
  expect(first.status).toBe(200);
  foreign.isSignedOut = true;
  let last = first.body as unknown as Tokens;
  await expect
    .poll(
      async () => {
        const next = await client.refresh(last.refresh_token);
        if (next.status === 200) last = next.body as unknown as Tokens;
        return next.body['error'];
      },
      { interval: 300 },
    )
    .toBe('invalid_grant');
  foreign.isSignedOut = false;
  expect(
    (await fetch(`${own.front.url}/mcp`, { method: 'POST', headers: { authorization: `Bearer ${last.access_token}` } }))
      .status,
  ).toBe(401);
});

it('omnibus stdio signs its user in by itself; the file of tokens is readable by that user only, and tokens are refreshed when they expire', async () => {
  const tokens = join(folder, 'kept', 'tokens.json');
  const url = `${own.front.url}/mcp`;
  const run = (...args: string[]): ReturnType<typeof saidHere> => saidHere([...args, url, '--tokens', tokens]);
  expect(await run('token')).toMatchObject({ status: 4, output: expect.stringContaining('omnibus login') as string });
  {
    await using joined = startProcess('node', [main, 'stdio', '--connect', url, '--tokens', tokens], {}, 'pipe');
    joined.child.stdin?.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } })}\n`,
    );
    const [, address] = (await joined.line(/sign in with your browser: (\S+)/)) as unknown as [string, string];
    await walker.visit(new URL(address), ann);
    expect((await joined.line(/^\{"jsonrpc".*"id":1.*$/))[0]).toContain('"result"');
    const call = (id: number): unknown =>
      joined.child.stdin?.write(
        `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: {} } })}\n`,
      );
    joined.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
    call(2);
    // Its client has no OAuth, so the user gets the command for the scope; the program takes the new token without a restart.
    const [, text = ''] = await joined.line(/^(\{"jsonrpc".*"id":2.*)$/);
    expect(JSON.parse(text)).toMatchObject({
      error: {
        code: -32_600,
        message: `this needs a token with the scope mcp up:call; sign in again with: omnibus login ${url} --scope mcp up:call`,
        data: { reason: 'auth.scope', retry: 'never', requiredScopes: ['mcp', 'up:call'] },
      },
    });
    await using login = startProcess('node', [
      main,
      'login',
      url,
      '--scope',
      'mcp',
      'up:call',
      '--no-browser',
      '--tokens',
      tokens,
    ]);
    await walker.visit(
      new URL(((await login.line(/sign in with your browser: (\S+)/)) as unknown as [string, string])[1]),
      ann,
    );
    await login.line(/signed in to .*/);
    call(3);
    expect((await joined.line(/^\{"jsonrpc".*"id":3.*$/))[0]).toContain('"result"');
  }
  expect((await stat(tokens)).mode & 0o777).toBe(0o600);
  const first = (await run('token')).output;
  expect(first).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  const kept = JSON.parse(await readFile(tokens, 'utf8')) as { readonly gateways: Record<string, object> };
  await writeFile(tokens, JSON.stringify({ gateways: { [url]: { ...kept.gateways[url], expiresAt: 0 } } }));
  const second = (await run('token')).output;
  expect([second === first, /^[\w-]+\.[\w-]+\.[\w-]+$/.test(second)]).toEqual([false, true]);
  // A token that looks valid here and is refused by the gateway is refreshed; where that fails too, the user signs in again.
  const known = JSON.parse(await readFile(tokens, 'utf8')) as { readonly gateways: Record<string, object> };
  for (const refreshToken of [{}, { refreshToken: 'taken-back' }]) {
    await writeFile(
      tokens,
      JSON.stringify({
        gateways: {
          [url]: {
            ...known.gateways[url],
            accessToken: 'taken-back',
            expiresAt: Date.now() + 3_600_000,
            ...refreshToken,
          },
        },
      }),
    );
    await using joined = startProcess('node', [main, 'stdio', '--connect', url, '--tokens', tokens], {}, 'pipe');
    joined.child.stdin?.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } })}\n`,
    );
    if ('refreshToken' in refreshToken)
      await walker.visit(
        new URL(((await joined.line(/sign in with your browser: (\S+)/)) as unknown as [string, string])[1]),
        ann,
      );
    expect((await joined.line(/^\{"jsonrpc".*"id":1.*$/))[0]).toContain('"result"');
  }
  const { status, output } = await run('whoami');
  expect(status).toBe(0);
  expect(output).toMatch(/subject +ann/);
  expect(output).not.toContain(second);
  const last = (await run('token')).output;
  const statusWith = async (token: string): Promise<number> =>
    (await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` } })).status;
  expect(await statusWith(last)).not.toBe(401);
  expect(await run('logout')).toMatchObject({ status: 0, output: expect.stringContaining('and revoked') as string });
  expect(JSON.parse(await readFile(tokens, 'utf8'))).toEqual({ gateways: {} });
  await expect.poll(() => statusWith(last)).toBe(401);
  // What looks valid here and is not taken there is no sign-in, and no token for a script.
  await writeFile(
    tokens,
    JSON.stringify({
      gateways: {
        [url]: {
          ...known.gateways[url],
          accessToken: last,
          refreshToken: 'taken-back',
          expiresAt: Date.now() + 3_600_000,
        },
      },
    }),
  );
  for (const command of ['whoami', 'token'])
    expect(await run(command)).toMatchObject({
      status: 4,
      output: expect.stringMatching(/^omnibus: the sign-in has ended; sign in again: omnibus login \S+$/) as string,
    });
});

it('nobody is sent to sign in where the tokens could not be kept', async () => {
  const file = join(folder, 'a-file');
  await writeFile(file, '');
  await using login = startProcess('node', [
    main,
    'login',
    `${own.front.url}/mcp`,
    '--no-browser',
    '--tokens',
    join(file, 'tokens.json'),
  ]);
  const ended = once(login.child, 'exit');
  await login.line(/tokens\.json cannot be written/);
  expect(await ended).toEqual([1, null]);
  expect(login.output()).not.toContain('sign in with your browser');
});

it('without a browser, a user signs in by a code that is typed on another device, after confirming the program', async () => {
  const url = `${own.front.url}/mcp`;
  const start = (): ReturnType<typeof startProcess> =>
    startProcess('node', [main, 'login', url, '--tokens', join(folder, 'device.json')], {
      DISPLAY: '',
      WAYLAND_DISPLAY: '',
      BROWSER: '',
    });
  const said = /open (\S+) anywhere and type ([A-Z]{4}-[A-Z]{4}), or open (\S+)/;
  await using running = start();
  const [, page = '', code = '', complete = ''] = await running.line(said);
  const browser = new Browser();
  expect((await browser.submit(await browser.open(page), '/device', { user_code: 'BBBB-BBBB' })).text).toContain(
    'There is no such code',
  );
  const typed = await browser.submit(await browser.open(page), '/device', { user_code: code.toLowerCase() });
  expect(typed.text).toContain(code);
  expect(typed.text).toContain('Omnibus command line');
  const consent = await browser.submit(await browser.submit(typed, '/device'), '/login', { ...ann });
  expect(consent.text).toContain('another device');
  expect((await browser.submit(consent, '/consent')).text).toContain('You have signed in');
  expect((await running.line(/signed in to .*/))[0]).toContain('as ann');
  expect((await browser.submit(await browser.open(page), '/device', { user_code: code })).text).toContain(
    'used already',
  );
  // A user that receives the code of another person declines.
  await using other = startProcess(
    'node',
    [main, 'stdio', '--connect', url, '--device', '--tokens', join(folder, 'no-device.json')],
    {},
    'pipe',
  );
  const [, , , theirs = ''] = await other.line(said);
  expect(complete).not.toBe(theirs);
  const filled = await browser.open(theirs);
  expect(filled.text).not.toContain('<script');
  const asked = await browser.submit(filled, '/device', {
    user_code: new URL(theirs).searchParams.get('user_code') ?? '',
  });
  expect((await browser.submit(asked, '/device', { abort: 'yes' })).text).toContain('It was refused');
  await other.line(/access_denied/);
});

it('a user signs in at the command line if another authorization server issues the tokens, even one with OpenID metadata only', async () => {
  const url = `${resource.front.url}/mcp`;
  foreign.hasOpenIdAlone = true;
  const running = startProcess('node', [main, 'login', url, '--no-browser', '--tokens', join(folder, 'foreign.json')]);
  const [, address] = (await running.line(/sign in with your browser: (\S+)/)) as unknown as [string, string];
  await walker.visit(new URL(address));
  expect((await running.line(/signed in to .*/))[0]).toContain('as una');
  foreign.hasOpenIdAlone = false;
});

it('the official conformance suite finds nothing wrong with the authorization server', async () => {
  const [port = 0] = await freePorts(1);
  const redirect = `http://127.0.0.1:${port}/callback`;
  const client = await OAuthClient.register(own.front.url, { redirect_uris: [redirect] });
  const results = join(folder, 'conformance');
  const running = startProcess('node', [
    suitePath('conformance-next'),
    'authorization',
    '--url',
    own.front.url,
    '--client-id',
    client.id,
    '--resource',
    `${own.front.url}/mcp`,
    '-p',
    String(port),
    '-o',
    results,
  ]);
  const ended = new Promise<number>((resolve) => {
    running.child.once('close', (code) => resolve(code ?? -1));
  });
  const [, address] = (await running.line(/(http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+)/)) as unknown as [
    string,
    string,
  ];
  const browser = new Browser();
  const page = await browser.submit(await browser.open(address), '/login', { ...ann });
  await browser.submit(page, '/consent');
  expect(await ended, running.output()).toBe(0);
  expect(running.output()).not.toMatch(/[1-9]\d* failed|SKIPPED/);
});
