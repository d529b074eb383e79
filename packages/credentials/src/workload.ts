/**
 * Tokens that a server's issuer issues without a sign-in there: in the gateway's own name, as a client of the issuer (RFC 6749, 4.4) or by an assertion
 * that the platform it runs on gives it (RFC 7523, 2.1); or in the name of a user that is known already (`grants.ts`). One request at a time asks the issuer, however many callers wait; a token is replaced before it
 * expires, while it can still be used, and only if it is in use.
 */
import type { Challenge } from './challenge.ts';
import { discover, type Discovered } from './discovery.ts';
import type { Grant } from './grants.ts';
import { CredentialProblem, type Fetch } from './outbound.ts';
import { Pause } from './pause.ts';
import type { HeaderSource, SentHeaders } from './source.ts';
import type { JsonWebKey } from 'node:crypto';
import { canBind, newProofKey, Prover } from './proof-of-possession.ts';
import { requestTokens, type ClientIdentity, type Tokens } from './token-request.ts';

export interface WorkloadOptions {
  readonly fetch: Fetch;
  readonly url: string;
  readonly client: ClientIdentity;
  /** Reads the platform's assertion, again for each request; undefined when the client authenticates with a secret or key of its own. */
  readonly assertion?: (() => string) | undefined;
  /** The requests for tokens in the name of a user; left out for tokens in the gateway's own name. */
  readonly grant?: Grant | undefined;
  readonly issuer: string | undefined;
  /** The server's demand for requests without credentials, if known. */
  readonly challenge?: Challenge | undefined;
  readonly scope: string | undefined;
  /** Whether tokens are requested for this server only (RFC 8707). */
  readonly namesResource: boolean;
  readonly asked: (outcome: 'good' | 'refused' | 'unavailable', problem?: string) => void;
}

const [clientCredentials, jwtBearer] = ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer'];
/** Life of a token without an expiry. */
const unknownLifeMs = 10 * 60_000;
/** Part of its life after which a token is replaced; a random bit sooner, so that replicas do not all ask at once. */
const [renewAfter, renewSpread] = [0.8, 0.1];
/** A token is not used this shortly before it expires, since it might expire on its way. */
const marginMs = 5_000;

interface Held {
  readonly headers: SentHeaders;
  readonly renewAt: number;
  readonly until: number;
}

export class WorkloadTokens implements HeaderSource {
  readonly #options: WorkloadOptions;
  #discovered: Discovered | undefined;
  #challenge: Challenge | undefined;
  #held: Held | undefined;
  #asking: Promise<SentHeaders> | undefined;
  readonly #pause = new Pause();
  /** That of the client, if it has one, then the last two tokens. */
  #secrets: readonly string[];
  /** Makes proofs for tokens that are bound to a key of this process. */
  #prover: Prover | undefined;
  #proofKey: JsonWebKey | undefined;

  constructor(options: WorkloadOptions) {
    this.#options = options;
    this.#challenge = options.challenge;
    this.#secrets = [options.client.clientSecret ?? []].flat();
  }

  get secrets(): readonly string[] {
    return this.#secrets;
  }

  get current(): SentHeaders | undefined {
    const held = this.#held;
    const now = Date.now();
    if (held === undefined || now >= held.until) return undefined;
    // The current token is used meanwhile; a failure matters only to a caller that finds no valid token.
    if (now >= held.renewAt && this.#pause.problem() === undefined) this.#ask().catch(() => undefined);
    return held.headers;
  }

  /** Milliseconds since 1970 until which the current token may be used; 0 when there is none. */
  get until(): number {
    return this.#held?.until ?? 0;
  }

  /** The key that tokens are bound to; undefined before the first such token. */
  get proofKey(): JsonWebKey | undefined {
    return this.#proofKey;
  }

  ask(): Promise<SentHeaders> {
    const { current } = this;
    if (current !== undefined) return Promise.resolve(current);
    const problem = this.#pause.problem();
    return problem === undefined ? this.#ask() : Promise.reject(problem);
  }

  async refused(sent: SentHeaders, challenge: Challenge): Promise<boolean> {
    // Only the issuer's operator can give the gateway more rights.
    if (challenge.error === 'insufficient_scope') return false;
    // The refused token has been replaced already.
    if (this.#held !== undefined && this.#held.headers['authorization'] !== sent['authorization']) return true;
    this.#held = undefined;
    this.#challenge = challenge;
    // The server may trust another issuer now, so its metadata are read again.
    this.#discovered = undefined;
    await this.ask();
    return true;
  }

  gaveUp(sent: SentHeaders): Promise<false> {
    if (this.#held?.headers['authorization'] === sent['authorization']) this.#held = undefined;
    this.#discovered = undefined;
    return Promise.resolve(false);
  }

  #ask(): Promise<SentHeaders> {
    this.#asking ??= this.#request().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #request(): Promise<SentHeaders> {
    const { asked } = this.#options;
    try {
      const held = this.#hold(await this.#tokens());
      this.#held = held;
      this.#pause.end();
      asked('good');
      return held.headers;
    } catch (error) {
      const problem =
        error instanceof CredentialProblem
          ? error
          : new CredentialProblem('a token could not be asked for', { cause: error });
      this.#pause.failed(problem);
      asked(problem.isPassing ? 'unavailable' : 'refused', problem.message);
      throw problem;
    }
  }

  async #tokens(): Promise<Tokens> {
    const { fetch, url, client, assertion, grant, issuer, scope: configured, namesResource } = this.#options;
    this.#discovered ??= await discover({ fetch, url, issuer, resourceMetadata: this.#challenge?.resourceMetadata });
    const { server, resource, scopes, isProofWanted = false } = this.#discovered;
    const isBound = (isProofWanted || this.#challenge?.isProofWanted === true) && canBind(server);
    if (isBound) {
      this.#proofKey ??= newProofKey();
      this.#prover ??= new Prover(this.#proofKey);
    }
    const wanted = {
      fetch,
      server,
      scope: configured ?? this.#challenge?.scope ?? scopes,
      resource: namesResource ? resource : undefined,
      prover: isBound ? this.#prover : undefined,
    };
    if (grant !== undefined) return grant(wanted);
    const { scope, resource: named, prover } = wanted;
    return requestTokens({
      fetch,
      server,
      client,
      grant: assertion === undefined ? clientCredentials : jwtBearer,
      parameters: { scope, resource: named, assertion: assertion?.() },
      prover,
    });
  }

  prove(sent: SentHeaders, method: string, address: string): SentHeaders | undefined {
    return this.#prover?.headersFor(sent, method, address);
  }

  noteNonce(address: string, nonce: string): void {
    this.#prover?.note(address, nonce);
  }

  #hold({ accessToken, expiresAt, isBound }: Tokens): Held {
    const now = Date.now();
    const life = (expiresAt ?? now + unknownLifeMs) - now;
    // Requests with the previous token may still be in flight, so it stays a secret.
    this.#secrets = [
      ...new Set([this.#options.client.clientSecret ?? [], this.#secrets.at(-1) ?? [], accessToken].flat()),
    ];
    return {
      headers: { authorization: `${isBound === true ? 'DPoP' : 'Bearer'} ${accessToken}` },
      renewAt: now + life * (renewAfter - renewSpread * Math.random()),
      until: now + Math.max(life - marginMs, life / 2),
    };
  }
}
