/** Users of the gateway's own authorization server sign in for a server: the page knows the user of the browser. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Balancer } from '../support/balancer.ts';
import { startGateway } from '../support/gateway.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { omnibusProgram, startProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { bearer, Browser, OAuthClient, type Page } from '../support/sign-in.ts';

const password = 'correct horse battery staple';
const users = ['ann', 'ben'] as const;

const stack = new AsyncDisposableStack();
let server: PersonalServer;
let address: string;
let file: string;
const browsers = new Map<string, Browser>();
const clients = new Map<string, RawClient>();
const clientOf = (user: string): RawClient => clients.get(user) as RawClient;
const browserOf = (user: string): Browser => browsers.get(user) as Browser;
const textOf = async (call: ReturnType<RawClient['callTool']>): Promise<string> => ((await call).last.result?.['content'] as readonly { readonly text: string }[])[0]?.text ?? '';

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-browser-'));
  stack.defer(() => rm(folder, { recursive: true }));
  file = join(folder, 'users.yaml');
  for (const user of users) {
    const added = startProcess('node', [omnibusProgram, 'users', 'add', user, '--file', file], {}, 'pipe');
    added.child.stdin?.end(`${password}\n`);
    await once(added.child, 'close');
  }
  server = stack.use(await PersonalServer.start());
  const front = stack.use(await Balancer.start());
  const gateway = stack.use(await startGateway('embedded', {
    publicUrl: front.url, auth: { server: { users: { file } } }, vault: { file: join(folder, 'vault.json') },
    mcpServers: { personal: { url: server.url, restart: { minDelay: '50ms', maxDelay: '200ms' }, credentials: { kind: 'oauth' } } },
  }));
  front.edges = [gateway.url];
  for (const user of users) {
    const browser = new Browser();
    const tokens = await (await OAuthClient.register(front.url)).signIn(browser, user, password);
    browsers.set(user, browser);
    clients.set(user, stack.use(await RawClient.open(`${front.url}/mcp`, '2025-11-25', bearer(tokens))));
  }
  address = /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(await textOf(clientOf('ann').callTool('connect')))?.[0] ?? '';
});
afterAll(() => stack.disposeAsync());

/** Presses the button of the page, and signs in at the issuer as that user. */
async function goOn(browser: Browser, page: Page, user: string): Promise<Page> {
  const leaving = await browser.open(page.url, `${server.origin}/authorize`, {});
  return browser.open(server.signsInAs(user)(leaving.url));
}

it('another user of the gateway who opens the address sees nothing of it, and cannot sign in there', async () => {
  const page = await browserOf('ben').open(address);
  expect([page.status, page.text]).toEqual([403, expect.stringContaining('for somebody else')]);
  expect((await browserOf('ben').open(address, undefined, {})).status).toBe(403);
});

it('a browser that is not signed in is sent to sign in to the gateway, and is then known', async () => {
  for (const [user, status] of [['ben', 403], ['ann', 200]] as const) {
    const browser = new Browser();
    const page = await browser.submit(await browser.open(address), '/login', { name: user, password });
    expect([page.url, page.status]).toEqual([address, status]);
  }
});

it('the user whom the address was given to signs in without a code, in any browser that is signed in to the gateway', async () => {
  const page = await browserOf('ann').open(address);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('only you can use here')]);
  expect(await goOn(browserOf('ann'), page, 'ann at the server')).toMatchObject({ status: 200, text: expect.stringContaining('You are signed in') as string });
  expect(await clientOf('ann').untilTools((names) => names.includes('whose'))).toHaveLength(2);
  expect(await textOf(clientOf('ann').callTool('whose', { mark: '1' }))).toBe('ann at the server 1');
  expect(await clientOf('ben').toolNames()).toEqual(['connect']);
});

it('an address that was used is invalid for everybody', async () => {
  expect((await browserOf('ann').open(address)).status).toBe(404);
});

it('what a user has connected is ended with the user, at the issuer too', async () => {
  const before = server.revoked.length;
  const removed = startProcess('node', [omnibusProgram, 'users', 'remove', 'ann', '--file', file]);
  await once(removed.child, 'close');
  await expect.poll(() => server.revoked.length, { timeout: 10_000 }).toBe(before + 1);
});
