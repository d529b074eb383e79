/**
 * The credentials of callers for a server that is called with tokens made from theirs (`credentials: { kind: exchange | enterprise }`). A caller's own token
 * stays at the edge that received it; the backend asks that edge for another one, for this server and this caller alone.
 */
import type { JsonWebKey } from 'node:crypto';
import { setLast } from '@omnibus/collections';
import {
  CredentialProblem,
  NoCredentials,
  Prover,
  type Challenge,
  type HeaderSource,
  type SentHeaders,
  type TokenReceiver,
} from '@omnibus/credentials';
import {
  tokenDigest,
  type CallerTokenAsk,
  type CallerTokenReply,
  type ExchangeContext,
  type Principal,
  type ServerName,
  type Who,
  type WorkerId,
} from '@omnibus/protocol';
import type { UserAccounts } from './user-accounts.ts';

/** Asks an edge. @throws {CredentialProblem} when it does not answer. */
export type AskEdge = (edge: WorkerId, ask: CallerTokenAsk) => Promise<CallerTokenReply>;

export interface CallerAccountsOptions {
  readonly server: ServerName;
  readonly receiver: TokenReceiver;
  readonly ask: AskEdge;
  /** Whether a directory has deactivated, deleted or renamed a caller. */
  readonly isGone: (who: Who) => boolean;
  /** Counts and logs questions to edges that are not answered; requests to issuers are counted at the edge. */
  readonly failed: (problem: string) => void;
}

/** Bound on callers with cached tokens in a process, more than can have connections at a time (`maxConnections`); the one met longest ago is dropped first. */
const maxCallers = 10_000;
/**
 * After this time the backend asks the edge again, which costs it nothing while its own token is good: so a token of a caller whose own was revoked is not used for
 * longer, although only the edge learns of that.
 */
const leaseMs = 60_000;
const nothingWanted: Challenge = { resourceMetadata: undefined, scope: undefined, error: undefined };

export class CallerAccounts implements UserAccounts {
  readonly areSeveral = true;
  readonly base = new NoCredentials();
  readonly #options: CallerAccountsOptions;
  readonly #callers = new Map<Principal, CallerToken>();

  constructor(options: CallerAccountsOptions) {
    this.#options = options;
  }

  get wantsSignIn(): boolean {
    return this.base.wanted !== undefined;
  }

  of(principal: Principal): CallerToken {
    const known = this.#callers.get(principal) ?? new CallerToken(this.#options, principal, this.base);
    return setLast(this.#callers, principal, known, maxCallers);
  }

  /** A call or a reading of lists comes from this caller, and from the caller's present edge. */
  met({ principal, who }: Pick<ExchangeContext, 'principal' | 'who'>): void {
    if (who?.at !== undefined) this.of(principal).who = who;
  }

  /** Forgets callers that a directory has removed, since another person may get the name. @returns their principals. */
  forgetGone(isGone: (who: Who) => boolean): readonly Principal[] {
    const gone = [...this.#callers].flatMap(([principal, { who }]) =>
      who !== undefined && isGone(who) ? principal : [],
    );
    for (const principal of gone) this.#callers.delete(principal);
    return gone;
  }

  changed(): Promise<'same'> {
    return Promise.resolve('same');
  }
}

export class CallerToken implements HeaderSource {
  /** The caller, with the edge that has its token; undefined for one that was known by something else than a token. */
  who: Who | undefined;
  readonly #options: CallerAccountsOptions;
  readonly #principal: Principal;
  readonly #base: NoCredentials;
  #held: { readonly headers: SentHeaders; readonly until: number; readonly prover: Prover | undefined } | undefined;
  #asking: Promise<SentHeaders> | undefined;
  #refused: { readonly digest: string; readonly challenge: Challenge } | undefined;
  #wanted: Challenge | undefined;
  #secrets: readonly string[] = [];
  #prover: Prover | undefined;

  /** @param base of the shared connection, which knows the server's demand. */
  constructor(options: CallerAccountsOptions, principal: Principal, base: NoCredentials) {
    this.#base = base;
    this.#options = options;
    this.#principal = principal;
  }

  /** Set while there is no token for this caller that the server accepts. */
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

  ask(): Promise<SentHeaders> {
    const { current } = this;
    if (current !== undefined) return Promise.resolve(current);
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async refused(sent: SentHeaders, challenge: Challenge): Promise<boolean> {
    // Only the issuer decides which rights the user's token gives.
    if (challenge.error === 'insufficient_scope') return false;
    if (this.#held !== undefined && !this.#holds(sent)) return true;
    this.#held = undefined;
    this.#refused = { digest: tokenDigest(sent['authorization'] ?? ''), challenge };
    await this.ask();
    return true;
  }

  gaveUp(sent: SentHeaders, challenge: Challenge): Promise<false> {
    if (this.#holds(sent)) this.#held = undefined;
    this.#wanted = challenge;
    return Promise.resolve(false);
  }

  prove(sent: SentHeaders, method: string, address: string): SentHeaders | undefined {
    return this.#held?.prover?.headersFor(sent, method, address);
  }

  noteNonce(address: string, nonce: string): void {
    this.#held?.prover?.note(address, nonce);
  }

  /** Whether a token is the present one, which the edge may have given more than once. */
  #holds(sent: SentHeaders): boolean {
    return this.#held?.headers['authorization'] === sent['authorization'];
  }

  async #ask(): Promise<SentHeaders> {
    try {
      const given = await this.#given();
      const headers = { authorization: given.authorization };
      const [, token = ''] = given.authorization.split(' ');
      // Requests with the previous token may still be in flight, so it stays a secret.
      this.#secrets = [...new Set([token, ...this.#secrets])].slice(0, 2);
      this.#held = {
        headers,
        until: Math.min(given.until, Date.now() + leaseMs),
        prover: this.#proverOf(given.proofKey),
      };
      this.#wanted = undefined;
      return headers;
    } catch (error) {
      this.#wanted = this.#refused?.challenge ?? nothingWanted;
      throw error;
    }
  }

  #proverOf(key: JsonWebKey | undefined): Prover | undefined {
    if (key === undefined) return undefined;
    if (this.#prover?.x !== key.x) this.#prover = new Prover(key);
    return this.#prover;
  }

  async #given(): ReturnType<TokenReceiver['open']> {
    const { server, receiver, ask, failed } = this.#options;
    const { who } = this;
    const edge = who?.at;
    if (who === undefined || edge === undefined)
      throw new CredentialProblem(
        'the server is called with tokens that are made from those of its callers, and this caller is known by something else, such as an API key, a certificate or a proxy',
      );
    // The edge may not have heard of it yet.
    if (this.#options.isGone(who))
      throw new CredentialProblem('a directory has deactivated, deleted or renamed this caller (SCIM)');
    const {
      digest,
      challenge: { resourceMetadata, scope, isProofWanted },
    } = this.#refused ?? { digest: undefined, challenge: this.#base.wanted ?? nothingWanted };
    const reply = await ask(edge, {
      server,
      principal: this.#principal,
      key: { ...(await receiver.key()) },
      ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
      ...(scope === undefined ? {} : { scope }),
      ...(isProofWanted === undefined ? {} : { isProofWanted }),
      ...(digest === undefined ? {} : { refused: digest }),
    }).catch((error: unknown) => {
      if (error instanceof CredentialProblem) failed(error.message);
      throw error;
    });
    if (reply.kind === 'failed') throw new CredentialProblem(reply.problem, { isPassing: reply.isPassing });
    try {
      return await receiver.open(reply.sealed, server, this.#principal);
    } catch (error) {
      throw new CredentialProblem('the edge gave a token that cannot be read here', { cause: error });
    }
  }
}
