/** A user of the gateway: a separate browser, and official clients of both major versions, signed in to the gateway as this user. */
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitationCompleteNotificationSchema,
  LoggingMessageNotificationSchema,
  McpError,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { Heard } from '@omnibus/bus/testing';
import { pageMs } from './chromium.ts';
import { SdkUser } from './sdk-user.ts';
import { Callback, signInAtGateway, type User } from './walker.ts';

/** The reaction of a user that expects no address. */
export const noAddress = (address: string): Promise<never> => Promise.reject(new Error(`nobody expects ${address}`));

export class Person implements AsyncDisposable {
  readonly name: string;
  readonly #context: BrowserContext;
  readonly #complaints: string[];
  /** A client of 2025-11-25, which gets the address in an error (-32042). */
  readonly old: ClientOne;
  /** A client of 2026-07-28, which gets a question to open the address during its call. */
  readonly modern: ClientTwo;
  /** Ends of sign-ins that the gateway has told the client of 2025-11-25. */
  readonly completed = new Heard<string>();
  /** Everything that clients of this person were sent beside answers. */
  readonly told: string[] = [];
  /** What this person does with an address that the client of 2026-07-28 asks to open. */
  opens: (address: string) => Promise<void> = noAddress;

  private constructor(
    name: string,
    context: BrowserContext,
    complaints: string[],
    clients: { readonly old: ClientOne; readonly modern: ClientTwo },
  ) {
    this.name = name;
    this.#context = context;
    this.#complaints = complaints;
    ({ old: this.old, modern: this.modern } = clients);
    this.old.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
      this.completed.add(params.elicitationId),
    );
    this.old.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void this.told.push(String(params.data)),
    );
    this.modern.setRequestHandler('elicitation/create', async ({ params }) => {
      await this.opens((params as { readonly url: string }).url);
      return { action: 'accept' };
    });
  }

  /** Signs in to the gateway, on its page, for both clients. @param url of the gateway's endpoint. */
  static async open(browser: Browser, url: string, user: User): Promise<Person> {
    await using answers = await Callback.start();
    const context = await browser.newContext();
    context.setDefaultTimeout(pageMs);
    const complaints: string[] = [];
    context.on('console', (message) => {
      // Chromium reports each page with an HTTP error as a resource that was not loaded.
      if (message.type() === 'error' && !/favicon|Failed to load resource/.test(message.text()))
        complaints.push(message.text());
    });
    const walker = {
      kind: 'chromium' as const,
      complaints,
      visit: async (address: URL) => signInAtGateway(await context.newPage(), address, user),
      [Symbol.asyncDispose]: () => context.close(),
    };
    const kept = new SdkUser({ answers, walker }, user);
    const old = new ClientOne({ name: 'old', version: '1' }, { capabilities: { elicitation: { form: {}, url: {} } } });
    const modern = new ClientTwo(
      { name: 'modern', version: '1' },
      { capabilities: { elicitation: { form: {}, url: {} } }, versionNegotiation: { mode: 'auto' } },
    );
    const first = new TransportOne(new URL(url), { authProvider: kept });
    await expect(old.connect(first)).rejects.toThrow();
    await first.finishAuth((await kept.answer()).searchParams.get('code') as string);
    const person = new Person(user.name, context, complaints, { old, modern });
    await old.connect(new TransportOne(new URL(url), { authProvider: kept }));
    await modern.connect(new TransportTwo(new URL(url), { authProvider: kept }));
    return person;
  }

  /** Errors of the browser, such as violations of a page's content security policy. */
  get complaints(): readonly string[] {
    return this.#complaints;
  }

  /** The address at which this person signs in for a server, as the client of 2025-11-25 gets it. @param tool to call for that. */
  async addressOf(tool: string): Promise<string> {
    const refused = await this.#refusalOf(tool);
    expect(refused).toBeInstanceOf(UrlElicitationRequiredError);
    return (refused as UrlElicitationRequiredError).elicitations[0]?.url ?? '';
  }

  /** A call on a reconnecting connection was not executed, and is retried, as its error says (`docs/reference/errors.md`). */
  async #refusalOf(tool: string): Promise<unknown> {
    for (;;) {
      const refused: unknown = await this.old.callTool({ name: tool, arguments: {} }).catch((error: unknown) => error);
      if (
        !(refused instanceof McpError) ||
        (refused.data as { readonly reason?: string } | undefined)?.reason !== 'upstream.unavailable'
      )
        return refused;
    }
  }

  /** Opens an address in a tab of its own. */
  async go(address: string): Promise<Page> {
    const page = await this.#context.newPage();
    await page.goto(address);
    return page;
  }

  /** Answers the page of the issuer. */
  async choose(page: Page, account: string, answer: 'Allow' | 'Decline' = 'Allow'): Promise<void> {
    await page.getByLabel('Account').fill(account);
    await page.getByRole('button', { name: answer }).click();
  }

  /** Follows an address from the gateway's page to its last one. */
  async signIn(address: string, account: string): Promise<Page> {
    const page = await this.go(address);
    await page.getByRole('button', { name: 'Go on' }).click();
    await this.choose(page, account);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.old.close(), this.modern.close()]);
    await this.#context.close();
  }
}
