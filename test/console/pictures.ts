/** Takes the screenshots of the console for the README and docs/console.md, of a running gateway: `npm run pictures`. No test compares them. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startGateway } from '../support/gateway.ts';
import { fixturePath, root } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { chromiumPath, launch, openConsole } from './browser.ts';

interface Picture {
  readonly name: string;
  readonly hash: string;
  readonly colorScheme: 'light' | 'dark';
  /** Actions before the screenshot. */
  readonly act: (page: Page) => Promise<void>;
}

const pictures: readonly Picture[] = [
  { name: 'overview', hash: 'overview', colorScheme: 'light', async act(page) {
    await page.getByText('3 of 4').waitFor();
    await page.getByText('shop/stock').first().waitFor();
  } },
  { name: 'servers', hash: 'servers/tickets', colorScheme: 'dark', act: (page) => page.getByText('Processes').or(page.getByText('Connections')).first().waitFor() },
  { name: 'catalogue', hash: 'catalogue/shop__order?q=shop', colorScheme: 'light', act: (page) => page.getByText('Places an order').first().waitFor() },
  {
    name: 'try', hash: 'try/shop__book', colorScheme: 'dark',
    async act(page) {
      await page.getByLabel('guests').fill('2');
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      await page.getByLabel('Day').selectOption('Friday');
      await page.getByRole('button', { name: 'Answer', exact: true }).scrollIntoViewIfNeeded();
    },
  },
];

if (chromiumPath === undefined) throw new Error('there is no Chromium: install it (Debian: apt-get install chromium), or name one in OMNIBUS_CHROMIUM');
const folder = join(root, 'docs/pictures');
await mkdir(folder, { recursive: true });
const program = (path: string, ...args: readonly string[]) => ({ command: 'node', args: [path, ...args] });
const published = (name: string): string => join(root, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
await using gateway = await startGateway('nats', {
  mcpServers: { shop: program(fixturePath('shop-server')), garden: program(fixturePath('shop-server')), memory: program(published('memory')), tickets: { url: 'http://127.0.0.1:9/mcp' } },
});
using client = await RawClient.open(gateway.url);
await client.untilTools((names) => names.includes('shop__stock') && names.includes('garden__stock'));
for (const [name, args] of [['shop__stock', {}], ['garden__stock', {}], ['memory__read_graph', {}], ['shop__refuse', {}]] as const) await client.callTool(name, args);
const browser = await launch();
const address = await gateway.admin(gateway.edge);
for (const { name, hash, colorScheme, act } of pictures) {
  const seen = await openConsole(browser, address, { colorScheme, viewport: { width: 1080, height: 720 } });
  const { page, complaints } = seen;
  await page.goto(`http://${address}/#/${hash}`);
  await act(page);
  await page.evaluate('document.activeElement?.blur()');
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled', caret: 'hide' });
  if (complaints.length > 0) throw new Error(`the console complains: ${complaints.join('; ')}`);
  await seen.close();
}
await browser.close();
console.log(`${pictures.map(({ name }) => `docs/pictures/${name}.png`).join(', ')} are new`);
