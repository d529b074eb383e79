/** Signing in at the console as at any MCP client: at the gateway's own authorization server, in a browser, before the admin port of a process without it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf, formatUsers, leastCost } from '@omnibus/authorization';
import { Balancer } from '../support/balancer.ts';
import { ForeignProvider } from '../support/foreign-provider.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { typePassword, type User } from '../support/walker.ts';
import { chromiumPath, launch } from '../support/chromium.ts';
import { openConsole, type ConsolePage } from './browser.ts';

const ann: User = { name: 'ann', password: 'correct horse battery staple' };
const bob: User = { name: 'bob', password: 'another horse battery staple' };

describe.runIf(chromiumPath !== undefined)('in a browser', () => {
  let folder: string;
  let front: Balancer;
  let gateway: GatewayHere;
  let admin: string;
  let browser: Browser;
  let seen: ConsolePage;
  let page: Page;

  const usersOf = async (...users: readonly User[]): Promise<void> =>
    writeFile(
      join(folder, 'users.yaml'),
      formatUsers(
        await Promise.all(
          users.map(async ({ name, password }) => ({
            name,
            password: await digestOf(password, leastCost),
            groups: [name === 'ann' ? 'people' : 'others'],
          })),
        ),
      ),
    );
  const main = (): ReturnType<Page['locator']> => page.locator('main');
  const asks = (): Promise<void> => page.getByRole('heading', { name: 'Who is asking?' }).waitFor();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-console-'));
    await usersOf(ann, bob);
    front = await Balancer.start();
    gateway = await startGatewayHere('nats', {
      publicUrl: front.url,
      mcpServers: {},
      auth: {
        scopes: ['mcp'],
        server: { users: { file: join(folder, 'users.yaml') } },
        admin: { roles: { viewer: ['group:people'] } },
      },
    });
    front.edges = [gateway.url];
    const [, session] = gateway.processes;
    admin = await gateway.admin(session as typeof gateway.edge);
    browser = await launch();
  });
  afterAll(async () => {
    await browser.close();
    for (const each of [gateway, front]) await each[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  beforeEach(async () => {
    seen = await openConsole(browser, admin);
    ({ page } = seen);
    await asks();
  });
  afterEach(async () => {
    const { complaints, strangers } = seen;
    await seen.close();
    // What the browser itself logs about a refused request, and about an icon that the pages of the gateway do not have.
    expect(complaints.filter((text) => !/Failed to load resource/.test(text))).toEqual([]);
    expect(strangers.filter((address) => new URL(address).origin !== front.url)).toEqual([]);
  });

  it('a user comes back to his view with a token that is in the memory of the tab alone, replaced when it is not accepted any more, and gone with the sign-in', async () => {
    expect(await seen.findings()).toEqual([]);
    await page.goto(`http://${admin}/#/topology`);
    await asks();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await typePassword(page, ann);
    await page.getByText('permission to administer the gateway').waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Topology' }).waitFor();
    await main().getByText('session').first().waitFor();
    expect(await page.getByRole('group', { name: 'You' }).innerText()).toMatch(/^ann viewer\s+Sign out$/);
    expect(page.url()).toBe(`http://${admin}/#/topology`);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await seen.findings()).toEqual([]);
    await page.setViewportSize({ width: 1200, height: 800 });
    expect(await seen.findings()).toEqual([]);
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
    expect([kept, (await page.context().cookies(`http://${admin}/`)).filter(({ domain }) => domain === admin)]).toEqual(
      ['[{},{},""]', []],
    );

    // One request arrives with a token that is not accepted, as each does when the token has expired.
    const renewed = page.waitForResponse((response) => response.url() === `${front.url}/token`);
    await page.route(
      '**/api/v1/overview',
      (route) => route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer expired' } }),
      { times: 1 },
    );
    const renewal = await renewed;
    expect([new URLSearchParams(renewal.request().postData() ?? '').get('grant_type'), renewal.status()]).toEqual([
      'refresh_token',
      200,
    ]);
    await page.waitForResponse(
      (response) => response.url() === `http://${admin}/api/v1/overview` && response.status() === 200,
    );
    expect(await page.getByRole('heading', { name: 'Topology' }).count()).toBe(1);

    await page.reload();
    await asks();
    // The browser is still signed in at the gateway, so that its user has only to allow.
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Topology' }).waitFor();
    await usersOf(bob);
    await asks();
    await usersOf(ann, bob);

    // The answers for one user are not shown to the next one, whom the gateway may tell nothing.
    const you = page.getByRole('group', { name: 'You' });
    await you.getByText('ann').waitFor();
    await page.evaluate("location.hash = '#token=of-another-user'");
    await you.getByText('ann').waitFor({ state: 'detached' });
    await asks();
    expect(await you.innerText()).toBe('Sign out');
  });

  it('a user without a role reads so and signs out, and another user may refuse', async () => {
    await page.getByRole('button', { name: 'Sign in' }).click();
    await typePassword(page, bob);
    await page.getByRole('button', { name: 'Allow' }).click();
    await main().getByText('has no role here').first().waitFor();
    expect(await seen.findings()).toEqual([]);

    // The gateway's own session continues, and the next sign-in asks for a name all the same.
    await page.getByRole('button', { name: 'Sign out' }).click();
    await asks();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Password').waitFor();
    // So does one after a sign-in that was begun and left.
    await page.goto(`http://${admin}/`);
    await asks();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await typePassword(page, ann);
    await page.getByRole('button', { name: 'Refuse' }).click();
    await main().getByText('the user has refused').waitFor();
  });

  it('an answer that this tab has not asked for is not used, and leaves the address', async () => {
    await page.goto(`http://${admin}/?code=of-somebody-else&state=x&iss=${encodeURIComponent(front.url)}#/servers`);
    await main().getByText('This tab has not begun').waitFor();
    expect(page.url()).toBe(`http://${admin}/`);
    expect(seen.strangers.filter((address) => address.startsWith(`${front.url}/token`))).toEqual([]);
  });

  it('a user signs in at another issuer too, at which the page is registered', async () => {
    await using stack = new AsyncDisposableStack();
    const foreign = stack.use(await ForeignProvider.start());
    const edge = stack.use(await Balancer.start());
    const elsewhere = stack.use(
      await startGatewayHere('embedded', {
        publicUrl: edge.url,
        mcpServers: {},
        auth: {
          issuers: [{ issuer: foreign.issuer }],
          scopes: ['mcp'],
          admin: { roles: { viewer: [`${foreign.issuer}|una`] }, scope: 'mcp', clientId: 'page' },
        },
      }),
    );
    edge.edges = [elsewhere.url];
    const port = await elsewhere.admin(elsewhere.edge);
    foreign.serve({
      user: 'una',
      redirectUris: ['http://127.0.0.1:7/callback'],
      resources: [`${edge.url}/mcp`],
      pages: [`http://${port}/`],
    });
    foreign.hasOpenIdAlone = true;
    const other = await openConsole(browser, port);
    stack.defer(() => other.close());
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByRole('heading', { name: 'Overview' }).waitFor();
    const renewed = other.page.waitForResponse((response) => response.url() === `${foreign.issuer}/token`);
    await other.page.route(
      '**/api/v1/overview',
      (route) => route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer expired' } }),
      { times: 1 },
    );
    expect((await renewed).status()).toBe(200);
    // The document that OAuth has for metadata is not there, and is not shown to pages.
    expect(other.complaints.filter((text) => !/Failed to load resource|blocked by CORS policy/.test(text))).toEqual([]);
  });
});
