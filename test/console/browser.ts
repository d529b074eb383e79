/** A browser in front of the console: what it complains of, whom it asks, and what axe finds. */
import { spawnSync } from 'node:child_process';
import axe from 'axe-core';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

const programs = [process.env['OMNIBUS_CHROMIUM'], 'chromium', 'chromium-browser', 'google-chrome'].filter((name) => name !== undefined && name !== '') as readonly string[];

/** Where Chromium is; undefined where there is none. */
export const chromiumPath = programs.map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim()).find((path) => path !== '');

export interface ConsolePage {
  readonly page: Page;
  /** Errors of scripts, broken policies, and refused resources. Nothing is expected to be here. */
  readonly complaints: readonly string[];
  /** Whom the page asked, besides the gateway. */
  readonly strangers: readonly string[];
  /** What axe finds now, in words, by day and by night. */
  findings(): Promise<readonly string[]>;
  close(): Promise<void>;
}

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath as string, args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'] });
}

/** @param address of the admin port: `127.0.0.1:7301`. */
export async function openConsole(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<ConsolePage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1200, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  const strangers: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('request', (request) => {
    const { host, protocol } = new URL(request.url());
    if (protocol !== 'blob:' && host !== address) strangers.push(request.url());
  });
  await page.addInitScript('addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));');
  await page.goto(`http://${address}/`);
  return {
    page, complaints, strangers,
    async findings() {
      if (await page.evaluate('typeof axe') === 'undefined') await page.evaluate(axe.source);
      const violations: Violation[] = [];
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        // All that a scheme changes is colours.
        const found = await page.evaluate(`axe.run(document, { resultTypes: ["violations"]${colorScheme === 'dark' ? ', runOnly: ["color-contrast"]' : ''} })`) as { readonly violations: readonly Violation[] };
        violations.push(...found.violations);
      }
      return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html, failureSummary = '' }) => `${html} (${failureSummary.replaceAll(/\s+/g, ' ')})`).join(' ').slice(0, 800)}`);
    },
    close: () => context.close(),
  };
}
