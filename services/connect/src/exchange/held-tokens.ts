/**
 * The tokens that callers have shown to this edge, for as long as they are good: only with these can the edge request tokens in their names from issuers. They stay in the memory
 * of this process; on the bus travels nothing but the name of the edge, in the facts about the caller.
 */
import type { Facts, Principal, ServerName, WorkerId } from '@omnibus/protocol';
import type { WorkloadTokens } from '@omnibus/credentials';

export interface HeldToken {
  /** The facts of the token. */
  readonly facts: Facts;
  readonly token: string;
  /** The tokens derived from it, by server: they are dropped together with it. */
  readonly made: Map<ServerName, WorkloadTokens>;
}

export interface HeldTokensOptions {
  /** Whether any server is called with such tokens. */
  readonly isUsed: () => boolean;
  /** Whether the facts of a token still hold. */
  readonly holds: (facts: Facts) => boolean;
  /** The name of this edge on the bus; undefined before it has started. */
  readonly self: () => WorkerId | undefined;
}

/** Bound on callers with stored tokens, equal to that on cached valid tokens (`identity/known-tokens.ts`); the oldest is dropped, and stored again with the caller's next request. */
const maxHeld = 10_000;
/** Entries, oldest first, that are checked for their end when a new one is added. */
const checkedEach = 4;

export class HeldTokens {
  readonly #options: HeldTokensOptions;
  readonly #held = new Map<Principal, HeldToken>();
  /** The facts of a token with the name of this edge: one object for each, since proofs and rights are computed once for each object. */
  readonly #named = new WeakMap<Facts, Facts>();

  constructor(options: HeldTokensOptions) {
    this.#options = options;
  }

  /**
   * Called with each request that a token has authenticated.
   * @returns the facts, with the name of this edge where it holds the token.
   */
  readonly hold = (facts: Facts, token: string): Facts => {
    const { isUsed, self } = this.#options;
    const at = isUsed() ? self() : undefined;
    if (at === undefined) return facts;
    let named = this.#named.get(facts);
    if (named === undefined) {
      named = { ...facts, at };
      this.#named.set(facts, named);
      this.#keep({ facts: named, token, made: new Map() });
    } else if (this.of(facts.principal) === undefined) {
      this.#keep({ facts: named, token, made: new Map() });
    }
    return named;
  };

  /** The token of a caller; undefined when there is none, or when it has expired or was revoked. */
  of(principal: Principal): HeldToken | undefined {
    const held = this.#held.get(principal);
    if (held === undefined || this.#isGood(held)) return held;
    this.#held.delete(principal);
    return undefined;
  }

  /** Something was revoked: drops invalid tokens, and the tokens derived from them. */
  review(): void {
    for (const [principal, held] of this.#held) if (!this.#isGood(held)) this.#held.delete(principal);
  }

  /** The configuration of servers has changed. */
  forgetMade(): void {
    for (const { made } of this.#held.values()) made.clear();
  }

  /** A newer token of a caller takes the place of the one before: its rights may be others. */
  #keep(held: HeldToken): void {
    if (!this.#isGood(held)) return;
    const { principal } = held.facts;
    this.#held.delete(principal);
    this.#held.set(principal, held);
    let left = checkedEach;
    for (const [oldest, each] of this.#held) {
      if (this.#held.size > maxHeld || !this.#isGood(each)) this.#held.delete(oldest);
      left -= 1;
      if (left === 0) break;
    }
  }

  #isGood({ facts }: HeldToken): boolean {
    return (facts.expiresAt === undefined || Date.now() < facts.expiresAt) && this.#options.holds(facts);
  }
}
