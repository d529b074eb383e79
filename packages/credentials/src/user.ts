/**
 * The credentials of one user for a server: their tokens, or nothing, so that the server answers with its demand.
 *
 * A refresh token is used only once: the process that is to use it first writes so into the record, by compare-and-set, and writes the new tokens
 * before using them. Other callers, in this or other processes, wait for that; the watch of the vault wakes them (`changed`).
 */
import { randomUUID, type JsonWebKey } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Challenge } from './challenge.ts';
import { Changes } from './changes.ts';
import { Leases, newClaim } from './lease.ts';
import { MovedServer } from './moved-server.ts';
import type { Fetch } from './outbound.ts';
import { connectionAt, revokeAtIssuer, type Connection } from './sign-in.ts';
import { scopeUnion } from './scopes.ts';
import type { HeaderSource, SentHeaders } from './source.ts';
import { Pause } from './pause.ts';
import { Prover } from './proof-of-possession.ts';
import { failureOf, movedEndpoint } from './refresh-failure.ts';
import { storeRefreshed } from './refreshed.ts';
import { asConfigured, NoIssuerThere, requestTokens, type ClientIdentity } from './token-request.ts';
import { authorizationOf, isExpired, isGood, marginOf } from './usable.ts';
import type { Place } from './vault/envelope.ts';
import type { Kept, Vault } from './vault/vault.ts';

export interface UserTokensOptions {
  readonly fetch: Fetch;
  readonly vault: Vault;
  readonly place: Place;
  readonly url: string;
  readonly issuer: string | undefined;
  /** The gateway's identity at the issuer, where the configuration says it: as it is now, and not as it was when the user signed in. */
  readonly client?: ClientIdentity | undefined;
  readonly asked: (outcome: 'good' | 'refused' | 'unavailable', problem?: string) => void;
}

/** Time within which refreshed tokens are stored before they are used. */
const storeMs = 1_000;
const nobody: SentHeaders = Object.freeze({});

interface Held {
  readonly headers: SentHeaders;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** One attempt to refresh tokens. */
interface Refresh {
  readonly value: Connection;
  readonly refreshToken: string;
  /** The access token to be replaced. */
  readonly refused: string;
  /** The name under which this attempt has claimed the refresh token. */
  readonly by: string;
  /** The record's revision with the claim. */
  readonly leased: number;
}

/** What a change of the stored record means for the connections of its user (`UserTokens.changed`). */
export type TokensChange = 'new' | 'found' | 'gone' | 'same';

export class UserTokens implements HeaderSource {
  readonly #options: UserTokensOptions;
  #held: Held | undefined;
  /** Whether there were no tokens, as far as `changed` has reported. Another request may have found new ones since, before they were announced. */
  #wereMissing = false;
  #asking: Promise<SentHeaders> | undefined;
  #wanted: Challenge | undefined;
  #lacking: Challenge | undefined;
  /** Makes proofs with the key that the tokens are bound to. */
  #prover: Prover | undefined;
  #secrets: readonly string[] = [];
  /** The access token that was obtained last, by this process: when it is refused, there will be no better one. */
  #renewed: string | undefined;
  /** After a refresh that failed and may succeed later, by the access token that it was to replace. */
  readonly #pause = new Pause();
  /** Changes of the stored record: earlier reads are outdated, and callers wait for another process to write new tokens. */
  readonly #changes = new Changes();
  readonly #leases = new Leases();
  readonly #moved: MovedServer;

  constructor(options: UserTokensOptions) {
    this.#options = options;
    this.#moved = new MovedServer(options);
  }

  /** The server's demand that the user has yet to meet by signing in; undefined when none is known. */
  get wanted(): Challenge | undefined {
    return this.#wanted;
  }

  /** The server's demand for rights that the gateway already requested at the issuer; another request would change nothing. Undefined when none is known. */
  get lacking(): Challenge | undefined {
    return this.#lacking;
  }

  get secrets(): readonly string[] {
    return this.#secrets;
  }

  get current(): SentHeaders | undefined {
    const held = this.#held;
    return held === undefined || Date.now() >= held.until ? undefined : held.headers;
  }

  /**
   * Called when the stored record has changed.
   * @returns `new` when there are tokens that were missing before, `found` when a request that was refused has found these before this report and uses them,
   * `gone` when the tokens in use were removed.
   * @throws {Error} when the record cannot be read. Earlier reads are void, and the change must be reported again.
   */
  async changed(): Promise<TokensChange> {
    this.#changes.note();
    return this.#newest((kept) => {
      const tokens = kept?.value.tokens;
      const shown = this.#held?.headers['authorization'];
      if (kept === undefined || tokens === undefined) {
        if (shown !== undefined) this.#held = undefined;
        return shown === undefined ? 'same' : 'gone';
      }
      const isInUse = shown === authorizationOf(tokens);
      if (isInUse && !this.#wereMissing) return 'same';
      const areNew = this.#wereMissing || this.#wanted !== undefined;
      this.#lacking = undefined;
      this.#wanted = undefined;
      this.#wereMissing = false;
      this.#hold(kept.value);
      return !areNew ? 'same' : isInUse ? 'found' : 'new';
    }).catch((error: unknown) => {
      if (this.#held !== undefined) this.#held = { ...this.#held, until: 0 };
      throw error;
    });
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
    return this.#newest((kept) => this.#replace(kept, sent, challenge));
  }

  /** Gets other tokens than those that were sent. @returns false where there are none. */
  async #replace(kept: Kept<Connection> | undefined, sent: SentHeaders, challenge: Challenge): Promise<boolean> {
    const tokens = kept?.value.tokens;
    if (kept === undefined || tokens === undefined) return this.#want(challenge);
    if (sent['authorization'] !== authorizationOf(tokens)) {
      this.#hold(kept.value);
      return true;
    }
    if (challenge.error === 'insufficient_scope') {
      // Scopes that were requested before and were not sufficient are not requested again.
      const all = scopeUnion(kept.value.scope, challenge.scope);
      const isNew = all !== scopeUnion(kept.value.scope);
      if (isNew) this.#wanted = challenge;
      this.#lacking = isNew ? undefined : challenge;
      return false;
    }
    this.#held = undefined;
    if (tokens.refreshToken === undefined || (await this.#moved.from(kept.value.issuer, challenge))) {
      return (await this.#forget(kept)) ? this.#want(challenge) : true;
    }
    return (await this.#refresh(tokens.accessToken)) === nobody ? this.#want(challenge) : true;
  }

  async gaveUp(sent: SentHeaders, challenge: Challenge): Promise<boolean> {
    if (challenge.error === 'insufficient_scope') return false;
    return this.#newest(async (kept) => {
      const tokens = kept?.value.tokens;
      if (kept === undefined || tokens === undefined) return false;
      // Another process may have replaced the token found for the retry.
      if (sent['authorization'] !== authorizationOf(tokens) || tokens.accessToken !== this.#renewed)
        return this.#replace(kept, sent, challenge);
      if (await this.#forget(kept)) this.#want(challenge);
      return false;
    });
  }

  prove(sent: SentHeaders, method: string, address: string): SentHeaders | undefined {
    return this.#prover?.headersFor(sent, method, address);
  }

  noteNonce(address: string, nonce: string): void {
    this.#prover?.note(address, nonce);
  }

  #noteKey(key: JsonWebKey | undefined): Prover | undefined {
    if (key === undefined) return undefined;
    if (this.#prover?.x !== key.x) this.#prover = new Prover(key);
    return this.#prover;
  }

  #want(challenge: Challenge): false {
    this.#wanted = challenge;
    this.#miss();
    return false;
  }

  /** There are no tokens. */
  #miss(): SentHeaders {
    this.#wereMissing = true;
    this.#held = { headers: nobody, until: Infinity };
    return nobody;
  }

  /** Reads the record, and once more where it has changed meanwhile. @param use is called in the same turn, so that no newer record can arrive before it begins. */
  async #newest<Result>(use: (kept: Kept<Connection> | undefined) => Result | Promise<Result>): Promise<Result> {
    const { vault, place, url } = this.#options;
    for (;;) {
      const changes = this.#changes.count;
      const kept = connectionAt(await vault.get<Connection>(place), url);
      if (changes === this.#changes.count) return use(kept);
    }
  }

  #find(): Promise<SentHeaders> {
    return this.#newest((kept) => {
      const tokens = kept?.value.tokens;
      if (kept === undefined || tokens === undefined) return this.#miss();
      if (tokens.refreshToken === undefined || isGood(tokens)) return this.#hold(kept.value);
      return this.#refresh(tokens.accessToken).catch((error: unknown) => {
        if (isExpired(tokens)) throw error;
        return this.current ?? this.#hold(kept.value);
      });
    });
  }

  #hold({ tokens, proofKey }: Connection): SentHeaders {
    if (tokens === undefined) return nobody;
    const { accessToken, refreshToken, expiresAt = Infinity } = tokens;
    const headers = { authorization: authorizationOf(tokens) };
    this.#noteKey(proofKey);
    this.#secrets = [accessToken, refreshToken ?? [], this.#secrets[0] ?? []].flat();
    // Without a refresh token, an expired token is sent all the same: the server then answers with its demand.
    this.#held = { headers, until: refreshToken === undefined ? Infinity : expiresAt - marginOf(tokens) };
    return headers;
  }

  /**
   * Refreshes the tokens, unless that has been done meanwhile.
   * @param refused the access token to be replaced.
   * @returns `nobody` when the user must sign in again.
   */
  async #refresh(refused: string): Promise<SentHeaders> {
    const by = randomUUID();
    let mayMove = true;
    for (;;) {
      const changes = this.#changes.count;
      let others: SentHeaders | undefined;
      const kept = await this.#newest((read) => {
        if (read?.value.tokens !== undefined && read.value.tokens.accessToken !== refused)
          others = this.#hold(read.value);
        return read;
      });
      if (others !== undefined) return others;
      const refreshToken = kept?.value.tokens?.refreshToken;
      if (kept === undefined || refreshToken === undefined) break;
      const leased = await this.#lease(kept, by, changes, refused);
      if (leased === undefined) continue;
      const refresh: Refresh = { value: kept.value, refreshToken, refused, by, leased };
      const renewed = await this.#renew(refresh).catch((error: unknown) => this.#renewFailed(error, refresh, mayMove));
      if (renewed === 'moved') mayMove = false;
      else if (renewed !== undefined) return renewed;
    }
    return this.#miss();
  }

  /**
   * Claims the refresh token.
   * @param changes count of changes when the record was read.
   * @returns the record's revision; undefined if another process uses the token, or if the record has changed: it must be read again.
   */
  async #lease(
    { value, revision }: Kept<Connection>,
    by: string,
    changes: number,
    refused: string,
  ): Promise<number | undefined> {
    const { vault, place } = this.#options;
    const { refreshing, issuer } = value;
    const leftMs = refreshing === undefined || refreshing.by === by ? 0 : this.#leases.leftMs(refreshing, revision);
    if (leftMs > 0) {
      // A change since the record was read may be the one that is waited for.
      if (changes === this.#changes.count) await this.#changes.next(leftMs);
      return undefined;
    }
    const paused = this.#pause.problem(refused);
    if (paused !== undefined) throw paused;
    return vault.update(place, issuer, { ...value, refreshing: newClaim(by) } satisfies Connection, revision);
  }

  /** @returns undefined if the record was changed meanwhile: the user has signed in or out. */
  async #renew({ value, refreshToken, by, leased }: Refresh): Promise<SentHeaders | undefined> {
    const { vault, place, asked, fetch } = this.#options;
    const { server, client, resource, proofKey } = value;
    const given = await requestTokens({
      fetch,
      server,
      client: asConfigured(this.#options.client, client),
      grant: 'refresh_token',
      parameters: { refresh_token: refreshToken, resource },
      prover: this.#noteKey(proofKey),
    });
    this.#renewed = given.accessToken;
    const fresh: Connection = {
      ...value,
      tokens: { ...given, refreshToken: given.refreshToken ?? refreshToken },
      refreshing: undefined,
    };
    const storing = storeRefreshed({ vault, place, fresh, leased, by });
    storing
      .then((isStored) => (isStored ? undefined : this.#endRemoved(fresh)))
      .catch(() => asked('unavailable', 'refreshed tokens could not be stored'));
    // While the store cannot be reached they are used all the same.
    const written = await Promise.race([storing, delay(storeMs, true, { ref: false })]);
    asked('good');
    this.#changes.note();
    return written ? this.#hold(fresh) : undefined;
  }

  /**
   * Asks the issuer to revoke tokens whose user was removed or signed out during the refresh: the removal knew the tokens before only. A record that was
   * replaced is left alone, since some issuers end all tokens of the user with one.
   */
  async #endRemoved(fresh: Connection): Promise<void> {
    const { vault, place, fetch, client } = this.#options;
    // They may be in use here, since the store was slow.
    const { tokens } = fresh;
    if (tokens !== undefined && this.#held?.headers['authorization'] === authorizationOf(tokens))
      this.#held = undefined;
    if ((await vault.get(place)) === undefined) await revokeAtIssuer({ fetch, client }, fresh);
  }

  /**
   * @param mayMove whether the issuer may have moved to another address.
   * @returns `moved` if the request goes again to the issuer's new address; undefined if the record must be read again.
   * @throws {CredentialProblem} if it may succeed later.
   */
  async #renewFailed(
    error: unknown,
    { value, leased, refused }: Refresh,
    mayMove: boolean,
  ): Promise<'moved' | undefined> {
    const { vault, place, asked, fetch } = this.#options;
    const { issuer, server, client } = value;
    const giveBack = (to: Connection): Promise<number | undefined> =>
      vault.update(place, issuer, { ...to, refreshing: undefined } satisfies Connection, leased);
    const newer = error instanceof NoIssuerThere && mayMove ? await movedEndpoint(fetch, server) : undefined;
    if (newer !== undefined) {
      await giveBack({ ...value, server: newer });
      this.#changes.note();
      return 'moved';
    }
    const identity = asConfigured(this.#options.client, client);
    const { problem, isOver } = await failureOf(error, {
      vault,
      issuer,
      client: identity,
      isConfigured: identity === this.#options.client,
      hasMoved: () => this.#moved.from(issuer, { resourceMetadata: undefined }),
    });
    asked(problem.isPassing ? 'unavailable' : 'refused', problem.message);
    if (!isOver) {
      this.#pause.failed(problem, refused);
      await giveBack(value);
      this.#changes.note();
      throw problem;
    }
    // Another process that used the refresh token first has written its new tokens.
    const now = await this.#newest((read) => read);
    if (now?.revision === leased) await this.#forget(now);
    this.#changes.note();
    return undefined;
  }

  /** Removes useless tokens, and keeps the client's identity and the scopes. @returns false when the record has changed meanwhile. */
  async #forget({ value, revision }: Kept<Connection>): Promise<boolean> {
    const { vault, place } = this.#options;
    return (
      (await vault.update(
        place,
        value.issuer,
        { ...value, tokens: undefined, refreshing: undefined } satisfies Connection,
        revision,
      )) !== undefined
    );
  }
}
