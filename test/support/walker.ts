/** The browser of a user that signs in and consents: Chromium where it is installed, otherwise fetches of the same pages. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import { chromiumPath, launch, pageMs } from './chromium.ts';
import { Browser } from './sign-in.ts';
import { StandInServer } from './stand-in-server.ts';

export interface User {
  readonly name: string;
  readonly password: string;
}

export interface Walker {
  /** Shown in messages of tests. */
  readonly kind: 'chromium' | 'fetch';
  /**
   * Opens an address, signs in where a page asks for it (without `user`, by the link to an OpenID provider), and consents. Each visit uses a new browser.
   */
  visit(address: URL, user?: User): Promise<void>;
  /** Errors of the browser, such as violations of a page's content security policy. */
  readonly complaints: readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** Receives the redirects for a client. */
export class Callback extends StandInServer {
  readonly #arrived: ((url: URL) => void)[] = [];

  static start(): Promise<Callback> {
    return new Callback().listen();
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/callback`;
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><title>done</title><p id="done">done</p>');
    const url = new URL(request.url ?? '/', this.url);
    if (url.pathname === '/callback') this.#arrived.shift()?.(url);
  }

  /** The address of the next redirect. */
  next(): Promise<URL> {
    return new Promise((resolve) => this.#arrived.push(resolve));
  }
}

export async function openWalker(): Promise<Walker> {
  return chromiumPath === undefined ? fetchWalker() : chromiumWalker();
}

/** A walker that needs no browser. */
export function fetchWalker(): Walker {
  return {
    kind: 'fetch',
    complaints: [],
    async visit(address, user) {
      const browser = new Browser();
      let page = await browser.open(address.href);
      if (page.text.includes('type="password"') && user !== undefined)
        page = await browser.submit(page, '/login', { ...user });
      else if (page.text.includes('/upstream"'))
        page = await browser.open(new URL(/href="([^"]+\/upstream)"/.exec(page.text)?.[1] as string, page.url).href);
      if (page.text.includes('/consent"')) await browser.submit(page, '/consent');
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function chromiumWalker(): Promise<Walker> {
  const browser = await launch();
  const complaints: string[] = [];
  return {
    kind: 'chromium',
    complaints,
    async visit(address, user) {
      const context = await browser.newContext();
      context.setDefaultTimeout(pageMs);
      const page = await context.newPage();
      page.on('console', (message) => {
        if (message.type() === 'error' && !message.text().includes('favicon')) complaints.push(message.text());
      });
      await signInAtGateway(page, address, user);
      await context.close();
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/**
 * Opens the address of a client's sign-in at the gateway, signs in where the page asks for it (without `user`, by the link to an OpenID provider), consents, and
 * waits for the redirect to the client's address.
 */
export async function signInAtGateway(page: Page, address: URL, user: User | undefined): Promise<void> {
  await page.goto(address.href);
  const done = page.locator('#done');
  const allow = page.getByRole('button', { name: 'Allow' });
  const password = page.getByLabel('Password');
  await done.or(allow).or(password).first().waitFor();
  if (await password.isVisible()) {
    if (user === undefined) await page.getByRole('link', { name: /Sign in at/ }).click();
    else await typePassword(page, user);
    await done.or(allow).first().waitFor();
  }
  if (await allow.isVisible()) await allow.click();
  await done.waitFor();
}

/** Fills in the sign-in page of the gateway. */
export async function typePassword(page: Page, { name, password }: User): Promise<void> {
  await page.getByLabel('User name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}
