/**
 * The public keys of one issuer: found through its metadata, fetched when they are first needed, and again when a token names an unknown key. While an
 * issuer does not answer, its last keys are used for up to a day.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { JsonObject } from '@omnibus/protocol';
import { fetchJson, isTrustworthy } from './fetch-json.ts';

/** Milliseconds after which keys are fetched again, while the old ones are still used. */
const freshMs = 600_000;
/** Milliseconds after which keys are no longer used, whether or not the issuer answers. */
const goodMs = 86_400_000;
/** Tokens with unknown keys make the gateway ask the issuer at most once in this many milliseconds. */
const cooldownMs = 30_000;
/** Milliseconds after which an issuer that did not answer is asked again. */
const failureMs = 5_000;

export interface KeySetOptions {
  readonly issuer: string;
  /** Default: the address in the issuer's metadata. */
  readonly jwksUri: string | undefined;
  readonly failed: (problem: string) => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/** The keys cannot be fetched now; the token may be valid. */
export class KeysUnavailable extends Error {}

export class KeySet {
  readonly #options: KeySetOptions;
  readonly #now: () => number;
  #keys: JWTVerifyGetKey | undefined;
  #metadata: JsonObject | undefined;
  #discovering: Promise<JsonObject> | undefined;
  #undiscoveredAt = -Infinity;
  #fetchedAt = -Infinity;
  #failedAt = -Infinity;
  #fetching: Promise<void> | undefined;

  constructor(options: KeySetOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** @throws {KeysUnavailable} and the errors of `jose`. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const ageMs = this.#now() - this.#fetchedAt;
    if (ageMs > goodMs) await this.#refresh();
    else if (ageMs > freshMs) this.#refresh().catch(() => undefined); // The failure has been told, and the old keys serve.
    try {
      return await (this.#keys as JWTVerifyGetKey)(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#now() - this.#fetchedAt < cooldownMs) throw error;
      await this.#refresh();
      return (this.#keys as JWTVerifyGetKey)(header, token);
    }
  };

  /** Fetches the keys. @throws {KeysUnavailable} whose message says why that failed. */
  load(): Promise<void> {
    return this.#refresh();
  }

  /**
   * The issuer's metadata (RFC 8414; OpenID Connect Discovery 1.0), which must name that issuer.
   * @throws {Error} in words.
   */
  async metadata(): Promise<JsonObject> {
    if (this.#metadata !== undefined) return this.#metadata;
    if (this.#now() - this.#undiscoveredAt < failureMs) throw new KeysUnavailable(`${this.#options.issuer} did not say where its keys are a moment ago`);
    this.#discovering ??= this.#discover().finally(() => {
      this.#discovering = undefined;
    });
    return this.#discovering;
  }

  async #discover(): Promise<JsonObject> {
    const { issuer } = this.#options;
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/, '');
    const problems: string[] = [];
    for (const address of [`${origin}/.well-known/oauth-authorization-server${path}`, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`]) {
      try {
        const document = await fetchJson(address);
        if (document['issuer'] !== issuer) throw new Error(`${address} speaks for ${JSON.stringify(document['issuer'])}, not for ${issuer}`);
        this.#metadata = document;
        return document;
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    this.#undiscoveredAt = this.#now();
    throw new Error(problems.join('; '));
  }

  #refresh(): Promise<void> {
    if (this.#now() - this.#failedAt < failureMs) return Promise.reject(new KeysUnavailable());
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    try {
      // The metadata themselves may have changed.
      this.#metadata = undefined;
      const { jwksUri = (await this.metadata())['jwks_uri'] } = this.#options;
      if (typeof jwksUri !== 'string' || !isTrustworthy(jwksUri)) throw new Error('its metadata name no jwks_uri over https://');
      this.#keys = createLocalJWKSet((await fetchJson(jwksUri)) as unknown as JSONWebKeySet);
      this.#fetchedAt = this.#now();
    } catch (error) {
      this.#failedAt = this.#now();
      this.#options.failed((error as Error).message);
      throw new KeysUnavailable((error as Error).message, { cause: error });
    }
  }
}

/**
 * Asks an issuer for its metadata and keys, as the gateway does at the first token.
 * @returns in words, why tokens of the issuer cannot be checked; undefined where they can.
 */
export async function issuerProblem(issuer: string, jwksUri: string | undefined): Promise<string | undefined> {
  try {
    await new KeySet({ issuer, jwksUri, failed: () => undefined }).load();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
