/** The views for those who look after others (Policy), in a browser, before a gateway that knows its callers: one process, and three over NATS. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { shapes, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { Keys } from '../support/keys.ts';
import { fixturePath } from '../support/processes.ts';
import { chromiumPath, launch, openConsole, type ConsolePage } from './browser.ts';

describe.runIf(chromiumPath !== undefined).each(shapes)('in a browser, %s', (shape) => {
  let keys: Keys;
  let gateway: GatewayUnderTest;
  let browser: Browser;
  let admin: string;
  let seen: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    keys = await Keys.makeOf({ ops: [], eve: [], vic: [], ann: ['support'] });
    gateway = await startGateway(shape, {
      auth: { ...keys.auth, admin: { roles: { operator: ['key:ops'], auditor: ['key:eve'], viewer: ['key:vic'] } } },
      access: { rules: [
        { id: 'stock', who: 'group:support', allow: ['shop/stock'] }, { id: 'orders', who: 'group:support', allow: ['shop/order'], args: { customer: { in: ['Ada'] } }, because: 'only for Ada' },
        { id: 'never', who: 'everyone', deny: ['shop/close_*'] },
      ] },
      mcpServers: { shop: { command: 'node', args: [fixturePath('shop-server')] } },
    });
    admin = await gateway.admin(gateway.edge);
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
    await page.locator('main').getByText(/servers? are up/).waitFor();
    await page.goto(`http://${admin}/#/${hash}`);
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
    expect(await page.getByRole('region', { name: 'What each rule says' }).locator('tbody tr').allInnerTexts()).toEqual([expect.stringMatching(/orders decided.*not met/), expect.stringMatching(/stock.*something else/), expect.stringMatching(/never.*something else/)]);
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
  });

  it('whoever only looks at the state is shown no rules, and told why', async () => {
    await open('vic', 'policy');
    await page.getByText('The rules are for the roles operator, auditor and admin.').waitFor();
    expect(await seen.findings()).toEqual([]);
    await page.goto(`http://${admin}/#/configuration`);
    await page.getByRole('row', { name: /access\.rules.*•••/ }).waitFor();
    expect((await fetch(`http://${admin}/api/v1/policy`, { headers: keys.headersOf('vic') })).status).toBe(403);
  });
});
