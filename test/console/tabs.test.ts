/** The console in a browser, before one process that knows its callers: signing in, links to open, several tabs, a gateway that is started again, and ten thousand tools. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { writeConfig } from '../support/gateway.ts';
import { Keys } from '../support/keys.ts';
import { end, fixturePath, omnibusProgram, startProcess, type RunningProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';
import { chromiumPath, launch } from '../support/chromium.ts';
import { openConsole, type ConsolePage } from './browser.ts';

const many = 10_000;

async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
}

describe.runIf(chromiumPath !== undefined)('in a browser', () => {
  let keys: Keys;
  let upstream: Upstream;
  let browser: Browser;
  let running: RunningProcess;
  let file: string;
  let listen: string;
  let admin: string;
  let seen: ConsolePage;
  let page: Page;

  const serve = async (): Promise<void> => {
    running = startProcess('node', [omnibusProgram, 'serve', '--config', file, '--listen', listen, '--admin', admin]);
    await running.line(/"msg":"ready"/);
  };
  beforeAll(async () => {
    keys = await Keys.make('ops', 'nobody');
    upstream = await Upstream.start({
      tools: Array.from({ length: many }, (_, number) => tool(`tool-${String(number).padStart(5, '0')}`)),
    });
    [listen, admin] = [await freeAddress(), await freeAddress()];
    file = await writeConfig({
      auth: { ...keys.auth, admin: { roles: { operator: ['key:ops'] } } },
      mcpServers: { shop: { command: 'node', args: [fixturePath('shop-server')] }, big: { url: upstream.url } },
    });
    await serve();
    browser = await launch();
  });
  afterAll(async () => {
    await browser.close();
    await end(running, 'SIGTERM');
    await upstream[Symbol.asyncDispose]();
    await keys[Symbol.asyncDispose]();
  });

  const tokenOf = (subject: string): string =>
    (keys.headersOf(subject)['authorization'] as string).slice('Bearer '.length);
  /** Opens the page with a key in the address, as `omnibus serve` could print it. */
  const open = async (hash = 'overview'): Promise<void> => {
    seen = await openConsole(browser, admin);
    ({ page } = seen);
    await page.goto(`http://${admin}/?#token=${tokenOf('ops')}`);
    await page.locator('main').getByText('servers are up').waitFor();
    await go(page, hash);
  };
  /** Changes the view within the page, which keeps the key. */
  const go = async (of: Page, hash: string): Promise<void> => {
    await of.evaluate(`location.hash = '#/${hash}'`);
    await of.locator('main h1').waitFor();
  };
  /** What the browser itself logs about a refused or failed request. */
  const expected = /Failed to load resource/;
  afterEach(async () => {
    const { complaints, strangers } = seen;
    await seen.close();
    expect(complaints.filter((text) => !expected.test(text))).toEqual([]);
    expect(strangers).toEqual([]);
  });

  it('a key in the address signs in, leaves the address, and is stored nowhere', async () => {
    await open();
    expect(new URL(page.url()).hash).toBe('#/overview');
    expect(await page.title()).toBe('Overview – Omnibus');
    await page.evaluate(`location.hash = '#token=${tokenOf('ops')}'`);
    await expect.poll(() => new URL(page.url()).hash).toBe('#/overview');
    expect(await page.getByRole('heading', { name: 'Overview' }).count()).toBe(1);
    expect(
      await page.evaluate(
        'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, performance.getEntriesByType("resource").map(({ name }) => name)])',
      ),
    ).not.toContain(tokenOf('ops'));
    expect(await page.getByText('answered by').count()).toBe(1);
  });

  it('without a key the page asks for one; one that is not known, or permits nothing, is refused in words', async () => {
    seen = await openConsole(browser, admin);
    ({ page } = seen);
    await page.getByRole('heading', { name: 'Who is asking?' }).waitFor();
    expect(await seen.findings()).toEqual([]);
    await page.getByLabel('API key or access token').fill('omk_000000000000_wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').first().waitFor();
    await page.getByLabel('API key or access token').fill(tokenOf('ops'));
    await page.keyboard.press('Enter');
    await page.locator('main').getByText('servers are up').waitFor();
  });

  it('a server that sends its user to a page of its own is answered in the page, which shows where the link leads and opens nothing by itself', async () => {
    await open('try/shop__pay');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('Confirm it at your bank.').waitFor();
    const link = page.getByRole('link', { name: 'https://bank.example/confirm?order=7' });
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
    expect(await seen.findings()).toEqual([]);
    expect(page.context().pages()).toHaveLength(1);
    await page.getByRole('button', { name: 'I have opened it' }).click();
    await page.locator('.result').getByText('paid').waitFor();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.locator('.result').getByText('not paid: decline').waitFor();
  });

  it('two tabs watch at the same time, and a call that waits for its client is shown in both, with what it waits for', async () => {
    await open('calls');
    const other = await page.context().newPage();
    await other.goto(`http://${admin}/?#token=${tokenOf('ops')}`);
    await go(other, 'calls');
    for (const tab of [page, other]) await tab.getByText('live').waitFor();
    const third = await page.context().newPage();
    await third.goto(`http://${admin}/?#token=${tokenOf('ops')}`);
    await go(third, 'try/shop__book');
    await third.getByRole('button', { name: 'Call', exact: true }).click();
    await third.getByText('When would you like to come?').waitFor();
    for (const tab of [page, other])
      await tab.getByRole('region', { name: 'Calls' }).getByText('waits for its client').waitFor();
    await third.getByLabel('Day').selectOption('Friday');
    await third.getByRole('button', { name: 'Answer', exact: true }).click();
    await third.getByText('booked for Friday').waitFor();
    for (const tab of [page, other]) await tab.getByRole('row', { name: /shop\/book.*result/ }).waitFor();
  });

  it('when the gateway is started anew, the page says that it does not answer, and goes on by itself when it does', async () => {
    await open('servers');
    await end(running, 'SIGTERM');
    await page.getByRole('banner').getByText('no answer').waitFor();
    await serve();
    await page.getByText(/The gateway answers again.*It was started anew/).waitFor();
    await page.locator('main').getByText('shop').first().waitFor();
    expect(await seen.findings()).toEqual([]);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    expect(await page.getByText('The gateway answers again').count()).toBe(0);
  });

  it('when the gateway hangs, the page says how old its figures are, and once it goes on, that they are new', async () => {
    await open();
    await page.getByRole('banner').getByText('updated now').waitFor();
    running.kill('SIGSTOP');
    try {
      const aged = page.getByRole('banner').getByText(/not updated for \d+ s/);
      await aged.waitFor();
    } finally {
      running.kill('SIGCONT');
    }
    await page.getByRole('banner').getByText('updated now').waitFor();
  });

  it('every view says that another program answers, and claims nothing of rights that are not known', async () => {
    for (const [answer, words] of [
      [
        { status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' },
        'What answered 502 is not the gateway.',
      ],
      [{ status: 200, contentType: 'application/json', body: '' }, 'this is no JSON'],
    ] as const) {
      const context = await browser.newContext();
      const alone = await context.newPage();
      await alone.route(/\/api\/v1\//, (route) => route.fulfill(answer));
      for (const view of ['overview', 'servers', 'calls', 'policy', 'audit', 'configuration']) {
        await alone.goto(`http://${admin}/#/${view}`);
        await alone.locator('main').getByText(words).first().waitFor();
        expect(await alone.locator('main').innerText()).not.toContain('may not');
      }
      await context.close();
    }
  });

  it('of ten thousand tools a page is drawn, a search finds one, and the address of one opens it', async () => {
    await open('catalogue');
    using client = await RawClient.open(`http://${listen}/mcp`, undefined, keys.headersOf('ops'));
    await client.untilTools((names) => names.length > 0);
    await page.getByText(/More \(100 of 10,0\d\d\)/).waitFor();
    expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(3_000);
    await page.getByLabel('Search').fill('tool-09876');
    await page.getByRole('link', { name: 'big__tool-09876', exact: true }).waitFor();
    expect(await page.locator('main tbody tr').count()).toBe(1);
    await go(page, 'catalogue/big__tool-09999');
    await page.getByRole('region', { name: 'The chosen entry' }).getByText('Schema of what it takes').waitFor();
    await go(page, 'try');
    await page.getByLabel('Search').fill('tool-01234');
    await page.getByRole('link', { name: 'big__tool-01234', exact: true }).waitFor();
  });
});
