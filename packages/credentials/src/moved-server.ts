/**
 * Whether a server trusts another issuer than the one that gave the tokens (MCP authorization: credentials of one are not sent to another). Only metadata that
 * could be read prove it: when there are none, the user's tokens stay.
 */
import type { Challenge } from './challenge.ts';
import { issuersNamed } from './discovery.ts';
import { CredentialProblem, type Fetch } from './outbound.ts';

export interface MovedServerOptions {
  readonly fetch: Fetch;
  readonly url: string;
  /** The only issuer that may give tokens for it, where the configuration names one. */
  readonly issuer: string | undefined;
}

export class MovedServer {
  readonly #options: MovedServerOptions;
  /** Under way: many requests may be refused at the same time. */
  #looking: { readonly about: string; readonly hasMoved: Promise<boolean> } | undefined;

  constructor(options: MovedServerOptions) {
    this.#options = options;
  }

  /** @param issuer the one that gave the tokens. @param challenge of the server that has refused them. */
  from(issuer: string, { resourceMetadata }: Pick<Challenge, 'resourceMetadata'>): Promise<boolean> {
    const about = `${issuer} ${resourceMetadata ?? ''}`;
    if (this.#looking?.about === about) return this.#looking.hasMoved;
    const hasMoved = this.#look(issuer, resourceMetadata).finally(() => {
      if (this.#looking?.hasMoved === hasMoved) this.#looking = undefined;
    });
    this.#looking = { about, hasMoved };
    return hasMoved;
  }

  async #look(issuer: string, resourceMetadata: string | undefined): Promise<boolean> {
    const { fetch, url, issuer: pinned } = this.#options;
    if (pinned !== undefined && !isSame(pinned, issuer)) return true;
    try {
      const named = await issuersNamed({ fetch, url, resourceMetadata });
      return named !== undefined && !named.some((each) => isSame(each, issuer));
    } catch (error) {
      if (error instanceof CredentialProblem) return false;
      throw error;
    }
  }
}

/** Compares issuers: the server may name one with a slash at its end that the issuer's metadata leave out. */
const isSame = (one: string, other: string): boolean => one.replace(/\/$/, '') === other.replace(/\/$/, '');
