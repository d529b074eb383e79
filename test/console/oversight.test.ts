/** The views for those that look after others (Policy, Audit), in a browser, before a gateway that knows its callers: one process, and three over NATS. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { chromiumPath, launch } from '../support/chromium.ts';
import { openConsole, type ConsolePage } from './browser.ts';

describe.runIf(chromiumPath !== undefined).each(shapesOfLane)('in a browser, %s', (shape) => {
  let keys: Keys;
  let gateway: GatewayHere;
  let browser: Browser;
  let admin: string;
  let seen: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    keys = await Keys.makeOf({ ops: [], eve: [], vic: [], ann: ['support'] });
    gateway = await startGatewayHere(shape, {
      auth: { ...keys.auth, admin: { roles: { operator: ['key:ops'], auditor: ['key:eve'], viewer: ['key:vic'] } } },
      access: {
        rules: [
          { id: 'stock', who: 'group:support', allow: ['shop/stock'] },
          {
            id: 'orders',
            who: 'group:support',
            allow: ['shop/order'],
            args: { customer: { in: ['Ada'] } },
            because: 'only for Ada',
          },
          { id: 'never', who: 'everyone', deny: ['shop/close_*'] },
          { id: 'sold', who: 'everyone', label: 'shop/order', as: 'shop data' },
        ],
      },
      audit: {
        sinks: [
          shape === 'embedded' ? { kind: 'file', folder: 'audit' } : { kind: 'jetstream' },
          { kind: 'webhook', url: 'http://127.0.0.1:9/hook', optional: true },
        ],
      },
      mcpServers: { shop: { command: 'node', args: [fixturePath('shop-server')] } },
    });
    admin = await gateway.admin(gateway.edge);
    using client = await RawClient.open(gateway.url, undefined, keys.headersOf('ann'));
    await client.untilTools((names) => names.includes('stock'));
    expect((await client.callTool('stock', {})).last.result).toBeDefined();
    browser = await launch();
  });
  afterAll(async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
    await keys[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    const { complaints, strangers } = seen;
    await seen.close();
    expect({ complaints, strangers }).toEqual({ complaints: [], strangers: [] });
  });

  const open = async (subject: string, hash: string): Promise<void> => {
    const headers = keys.headersOf(subject) as { readonly authorization: string };
    seen = await openConsole(browser, admin, {}, `#token=${headers.authorization.slice('Bearer '.length)}`);
    ({ page } = seen);
    await page
      .locator('main')
      .getByText(/servers? are up/)
      .waitFor();
    await page.goto(`http://${admin}/#/${hash}`);
  };

  /** The width of the page in pixels on a screen of 360. */
  const widthAt360 = async (): Promise<unknown> => {
    const before = page.viewportSize();
    await page.setViewportSize({ width: 360, height: 700 });
    // Charts follow the width of the page a moment later.
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    const width = await page.evaluate('document.documentElement.scrollWidth');
    if (before !== null) await page.setViewportSize(before);
    return width;
  };

  it('the rules are shown to an auditor, with what they decide, which of them did, and what somebody is shown', async () => {
    await open('eve', 'policy');
    await page.getByRole('region', { name: 'Rules', exact: true }).getByText('customer is "Ada"').waitFor();
    expect(await seen.findings()).toEqual([]);
    const question = page.getByRole('form', { name: 'Question to the rules' });
    await question.getByLabel('Who').fill('group:support');
    await question.getByLabel('What').fill('shop/order');
    await question.getByLabel('Arguments').fill('{"customer": "Bob"}');
    await question.getByLabel('What').press('Enter');
    await page.getByText(/group:support shop\/order.*denied.*by the rule.*orders.*only for Ada/).waitFor();
    expect(await page.getByRole('region', { name: 'What each rule says' }).locator('tbody tr').allInnerTexts()).toEqual(
      [
        expect.stringMatching(/orders decided.*not met/),
        expect.stringMatching(/sold.*matches/),
        expect.stringMatching(/stock.*something else/),
        expect.stringMatching(/never.*something else/),
      ],
    );
    const view = page.getByRole('form', { name: 'Whose view' });
    await view.getByRole('textbox', { name: 'As' }).fill('group:support');
    await view.getByRole('button', { name: 'Show' }).click();
    const shown = page.getByRole('region', { name: 'What it is shown' });
    await shown.getByRole('row', { name: /stock.*allowed.*stock/ }).waitFor();
    await shown.getByRole('row', { name: /order.*denied.*depends on conditions/ }).waitFor();
    await view.getByLabel('Outcome').selectOption('hidden');
    await view.getByRole('button', { name: 'Show' }).click();
    await shown.getByRole('row', { name: /close_shop.*hidden.*never/ }).waitFor();
    expect(await shown.getByText('allowed').count()).toBe(0);
    expect(await seen.findings()).toEqual([]);
    expect(await widthAt360()).toBe(360);
  });

  it('whoever only looks at the state is shown no rules, and told why', async () => {
    await open('vic', 'policy');
    await page.getByText('The rules are for the roles operator, auditor and admin.').waitFor();
    expect(await seen.findings()).toEqual([]);
    await page.goto(`http://${admin}/#/configuration`);
    await page.getByRole('row', { name: /access\.rules.*•••/ }).waitFor();
    expect((await fetch(`http://${admin}/api/v1/policy`, { headers: keys.headersOf('vic') })).status).toBe(403);
  });

  it('an auditor finds a record, reads it whole, and has the chain of its writer verified; all of that is on record', async () => {
    await open('eve', 'audit?event=mcp.call&tool=stock');
    const records = page.getByRole('region', { name: 'Records' });
    const row = records.getByRole('row', { name: /mcp\.call.*ann.*shop.*stock.*ok/ });
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Search', exact: true }).click();
        await page.getByText(/records? read/).waitFor();
        return row.count();
      })
      .toBe(1);
    await page.getByText(/webhook http:\/\/127.0.0.1:9.*cannot be searched here/).waitFor();
    await row.getByRole('link').click();
    const chosen = page.getByRole('region', { name: 'The chosen record' });
    await chosen.getByText('as it was written').waitFor();
    await chosen.getByText('"omnibus.arguments_digest"').waitFor();
    await chosen.getByRole('button', { name: /Verify the whole chain/ }).press('Enter');
    await chosen.getByText('all as they were written').waitFor();
    await chosen.getByText('open').waitFor();
    expect(await seen.findings()).toEqual([]);
    expect(await widthAt360()).toBe(360);
    for (const [event, by] of [
      ['admin.audit.search', 'eve'],
      ['admin.audit.read', 'eve'],
      ['admin.audit.verify', 'eve'],
    ] as const) {
      await expect
        .poll(async () => {
          const said = (await (
            await fetch(`http://${admin}/api/v1/audit/records?event=${event}&who=${by}&limit=1`, {
              headers: keys.headersOf('eve'),
            })
          ).json()) as { readonly records: readonly object[] };
          return said.records.length;
        })
        .toBe(1);
    }
  });

  it('whoever is no auditor is told so, and is given no record', async () => {
    await open('ops', 'audit');
    await page.getByText('Audit records are for the roles auditor and admin.').waitFor();
    expect(await seen.findings()).toEqual([]);
    for (const path of ['records', 'record?source=nats&at=x', 'verify?source=nats&writer=x'])
      expect((await fetch(`http://${admin}/api/v1/audit/${path}`, { headers: keys.headersOf('ops') })).status).toBe(
        403,
      );
  });

  it('the calls of the last half hour are drawn, said in a sentence, and in a table, of all servers and of one', async () => {
    // The first step ends at most ten seconds after the call.
    await expect
      .poll(async () => {
        const { points } = (await (
          await fetch(`http://${admin}/api/v1/metrics/history`, { headers: keys.headersOf('ops') })
        ).json()) as { readonly points: readonly { readonly calls: number }[] };
        return points.reduce((sum, { calls }) => sum + calls, 0);
      })
      .toBeGreaterThan(0);
    await open('ops', 'overview');
    for (const hash of ['overview', 'servers/shop']) {
      await page.goto(`http://${admin}/#/${hash}`);
      const rates = page.getByRole('region', { name: 'Rates', exact: true });
      await rates.getByText(/[1-9]\d* calls? in the last .*at most 0\.\d a second/).waitFor();
      expect(await rates.getByRole('img').count()).toBe(2);
      await expect.poll(() => rates.locator('canvas').count()).toBe(2);
      await rates.getByText('As a table').click();
      await rates.getByRole('region', { name: 'Rates as a table' }).getByRole('row').nth(1).waitFor();
      expect(await seen.findings()).toEqual([]);
      expect(await widthAt360()).toBe(360);
    }
  });

  it('an operator pauses a server with the keyboard: callers are told, everybody sees it, and it is resumed; all of that is on record', async () => {
    using client = await RawClient.open(gateway.url, undefined, keys.headersOf('ann'));
    await client.untilTools((names) => names.includes('stock'));
    await open('ops', 'servers/shop');
    await page.getByRole('button', { name: 'Pause…' }).press('Enter');
    await page
      .getByRole('dialog', { name: 'Pause shop?' })
      .getByRole('button', { name: 'Pause', exact: true })
      .press('Enter');
    await page.getByText(/Paused by .*key.*ops/).waitFor();
    await page.getByRole('row', { name: /shop.*paused/ }).waitFor();
    expect(await seen.findings()).toEqual([]);
    // Session workers hear of it by themselves.
    await expect
      .poll(async () => (await client.callTool('stock', {})).last.error?.data)
      .toMatchObject({ reason: 'upstream.paused', retry: 'same' });
    await page.goto(`http://${admin}/#/overview`);
    await page.getByText(/server shop is paused by/).waitFor();
    expect(await (await fetch(`http://${admin}/metrics`)).text()).toContain('omnibus_upstream_paused{server="shop"} 1');
    await page.goto(`http://${admin}/#/servers/shop`);
    await page.getByRole('button', { name: 'Resume' }).press('Enter');
    await page.getByText('It is not paused any more.').waitFor();
    await expect.poll(async () => (await client.callTool('stock', {})).last.result).toBeDefined();
    for (const event of ['admin.pause', 'admin.resume']) {
      await expect
        .poll(async () => {
          const said = (await (
            await fetch(`http://${admin}/api/v1/audit/records?event=${event}&who=ops`, {
              headers: keys.headersOf('eve'),
            })
          ).json()) as { readonly records: readonly object[] };
          return said.records.length;
        })
        .toBe(1);
    }
    const pauseBy = (subject: string): Promise<Response> =>
      fetch(`http://${admin}/api/v1/servers/shop/pause`, {
        method: 'POST',
        headers: { ...keys.headersOf(subject), 'content-type': 'application/json', 'x-omnibus-console': '1' },
        body: '{}',
      });
    expect([(await pauseBy('eve')).status, (await pauseBy('vic')).status]).toEqual([403, 403]);
  });

  it('the labels of a conversation are shown with the result that added them, and an operator clears one with a reason', async () => {
    using client = await RawClient.open(gateway.url, undefined, keys.headersOf('ann'));
    expect((await client.callTool('order', { customer: 'Ada' })).last.result).toBeDefined();
    await open('vic', 'sessions');
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    expect(await page.getByText('shop data').count()).toBe(0);
    await seen.close();
    await open('ops', 'sessions');
    const labels = page.getByRole('region', { name: 'Labels', exact: true });
    await labels.getByRole('row', { name: /shop data.*shop\/order.*omnibus:keys\|ann/ }).waitFor();
    expect(await seen.findings()).toEqual([]);
    await labels
      .getByRole('button', { name: /Clear shop data/ })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Clear it' }).click();
    await dialog.getByText('Write the reason').waitFor();
    await dialog.getByLabel('Reason').fill('counted by hand');
    expect(await seen.findings()).toEqual([]);
    await dialog.getByRole('button', { name: 'Clear it' }).click();
    await page.getByText('The label shop data is cleared.').waitFor();
    expect(await widthAt360()).toBe(360);
  });
});
