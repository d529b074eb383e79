/** The console in a browser, with a gateway of three processes over a real NATS. Without Chromium, only its files are checked. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { isLongLane } from '../support/lane.ts';
import { fixturePath, root } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { chromiumPath, launch } from '../support/chromium.ts';
import { openConsole, type ConsolePage } from './browser.ts';

let gateway: GatewayHere;
let address: string;

const configured = (description: string, secret = 'very-secret'): object => ({
  mcpServers: {
    shop: { command: 'node', args: [fixturePath('shop-server')], description },
    evil: { command: 'node', args: [fixturePath('shop-server'), 'hostile'] },
    gone: { url: 'http://127.0.0.1:9/mcp', headers: { authorization: `Bearer ${secret}` } },
  },
  profiles: {
    lamps: { servers: ['shop'], tools: ['shop/stock'] },
    coder: { servers: ['shop'], listing: 'code' },
  },
});

beforeAll(async () => {
  execFileSync('node', [join(root, 'services/console/build.mjs')]);
  gateway = await startGatewayHere('nats', configured('lamps and tables'));
  address = await gateway.admin(gateway.edge);
});

afterAll(() => gateway[Symbol.asyncDispose]());

it('the page and its files are there, small enough to be read over a telephone', async () => {
  const page = await fetch(`http://${address}/`);
  expect(page.status).toBe(200);
  const text = await page.text();
  const files = [...text.matchAll(/(?:src|href)="\.(\/assets\/[^"]+)"/g)].map(([, path]) => path as string);
  expect(files.length).toBeGreaterThan(2);
  let bytes = 0;
  for (const path of files) {
    const file = await fetch(`http://${address}${path}`, { headers: { 'accept-encoding': 'gzip' } });
    expect(file.headers.get('cache-control')).toContain('immutable');
    bytes += Number(file.headers.get('content-length'));
  }
  expect(bytes).toBeLessThan(30_000);
  expect((await fetch(`http://${address}/assets/none.js`)).status).toBe(404);
});

it('what is tried is asked for by no page of others, bounded for each person, cancelled at any moment, and on record', async () => {
  const headers = { 'content-type': 'application/json', 'x-omnibus-console': '1' };
  const send = (path: string, body: object, more: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`http://${address}/api/v1/${path}`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify(body),
    });
  const refused = async (answer: Response): Promise<unknown> => [
    answer.status,
    ((await answer.json()) as { readonly reason: string }).reason,
  ];
  expect(
    await refused(
      await send('try', { name: 'shop__stock' }, { 'x-omnibus-console': '', origin: 'https://evil.example' }),
    ),
  ).toEqual([403, 'origin']);
  expect(
    await refused(
      await fetch(`http://${address}/api/v1/try`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      }),
    ),
  ).toEqual([403, 'header']);
  expect(await refused(await fetch(`http://${address}/api/v1/try`))).toEqual([405, 'method']);
  expect(await refused(await send('try', { name: 'x', arguments: '[1]' }))).toEqual([400, 'invalid']);
  expect(await refused(await send('try', { name: 'x', method: 'tools/list' }))).toEqual([400, 'invalid']);
  expect(await refused(await send('try', { name: 'x', endpoint: '../admin' }))).toEqual([400, 'invalid']);
  expect(await refused(await send('try', { name: 'x', endpoint: 'nowhere' }))).toEqual([403, 'forbidden']);
  expect(await refused(await send('try', { name: 'x', arguments: 'x'.repeat(1_100_000) }))).toEqual([413, 'large']);
  expect(await refused(await send(`try/${'0'.repeat(32)}/cancel`, {}))).toEqual([404, 'unknown']);
  const backend = await gateway.admin(gateway.backend);
  expect(
    await refused(
      await fetch(`http://${backend}/api/v1/try`, { method: 'POST', headers, body: '{"name":"shop__stock"}' }),
    ),
  ).toEqual([409, 'conflict']);
  // One person may have eight calls at once; the ninth waits until one of them has ended.
  const begun = await Promise.all(Array.from({ length: 9 }, () => send('try', { name: 'shop__book', may: ['forms'] })));
  expect(begun.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
    ...Array.from({ length: 8 }, () => 202),
    429,
  ]);
  const ids = (await Promise.all(
    begun.filter(({ status }) => status === 202).map((answer) => answer.json()),
  )) as readonly { readonly id: string }[];
  const { id } = ids[0] as { readonly id: string };
  expect(await refused(await send(`try/${id}/answer`, { key: '99', result: '{}' }))).toEqual([409, 'conflict']);
  for (const each of ids) expect((await send(`try/${each.id}/cancel`, {})).status).toBe(200);
  const told = await (await fetch(`http://${address}/api/v1/try/${id}/events`)).text();
  expect(told).toMatch(/event: failed\ndata: \{"problem":"it was cancelled"/);
  expect(gateway.edge.output()).toMatch(/"act":"try","by":"somebody on this machine".*"name":"shop__book"/);
});

it('under a prefix of somebody else in front, the page finds its files and its API', async () => {
  const front = createServer((request, response) => {
    void fetch(`http://${address}${(request.url ?? '').replace(/^\/tools\/omnibus/, '')}`, { redirect: 'manual' }).then(
      async (answer) =>
        response
          .writeHead(answer.status, {
            'content-type': answer.headers.get('content-type') ?? '',
            ...(answer.headers.has('location') ? { location: answer.headers.get('location') as string } : {}),
          })
          .end(await answer.text()),
    );
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  const page = `http://127.0.0.1:${(front.address() as AddressInfo).port}/tools/omnibus/`;
  const [, script] = /src="(\.\/assets\/[^"]+)"/.exec(await (await fetch(page)).text()) as unknown as [string, string];
  expect((await fetch(new URL(script, page))).status).toBe(200);
  expect((await fetch(new URL('./api/v1/overview', page))).status).toBe(200);
  expect((await fetch(new URL('./console', page))).url).toBe(page);
  front.close();
});

describe.runIf(chromiumPath !== undefined)('in a browser', () => {
  let browser: Browser;
  let seen: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  const open = async (hash: string, options: Parameters<typeof openConsole>[2] = {}): Promise<void> => {
    seen = await openConsole(browser, address, options);
    ({ page } = seen);
    await go(hash);
  };
  const go = async (hash: string): Promise<void> => {
    await page.goto(`http://${address}/#/${hash}`);
    await page.locator('main h1').waitFor();
  };
  beforeEach(() => open('overview'));
  afterEach(async () => {
    const { complaints, strangers } = seen;
    await seen.close();
    expect(complaints).toEqual([]);
    expect(strangers).toEqual([]);
  });

  /** Every view, with a text that appears only when its data are shown. */
  const views = [
    ['overview', 'server gone is down'],
    ['servers', 'shop'],
    ['servers/gone', 'cannot connect'],
    ['servers/shop', 'Program'],
    ['catalogue', 'shop__order'],
    ['catalogue/shop__order', 'Places an order'],
    ['try', 'shop__stock'],
    ['try/shop__order', 'customer'],
    ['try/shop__praise?kind=prompt', 'What is praised'],
    ['calls', 'No call has come since'],
    ['calls?outcome=failed', 'has failed'],
    ['sessions', 'No client is connected'],
    ['tokens', 'listing: search'],
    ['tokens/shop?endpoint=lamps', '› shop'],
    ['connect', 'Claude Code'],
    ['connect/cursor?endpoint=lamps', '.cursor/mcp.json'],
    ['connections', 'Nobody has signed in at a server'],
    ['topology', 'backend'],
    ['approvals', 'No call waits to be approved'],
    ['trust', 'compared with nothing'],
    ['trust/evil', 'costly schema'],
    ['policy', 'There are no rules'],
    ['keys', 'Keys are for the roles auditor and admin'],
    ['agents', 'This gateway has no file of agents'],
    ['audit', 'The audit is off'],
    ['configuration', 'mcpServers.shop'],
    ['nowhere', 'no such view'],
  ] as const;

  const widths = [1280, 800, 360] as const;
  /** What stands beyond the right edge of the page, or of a table. */
  // A table in details that are closed takes its width when they are opened.
  const beyond = `[document.documentElement, ...document.querySelectorAll('.table')]
    .filter((each) => each.scrollWidth > each.clientWidth && each.checkVisibility())
    .map((each) => \`\${each.getAttribute('aria-label') ?? 'page'}: \${each.scrollWidth} of \${each.clientWidth}\`)`;

  /** In the gate, axe looks at the widest screen by day and by night, and at the narrowest by day. */
  const findingsAt = async (width: number): Promise<readonly string[]> => {
    if (isLongLane || width === widths[0]) return seen.findings();
    return width === widths[2] ? seen.findings(['light']) : [];
  };

  it('every view shows what it is about without a lost column, and axe finds nothing, by day and by night, on wide and narrow screens', async () => {
    const found: string[] = [];
    for (const [hash, words] of views) {
      await go(hash);
      await page.locator('main').getByText(words).first().waitFor();
      for (const width of widths) {
        await page.setViewportSize({ width, height: 800 });
        // A chart takes its new width with the next picture.
        await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
        const problems = [...((await page.evaluate(beyond)) as string[]), ...(await findingsAt(width))];
        found.push(...problems.map((problem) => `${hash} at ${width}: ${problem}`));
      }
    }
    expect(found).toEqual([]);
    await page.getByRole('button', { name: 'Views' }).click();
    expect(await seen.findings()).toEqual([]);
    await page.getByRole('link', { name: 'Servers', exact: true }).click();
    await page.getByRole('heading', { name: 'Servers' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor();
    expect(await seen.findings()).toEqual([]);
  });

  it('a script is shown with its calls at every width, and axe finds nothing', async () => {
    await go('calls');
    await page.locator('.state').filter({ hasText: 'live' }).waitFor();
    using coder = await RawClient.open(`${gateway.url}/coder`);
    const calls = ['stock({ article: "lamp" })', 'refuse({})'].map(
      (call) => `await servers.shop.${call}.catch(() => 0);`,
    );
    await coder.callTool('run_code', { code: `${calls.join('\n')} return 1;` });
    await page.getByRole('row').filter({ hasText: 'run_code' }).getByRole('link').first().click();
    const inner = page.getByRole('region', { name: 'Calls of this run' });
    await inner.getByText('shop/stock').waitFor();
    await inner.getByText('tool failed').waitFor();
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      expect([...((await page.evaluate(beyond)) as string[]), ...(await findingsAt(width))]).toEqual([]);
    }
    await inner.getByRole('link').first().click();
    await page.getByText('Made by').waitFor();
  });

  it('a table is sorted by a column, downwards by a second click, and as the gateway has it by a third', async () => {
    await go('servers');
    const names = page.getByRole('region', { name: 'Servers' }).locator('tbody td:first-child');
    const sort = page.getByRole('columnheader', { name: 'Server', exact: false }).first().getByRole('button');
    await expect.poll(() => names.allInnerTexts()).toEqual(['gone', 'shop', 'evil']);
    await sort.click();
    await expect.poll(() => names.allInnerTexts()).toEqual(['evil', 'gone', 'shop']);
    await sort.click();
    await expect.poll(() => names.allInnerTexts()).toEqual(['shop', 'gone', 'evil']);
    await sort.click();
    await expect.poll(() => names.allInnerTexts()).toEqual(['gone', 'shop', 'evil']);
  });

  /** Presses the tab key until an element with this name has the focus. */
  const tabTo = async (name: RegExp): Promise<void> => {
    for (let step = 0; step < 80; step += 1) {
      await page.keyboard.press('Tab');
      const words = (await page.evaluate(
        `(() => { const at = document.activeElement; return at.getAttribute('role') === 'region' ? '' : [at.labels?.[0]?.textContent, at.getAttribute('aria-label'), at.textContent].filter(Boolean).join(' '); })()`,
      )) as string;
      if (name.test(words)) return;
    }
    throw new Error(`no key leads to ${String(name)}`);
  };

  it('with the keyboard alone a tool is found, called with a form, asks, is answered, and answers', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('heading', { name: 'Try' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('book');
    await page.getByRole('link', { name: 'shop__book' }).waitFor();
    await tabTo(/shop__book/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'shop__book' }).waitFor();
    await page.getByLabel('guests').waitFor();
    await tabTo(/guests/);
    await page.keyboard.type('two');
    await page.keyboard.press('Control+Enter');
    await page.getByText('this is no number').first().waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('2');
    await page.keyboard.press('Control+Enter');
    await page.getByText('When would you like to come?').waitFor();
    // The question gets the focus, so that a user of the keyboard need not search for it.
    await tabTo(/^Day/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await tabTo(/^Answer/);
    expect(await seen.findings()).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByText('booked for Friday').waitFor();
  });

  it('a form holds what a schema asks for: references, choices, lists, null; progress and the result are shown', async () => {
    await go('try/shop__order');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText(/customer: needed; lines: needed/).waitFor();
    await page.getByLabel('customer').fill('Ada');
    await page.getByRole('button', { name: 'Add to lines' }).click();
    await page.getByLabel('article').selectOption('chair');
    await page.getByLabel('pieces').fill('2');
    await page.getByRole('button', { name: 'Add address' }).click();
    await page.getByLabel('city').fill('Paris');
    await page.getByLabel('as').selectOption('send');
    await page.getByRole('button', { name: 'Add delivery' }).click();
    await page.getByLabel('days').fill('3');
    await page.getByRole('button', { name: 'null', exact: true }).click();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByRole('button', { name: 'structured' }).click();
    const said = JSON.parse(await page.locator('.result pre').innerText()) as object;
    expect(said).toEqual({
      customer: 'Ada',
      lines: [{ article: 'chair', pieces: 2 }],
      address: { city: 'Paris' },
      delivery: { days: 3 },
      note: null,
    });
  });

  it('results are pictures, tables and links with their target; a tool that fails is said to; what may destroy asks first', async () => {
    await go('try/shop__stock');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByRole('cell', { name: 'chair' }).waitFor();
    expect(
      await page.locator('figure img').evaluate((image: { readonly naturalWidth: number }) => image.naturalWidth),
    ).toBe(16);
    await page.getByRole('link', { name: 'https://shop.example/catalogue' }).waitFor();
    await go('try/shop__refuse');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('the tool says that it failed').waitFor();
    await go('try/shop__close_shop');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Call it' }).click();
    await page.getByText('done: close_shop').waitFor();
  });

  it.each(['constructor', '__proto__', 'nosuch'])('the address #/%s, which names no view, says so', async (view) => {
    await go(view);
    await page.getByText('Not here').first().waitFor();
    await go('servers');
    await page.getByRole('heading', { name: 'Servers' }).waitFor();
  });

  it('a server is added by a command that the page makes, and the page writes nothing', async () => {
    await go('servers');
    await page.getByRole('button', { name: 'Add a server…' }).click();
    await page.getByLabel('Name').fill('wi ki');
    await page.getByText('letters, digits').waitFor();
    await page.getByLabel('Name').fill('wiki');
    await page.getByLabel(/Address, or program/).fill('npx -y "a package"');
    await page.getByText(`omnibus add wiki -- npx -y 'a package'`).waitFor();
    expect(await seen.findings()).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Add a server…' }).waitFor();
  });

  it('a prompt is filled in with the suggestions of its server, and a resource and an address of a template are read', async () => {
    await go('try?kind=prompt');
    await page.getByRole('link', { name: 'shop__praise' }).click();
    await page.getByRole('button', { name: 'Suggest article' }).click();
    await page.getByRole('group', { name: 'Suggestions for article' }).getByRole('button', { name: 'chair' }).click();
    expect(await seen.findings()).toEqual([]);
    await page.getByRole('button', { name: 'Get', exact: true }).click();
    await page.locator('.result').getByText('Praise the chair plainly.').waitFor();
    await go('try?kind=template');
    await page.getByRole('link', { name: 'shop://articles/' }).click();
    await page.getByLabel('article', { exact: false }).first().fill('red lamp');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await page.locator('.result').getByText('all about shop://articles/red%20lamp').waitFor();
    await go('try/shop%3A%2F%2Fhours?kind=resource');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await page.locator('.result').getByText('from nine to six').waitFor();
  });

  it('a completion is written by hand, in either era, and a call is cancelled', async () => {
    await go('try/shop__slogan');
    await page.getByText(/As a client of/).click();
    const { length } = await page.getByLabel('Revision').locator('option').all();
    for (const index of [0, length - 1]) {
      await page.getByLabel('Revision').selectOption({ index });
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      await page.getByLabel(/Answer of the model/).fill(`Light ${index}`);
      await page.getByRole('button', { name: 'Send the answer' }).click();
      await page.locator('.result').getByText(`Light ${index}`).waitFor();
    }
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByLabel(/Answer of the model/).waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByText('cancelled').first().waitFor();
  });

  it('a call of somebody else is followed through every process, and made again, with the keyboard', async () => {
    await go('calls');
    await page.getByText('live').waitFor();
    using client = await RawClient.open(gateway.url);
    await expect
      .poll(async () => {
        await client.callTool('shop__stock', {});
        return page.getByRole('link', { name: /\d\d:\d\d:\d\d/ }).count();
      })
      .toBeGreaterThan(0);
    expect((await client.callTool('shop__refuse', {})).last.result).toMatchObject({ isError: true });
    await page.locator('td').getByText('tool failed').first().waitFor();
    await page.getByRole('button', { name: 'Pause' }).focus();
    await page.keyboard.press('Enter');
    await tabTo(/^\d\d:\d\d:\d\d/);
    await page.keyboard.press('Enter');
    const fall = page.getByRole('region', { name: 'Where the time went' });
    for (const what of ['request', 'exchange', 'server answers']) await fall.getByText(what).first().waitFor();
    expect(
      new Set((await fall.locator('tbody td:first-child').allInnerTexts()).map((name) => name.split('-')[0])),
    ).toEqual(new Set(['edge', 'session', 'backend']));
    expect(await seen.findings()).toEqual([]);
    await tabTo(/^Replay/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'shop__refuse' }).waitFor();
    await page.getByRole('button', { name: 'Call', exact: true }).press('Enter');
    await page.getByText('there is nothing left').waitFor();
  });

  it('whatever a server says is text: no markup, no script, no address that runs, nothing that hides', async () => {
    for (const hash of [
      'servers/evil',
      'catalogue?server=evil',
      'catalogue/evil__harmless',
      'catalogue/evil__long',
      'try/evil__harmless',
    ]) {
      await go(hash);
      await page.locator('main h1, main h2, main td').getByText(/evil/).first().waitFor();
    }
    await page.getByText('⟨U+202E⟩').first().waitFor();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.locator('.result').getByText('⟨U+202E⟩').first().waitFor();
    for (const way of ['structured', 'raw', 'shown'])
      await page.getByRole('button', { name: way, exact: true }).click();
    expect(await page.title()).toBe('Try – Omnibus');
    expect(await page.locator('main img, main script, main [href^="javascript"]').count()).toBe(0);
    expect(await seen.findings()).toEqual([]);
    await go('catalogue/evil__long');
    await page
      .getByRole('button', { name: /characters more/ })
      .first()
      .waitFor();
    expect(await page.evaluate('document.body.innerText.length')).toBeLessThan(20_000);
  });

  it('a server is restarted after a question, a secret is not shown, and the address of everything can be sent to somebody', async () => {
    await go('servers/shop');
    await page.getByRole('button', { name: 'Restart…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    await page.getByText('1 of 1 process connected to it anew.').waitFor();
    // The line comes by itself, over the stream.
    await page.locator('ol.lines').getByText('connected').nth(1).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => new URL(page.url()).hash).toBe('#/servers');
    // Only a process with backend connections resolves the headers that are sent to servers.
    await seen.close();
    seen = await openConsole(browser, await gateway.admin(gateway.backend));
    ({ page } = seen);
    await page.goto(`${page.url()}#/configuration?q=headers`);
    await page.getByText('•••').waitFor();
    await gateway.configure(configured('lamps alone', 'another-very-secret'));
    await page.getByText('The last change').click();
    const changes = page.getByRole('region', { name: 'The last change' });
    await changes.getByRole('row', { name: 'mcpServers.shop.description lamps and tables lamps alone' }).waitFor();
    await changes.getByRole('row', { name: 'mcpServers.gone.headers.authorization ••• •••' }).waitFor();
    expect(await seen.findings()).toEqual([]);
    expect(await page.content()).not.toContain('very-secret');
  });
});
