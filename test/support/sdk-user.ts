/** The official SDK clients of both major versions, each with a browser that follows the addresses of its client. */
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import {
  Client as ClientTwo,
  StreamableHTTPClientTransport as TransportTwo,
  type OAuthClientProvider as ProviderTwo,
} from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import type { Tokens } from './sign-in.ts';
import type { Callback, User, Walker } from './walker.ts';

/** The user's browser, and the address to which it is redirected. */
interface Page {
  readonly answers: Callback;
  readonly walker: Walker;
}

/** The stored data of a client, and its user. */
export class SdkUser implements OAuthClientProvider, ProviderTwo {
  readonly redirectUrl: string;
  readonly clientMetadata;
  readonly #page: Page;
  readonly #user: User | undefined;
  /** False for a client that keeps no refresh tokens. */
  readonly #refreshes: boolean;
  /** Client information of either SDK, with different types. */
  #client: unknown;
  #tokens: unknown;
  #verifier = '';
  #answer: Promise<URL> | undefined;

  constructor(page: Page, user: User | undefined, refreshes = true) {
    this.#page = page;
    this.redirectUrl = page.answers.url;
    this.clientMetadata = {
      redirect_uris: [page.answers.url],
      client_name: 'SDK',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    };
    this.#user = user;
    this.#refreshes = refreshes;
  }

  clientInformation = (): never => this.#client as never;
  saveClientInformation = (client: unknown): void => {
    this.#client = client;
  };
  tokens = (): never => this.#tokens as never;
  saveTokens = (tokens: unknown): void => {
    this.#tokens = this.#refreshes ? tokens : { ...(tokens as object), refresh_token: undefined };
  };
  codeVerifier = (): string => this.#verifier;
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };
  redirectToAuthorization = async (address: URL): Promise<void> => {
    this.#answer = this.#page.answers.next();
    await this.#page.walker.visit(address, this.#user);
  };

  /** The address with which the browser was redirected back. */
  async answer(): Promise<URL> {
    return (await this.#answer) as URL;
  }

  get claims(): Readonly<Record<string, unknown>> {
    const { access_token: token } = this.#tokens as Tokens;
    return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as Readonly<
      Record<string, unknown>
    >;
  }
}

/** Signs a user in, and lists the tools. */
export const sdks = {
  'SDK 1': async (url: string, kept: SdkUser): Promise<readonly string[]> => {
    const first = new TransportOne(new URL(url), { authProvider: kept });
    await expect(new ClientOne({ name: 'x', version: '1' }).connect(first)).rejects.toThrow();
    await first.finishAuth((await kept.answer()).searchParams.get('code') as string);
    const client = new ClientOne({ name: 'x', version: '1' });
    await client.connect(new TransportOne(new URL(url), { authProvider: kept }));
    const { tools } = await client.listTools();
    await client.close();
    return tools.map(({ name }) => name);
  },
  'SDK 2': async (url: string, kept: SdkUser): Promise<readonly string[]> => {
    const first = new TransportTwo(new URL(url), { authProvider: kept });
    await expect(new ClientTwo({ name: 'x', version: '1' }).connect(first)).rejects.toThrow();
    await first.finishAuth((await kept.answer()).searchParams);
    const client = new ClientTwo({ name: 'x', version: '1' });
    await client.connect(new TransportTwo(new URL(url), { authProvider: kept }));
    const { tools } = await client.listTools();
    await client.close();
    return tools.map(({ name }) => name);
  },
};

/** Calls a tool with a missing scope, lets the user allow it, and calls it again over the same connection. @returns the results of both calls. */
export const stepsUp = {
  'SDK 1': async (url: string, kept: SdkUser): Promise<readonly unknown[]> => {
    const transport = new TransportOne(new URL(url), { authProvider: kept });
    const client = new ClientOne({ name: 'x', version: '1' });
    await client.connect(transport);
    const refused: unknown = await client.callTool({ name: 'echo', arguments: {} }).catch((error: unknown) => error);
    await transport.finishAuth((await kept.answer()).searchParams.get('code') as string);
    const called = await client.callTool({ name: 'echo', arguments: {} });
    await client.close();
    return [refused, called];
  },
  'SDK 2': async (url: string, kept: SdkUser): Promise<readonly unknown[]> => {
    const transport = new TransportTwo(new URL(url), { authProvider: kept });
    const client = new ClientTwo({ name: 'x', version: '1' });
    await client.connect(transport);
    const refused: unknown = await client.callTool({ name: 'echo', arguments: {} }).catch((error: unknown) => error);
    await transport.finishAuth((await kept.answer()).searchParams);
    const called = await client.callTool({ name: 'echo', arguments: {} });
    await client.close();
    return [refused, called];
  },
};
