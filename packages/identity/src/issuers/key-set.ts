/**
 * The metadata of one issuer and its public keys: found through the metadata, fetched when they are first needed, and again when a token names an unknown key.
 * A token waits for a new fetch of keys that are older than `staleMs`, since the issuer may have removed some. While an issuer does not answer, its last keys are
 * used for up to a day, and a token waits for it only after `freshMs` without a failed fetch.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { JsonObject } from '@omnibus/protocol';
import { fetchJson, isTrustworthy } from './fetch-json.ts';

/** Milliseconds after which metadata and keys are fetched again, while the old ones are still used. */
const freshMs = 600_000;
/** Milliseconds after which a token waits for present keys. */
const staleMs = 2 * freshMs;
/** Milliseconds after which they are no longer used, whether or not the issuer answers. */
const goodMs = 86_400_000;
/** Tokens with unknown keys make the gateway ask the issuer at most once in this many milliseconds. */
const cooldownMs = 30_000;
/** Milliseconds before another request to a silent issuer. */
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
  #discoveredAt = -Infinity;
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
    await this.#renew();
    try {
      return await (this.#keys as JWTVerifyGetKey)(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#now() - this.#fetchedAt < cooldownMs) throw error;
      await this.#refresh();
      return (this.#keys as JWTVerifyGetKey)(header, token);
    }
  };

  /** Fetches keys that are old. @throws {KeysUnavailable} where they are too old to be used. */
  async #renew(): Promise<void> {
    const ageMs = this.#now() - this.#fetchedAt;
    if (ageMs <= freshMs) return;
    const hasFailed = this.#now() - this.#failedAt < freshMs;
    const fetching = this.#refresh();
    if (ageMs > goodMs) return fetching;
    const tried = fetching.catch(() => undefined); // The failure has been told, and the old keys serve.
    if (ageMs > staleMs && !hasFailed) await tried;
  }

  /** Fetches the keys. @throws {KeysUnavailable} with the reason in its message. */
  load(): Promise<void> {
    return this.#refresh();
  }

  /**
   * The issuer's metadata (RFC 8414; OpenID Connect Discovery 1.0), which must name that issuer.
   * @throws {Error} in words.
   */
  async metadata(): Promise<JsonObject> {
    const ageMs = this.#now() - this.#discoveredAt;
    if (this.#metadata === undefined || ageMs > goodMs) return this.#discovered();
    if (ageMs > freshMs) this.#discovered().catch(() => undefined); // The old metadata serve.
    return this.#metadata;
  }

  /** Metadata as they are now. */
  async #discovered(): Promise<JsonObject> {
    if (this.#now() - this.#undiscoveredAt < failureMs)
      throw new KeysUnavailable(`${this.#options.issuer} did not give its metadata a moment ago`);
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
    let withoutKeys: JsonObject | undefined;
    for (const address of [
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    ]) {
      try {
        const document = await fetchJson(address);
        if (document['issuer'] !== issuer)
          throw new Error(`${address} speaks for ${JSON.stringify(document['issuer'])}, not for ${issuer}`);
        // Keys need not be named there (RFC 8414, 2), and have to be in the other document (OpenID Connect Discovery, 3).
        if (document['jwks_uri'] === undefined) withoutKeys ??= document;
        else return this.#found(document);
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    if (withoutKeys !== undefined) return this.#found(withoutKeys);
    this.#undiscoveredAt = this.#now();
    throw new Error(problems.join('; '));
  }

  #found(document: JsonObject): JsonObject {
    this.#metadata = document;
    this.#discoveredAt = this.#now();
    return document;
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
      const { jwksUri = (await this.#discovered())['jwks_uri'] } = this.#options;
      if (typeof jwksUri !== 'string' || !isTrustworthy(jwksUri))
        throw new Error('its metadata name no jwks_uri over https://');
      this.#keys = keysIn(await fetchJson(jwksUri), jwksUri);
      this.#fetchedAt = this.#now();
    } catch (error) {
      this.#failedAt = this.#now();
      this.#options.failed((error as Error).message);
      throw new KeysUnavailable((error as Error).message, { cause: error });
    }
  }
}

function keysIn(answer: JsonObject, address: string): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(answer as unknown as JSONWebKeySet);
  } catch (error) {
    throw new Error(`${address}: its answer is no set of keys`, { cause: error });
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
