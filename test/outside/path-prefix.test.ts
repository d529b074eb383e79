/** A gateway that stands below a path of its public address, behind a proxy that passes paths on unchanged. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Balancer } from '../support/balancer.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';
import { sdks, SdkUser } from '../support/sdk-user.ts';
import { bearer, Browser, OAuthClient, type Tokens } from '../support/sign-in.ts';
import { Upstream } from '../support/upstream.ts';
import { writeUsers } from '../support/users.ts';
import { Callback, fetchWalker } from '../support/walker.ts';

const password = 'correct horse battery staple';
const stack = new AsyncDisposableStack();
let front: Balancer;
let gateway: GatewayHere;
let base: string;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-prefix-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'users.yaml');
  await writeUsers(file, password, 'ann');
  const upstream = stack.use(await Upstream.start());
  front = stack.use(await Balancer.start());
  base = `${front.url}/team/a`;
  gateway = stack.use(
    await startGatewayHere('embedded', {
      publicUrl: `${base}/`,
      auth: { server: { users: { file } } },
      mcpServers: { up: { url: upstream.url } },
    }),
  );
  front.edges = [gateway.url];
});
afterAll(() => stack.disposeAsync());

const document = async (path: string): Promise<unknown> => {
  const answer = await fetch(`${front.url}${path}`);
  return answer.status === 200 ? answer.json() : answer.status;
};

it('the documents about it stand at the inserted path, and every address in them is below it', async () => {
  const resource = { resource: `${base}/mcp`, authorization_servers: [base] };
  expect(await document('/.well-known/oauth-protected-resource/team/a/mcp')).toMatchObject(resource);
  expect(await document('/.well-known/oauth-protected-resource/team/a')).toMatchObject(resource);
  expect(await document('/.well-known/oauth-protected-resource/team/a/mcp/up')).toMatchObject({
    resource: `${base}/mcp/up`,
  });
  for (const path of [
    '/.well-known/oauth-authorization-server/team/a',
    '/.well-known/openid-configuration/team/a',
    '/team/a/.well-known/openid-configuration',
  ]) {
    const said = (await document(path)) as Readonly<Record<string, unknown>>;
    expect(said, path).toMatchObject({
      issuer: base,
      token_endpoint: `${base}/token`,
      jwks_uri: `${base}/.well-known/jwks.json`,
    });
    for (const [, address] of JSON.stringify(said).matchAll(/"(https?:[^"]*)"/g))
      expect(address?.startsWith(base), address).toBe(true);
  }
  const refused = await fetch(`${base}/mcp`, { method: 'POST' });
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringContaining(`resource_metadata="${front.url}/.well-known/oauth-protected-resource/team/a/mcp"`),
  ]);
});

it.each([
  '/mcp',
  '/',
  '/team/mcp',
  '/team/ab/mcp',
  '/.well-known/oauth-protected-resource/mcp',
  '/authorize',
  '/account',
])('nothing is served at %s, which is not below it', async (path) => {
  const answer = await fetch(`${front.url}${path}`, { redirect: 'manual' });
  expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('/team/a/mcp')]);
});

it('the official client finds its authorization server, signs its user in and lists the tools', async () => {
  await using answers = await Callback.start();
  const kept = new SdkUser({ answers, walker: fetchWalker() }, { name: 'ann', password });
  expect(await sdks['SDK 1'](`${base}/mcp`, kept)).toEqual(expect.arrayContaining(['echo']));
  expect(kept.claims).toMatchObject({ iss: base, aud: `${base}/mcp` });
});

it('the account page, its forms and its cookies are below it', async () => {
  const browser = new Browser();
  const signedIn = await browser.submit(await browser.open(`${base}/account`), '/login', { name: 'ann', password });
  expect([signedIn.url.split('?')[0], signedIn.text.includes('Signed in as')]).toEqual([`${base}/account`, true]);
  expect(browser.cookiePaths.every((path) => path === '/team/a' || path.startsWith('/team/a/'))).toBe(true);
  await browser.submit(signedIn, '/account/sign-out');
  expect((await browser.open(`${base}/account`)).text).toContain('type="password"');
});

it('streams of HTTP+SSE name the address for messages below it, and WebSockets are served there', async () => {
  const client = await OAuthClient.register(base);
  const tokens: Tokens = await client.signIn(new Browser(), 'ann', password);
  using mcp = await RawClient.open(`${base}/mcp/up`, '2025-11-25', bearer(tokens));
  expect(await mcp.untilTools((names) => names.length > 0)).toBeDefined();
  const old = new Client({ name: 'old', version: '1' });
  await old.connect(
    new SSEClientTransport(new URL(`${base}/sse`), {
      requestInit: { headers: bearer(tokens) },
      eventSourceInit: {
        fetch: (address, init) => fetch(address, { ...init, headers: { ...init.headers, ...bearer(tokens) } }),
      },
    }),
  );
  expect((await old.listTools()).tools.length).toBeGreaterThan(0);
  await old.close();
  const statusOf = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${new URL(gateway.url).origin.replace('http', 'ws')}${path}`, {
        headers: bearer(tokens),
      });
      socket.once('open', () => {
        socket.close();
        resolve(101);
      });
      socket.once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode));
      socket.once('error', reject);
    });
  expect([await statusOf('/team/a/ws'), await statusOf('/ws')]).toEqual([101, 404]);
});
