/** A browser that shows the console, with its errors, its requests to other hosts, and the findings of axe. */
import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { pageMs } from '../support/chromium.ts';

type ColorScheme = 'dark' | 'light';

export interface ConsolePage {
  readonly page: Page;
  /** Errors of scripts, violated policies, and refused resources. No errors are expected. */
  readonly complaints: readonly string[];
  /** Hosts, other than the gateway, to which the page has sent requests. */
  readonly strangers: readonly string[];
  /** The current findings of axe as text. @param schemes the colours; default: dark and light. */
  findings(schemes?: readonly ColorScheme[]): Promise<readonly string[]>;
  close(): Promise<void>;
}

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** @param address of the admin port: `127.0.0.1:7301`. @param hash the fragment of the first address, such as `#token=KEY`. */
export async function openConsole(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
  hash = '',
): Promise<ConsolePage> {
  const context = await browser.newContext({
    reducedMotion: 'reduce',
    viewport: { width: 1200, height: 800 },
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(pageMs);
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
  await page.addInitScript(
    'addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));',
  );
  await page.goto(`http://${address}/${hash}`);
  return {
    page,
    complaints,
    strangers,
    findings: (schemes) => findingsOf(page, schemes),
    close: () => context.close(),
  };
}

/** The current findings of axe on a page as text. @param schemes the colours; default: dark and light. */
export async function findingsOf(
  page: Page,
  schemes: readonly ColorScheme[] = ['dark', 'light'],
): Promise<readonly string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source);
  const violations: Violation[] = [];
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    // A colour scheme changes nothing but colours.
    const found = (await page.evaluate(
      `axe.run(document, { resultTypes: ["violations"]${colorScheme === 'dark' ? ', runOnly: ["color-contrast"]' : ''} })`,
    )) as { readonly violations: readonly Violation[] };
    violations.push(...found.violations);
  }
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes
        .map(({ html, failureSummary = '' }) => `${html} (${failureSummary.replaceAll(/\s+/g, ' ')})`)
        .join(' ')
        .slice(0, 800)}`,
  );
}
