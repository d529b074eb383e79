/**
 * What a server is shown for one user: the tokens he has got for it, and for somebody who has none, nothing, so that the server says what it wants.
 *
 * A refresh token is presented once: whoever is to present it writes so into the record first, by compare-and-set, and what he gets is written
 * before it is used. Others wait for that, in whatever process they are, and in the same one: whoever watches the vault tells them (`changed`).
 */
import { randomUUID } from 'node:crypto';
import type { Challenge } from './challenge.ts';
import { issuersNamed } from './discovery.ts';
import { CredentialProblem, type Fetch } from './outbound.ts';
import { connectionAt, scopeUnion, type Connection } from './sign-in.ts';
import type { HeaderSource, SentHeaders } from './source.ts';
import { requestTokens, TokenRefused } from './token-request.ts';
import type { Place } from './vault/envelope.ts';
import type { Kept, Vault } from './vault/vault.ts';

export interface UserTokensOptions {
  readonly fetch: Fetch;
  readonly vault: Vault;
  readonly place: Place;
  /** Of the MCP server. */
  readonly url: string;
  readonly issuer: string | undefined;
  readonly asked: (outcome: 'good' | 'refused' | 'unavailable', problem?: string) => void;
}

/** Who presents a refresh token has this long for it. */
const leaseMs = 15_000;
/** Nobody is sent with a token that ends on its way. */
const marginMs = 30_000;
const nobody: SentHeaders = Object.freeze({});

interface Held {
  readonly headers: SentHeaders;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export class UserTokens implements HeaderSource {
  readonly #options: UserTokensOptions;
  #held: Held | undefined;
  #asking: Promise<SentHeaders> | undefined;
  #wanted: Challenge | undefined;
  #secrets: readonly string[] = [];
  /** How often something else was kept: whatever was read before that says nothing any more. */
  #changes = 0;
  /** Who waits for somebody else to write what he got. */
  readonly #waiting = new Set<() => void>();

  constructor(options: UserTokensOptions) {
    this.#options = options;
  }

  /** What the server has asked for and the user has not given; undefined where nothing is known to be missing. */
  get wanted(): Challenge | undefined {
    return this.#wanted;
  }

  get secrets(): readonly string[] {
    return this.#secrets;
  }

  get current(): SentHeaders | undefined {
    const held = this.#held;
    return held === undefined || Date.now() >= held.until ? undefined : held.headers;
  }

  /** Something else is kept for him. @returns `new` where he has something to show that was missing before, `gone` where what he has shown is his no more. */
  async changed(): Promise<'new' | 'gone' | 'same'> {
    this.#changes += 1;
    this.#wake();
    const kept = await this.#kept();
    const token = kept?.value.tokens?.accessToken;
    const shown = this.#held?.headers['authorization'];
    if (kept === undefined || token === undefined) {
      if (shown !== undefined) this.#held = undefined;
      return shown === undefined ? 'same' : 'gone';
    }
    if (shown === bearer(token)) return 'same';
    const wasMissing = this.#wanted !== undefined || this.#held?.headers === nobody;
    this.#wanted = undefined;
    this.#hold(kept.value);
    return wasMissing ? 'new' : 'same';
  }

  ask(): Promise<SentHeaders> {
    const { current } = this;
    if (current !== undefined) return Promise.resolve(current);
    this.#asking ??= this.#find().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async refused(sent: SentHeaders, challenge: Challenge): Promise<boolean> {
    const { current } = this;
    if (current !== undefined && current['authorization'] !== sent['authorization']) return true;
    const changes = this.#changes;
    const kept = await this.#kept();
    const tokens = kept?.value.tokens;
    if (kept === undefined || tokens === undefined) return changes === this.#changes ? this.#want(challenge) : true;
    if (sent['authorization'] !== bearer(tokens.accessToken)) {
      this.#hold(kept.value);
      return true;
    }
    if (challenge.error === 'insufficient_scope') {
      // What has been asked for before, and is still not enough, is not asked for again.
      const all = scopeUnion(kept.value.scope, challenge.scope);
      if (all !== scopeUnion(kept.value.scope)) this.#wanted = challenge;
      return false;
    }
    this.#held = undefined;
    if (tokens.refreshToken === undefined || await this.#hasMoved(kept.value, challenge)) {
      return await this.#forget(kept) ? this.#want(challenge) : true;
    }
    return await this.#refresh(kept) === nobody ? this.#want(challenge) : true;
  }

  async gaveUp(sent: SentHeaders, challenge: Challenge): Promise<void> {
    const kept = await this.#kept();
    if (challenge.error === 'insufficient_scope' || kept?.value.tokens === undefined || sent['authorization'] !== bearer(kept.value.tokens.accessToken)) return;
    if (await this.#forget(kept)) this.#want(challenge);
  }

  #want(challenge: Challenge): false {
    this.#wanted = challenge;
    this.#held = { headers: nobody, until: Infinity };
    return false;
  }

  async #kept(): Promise<Kept<Connection> | undefined> {
    const { vault, place, url } = this.#options;
    return connectionAt(await vault.get<Connection>(place), url);
  }

  async #find(): Promise<SentHeaders> {
    const changes = this.#changes;
    const kept = await this.#kept();
    const tokens = kept?.value.tokens;
    if (kept === undefined || tokens === undefined) {
      if (changes !== this.#changes) return this.#find();
      this.#held = { headers: nobody, until: Infinity };
      return nobody;
    }
    return tokens.refreshToken === undefined || isGood(kept.value) ? this.#hold(kept.value) : this.#refresh(kept);
  }

  #hold({ tokens }: Connection): SentHeaders {
    if (tokens === undefined) return nobody;
    const { accessToken, refreshToken, expiresAt = Infinity } = tokens;
    const headers = { authorization: bearer(accessToken) };
    this.#secrets = [accessToken, refreshToken ?? [], this.#secrets[0] ?? []].flat();
    // Without a refresh token, one that is over is shown all the same: the server says what it wants then.
    this.#held = { headers, until: refreshToken === undefined ? Infinity : expiresAt - marginMs };
    return headers;
  }

  /**
   * The server trusts another issuer than the one its tokens are of (MCP authorization: nothing of one is shown to the other). Only a document
   * that was read says so: where none can be had, what the user has is kept.
   */
  async #hasMoved({ issuer }: Connection, { resourceMetadata }: Challenge): Promise<boolean> {
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

  /** @returns `nobody` where the user has to sign in again. */
  async #refresh(first: Kept<Connection>): Promise<SentHeaders> {
    const { vault, place, asked, fetch } = this.#options;
    const by = randomUUID();
    const refused = first.value.tokens?.accessToken;
    for (let kept: Kept<Connection> | undefined = first; kept?.value.tokens !== undefined; kept = await this.#kept()) {
      const { value, revision } = kept;
      const { tokens, refreshing, issuer, server, client, resource } = value;
      if (tokens?.accessToken !== refused) return this.#hold(value);
      if (tokens?.refreshToken === undefined) break;
      if (refreshing !== undefined && refreshing.by !== by && Date.now() < refreshing.until) {
        await this.#untilChanged(refreshing.until - Date.now());
        continue;
      }
      const leased = await vault.update(place, issuer, { ...value, refreshing: { by, until: Date.now() + leaseMs } } satisfies Connection, revision);
      if (leased === undefined) continue;
      try {
        const given = await requestTokens({ fetch, server, client, grant: 'refresh_token', parameters: { refresh_token: tokens.refreshToken, resource } });
        const fresh: Connection = { ...value, tokens: { ...given, refreshToken: given.refreshToken ?? tokens.refreshToken }, refreshing: undefined };
        const written = await vault.update(place, issuer, fresh, leased);
        asked('good');
        this.#wake();
        // Who has changed it meanwhile has signed in, or out.
        if (written !== undefined) return this.#hold(fresh);
      } catch (error) {
        const problem = error instanceof CredentialProblem ? error : new CredentialProblem('a token could not be refreshed', { cause: error });
        asked(problem.isPassing ? 'unavailable' : 'refused', problem.message);
        if (!(error instanceof TokenRefused)) {
          await vault.update(place, issuer, { ...value, refreshing: undefined } satisfies Connection, leased);
          this.#wake();
          throw problem;
        }
        // Whoever else presented it first has written what he got.
        const now = await this.#kept();
        if (now?.revision === leased) await this.#forget(now);
        this.#wake();
      }
    }
    this.#held = { headers: nobody, until: Infinity };
    return nobody;
  }

  /** His tokens are good for nothing any more; how the gateway is known, and what was asked for, stays. @returns false where something else is kept by now. */
  async #forget({ value, revision }: Kept<Connection>): Promise<boolean> {
    const { vault, place } = this.#options;
    return await vault.update(place, value.issuer, { ...value, tokens: undefined, refreshing: undefined } satisfies Connection, revision) !== undefined;
  }

  #wake(): void {
    for (const go of [...this.#waiting]) go();
  }

  /** Resolves when something else is kept, or after that time: whoever was to write it may be gone. */
  #untilChanged(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(limit);
        this.#waiting.delete(go);
        resolve();
      };
      const limit = setTimeout(go, limitMs);
      this.#waiting.add(go);
    });
  }
}

/** An issuer may be named with a slash at its end that its metadata leave out. */
const isSame = (one: string, other: string): boolean => one.replace(/\/$/, '') === other.replace(/\/$/, '');
const bearer = (token: string): string => `Bearer ${token}`;

function isGood({ tokens }: Connection): boolean {
  return tokens !== undefined && Date.now() < (tokens.expiresAt ?? Infinity) - marginMs;
}
