/**
 * Tokens that were checked before, under a digest and never themselves. An unknown token is checked once, however often it comes at that moment. Refused
 * tokens have a small table of their own, so that garbage pushes no valid token out.
 */
import { hash } from 'node:crypto';
import { fault, type GatewayFault } from '@omnibus/protocol';
import type { Proof } from './issuers/claims.ts';
import type { Outcome } from './issuers/issuer.ts';

type Looked = Proof | { readonly fault: GatewayFault };

interface Entry<Value> {
  readonly value: Value;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/** Bound on known tokens; an entry has about a kilobyte. */
const maxKnown = 10_000;
const knownMs = 300_000;
/** How long an issuer's answer about a token is cached: it may change within a minute. */
const askedMs = 60_000;
const maxRefused = 2_000;
const refusedMs = 5_000;
/** Bounds on simultaneous checks, for all clients and for one address: each costs a request to an issuer or a tenth of a millisecond. */
const maxLooking = 1_000;
const maxLookingPerAddress = 100;
/** Bound on those that wait for their turn: behind one address there may be many clients, which all come at once after a restart. */
const maxWaitingPerAddress = 1_000;
/** Milliseconds after which no request waits any more: a silent issuer delays each turn. */
const maxWaitMs = 5_000;

/** The checks for one address. */
interface Share {
  running: number;
  /** Each is called when it is its turn. */
  readonly waiting: (() => void)[];
}

const busy: Looked = {
  fault: fault('auth.unavailable', 'as many unknown tokens are being looked at as may be at once'),
};

export class KnownTokens {
  /** The oldest comes first. */
  readonly #known = new Map<string, Entry<Proof>>();
  readonly #refused = new Map<string, Entry<GatewayFault>>();
  readonly #looking = new Map<string, Promise<Looked>>();
  readonly #shares = new Map<string, Share>();
  #running = 0;
  /** How often accepted tokens were forgotten. */
  #forgotten = 0;

  digestOf(token: string): string {
    return hash('sha256', token, 'base64url');
  }

  /** The known result for a token; undefined when it must be checked. */
  find(digest: string): Looked | undefined {
    const known = this.#known.get(digest);
    if (known !== undefined && performance.now() < known.until) return known.value;
    const refused = this.#refused.get(digest);
    return refused !== undefined && performance.now() < refused.until ? { fault: refused.value } : undefined;
  }

  /** Forgets accepted tokens, for example when a key that verified some of them is none any more. */
  forgetKnown(): void {
    this.#known.clear();
    this.#forgotten += 1;
  }

  /** Checks a token. @param address of its sender. */
  look(digest: string, address: string, isAsked: boolean, verify: () => Promise<Outcome>): Promise<Looked> {
    const looking = this.#looking.get(digest);
    if (looking !== undefined) return looking;
    const share = this.#shares.get(address) ?? { running: 0, waiting: [] };
    if (this.#running >= maxLooking || share.waiting.length >= maxWaitingPerAddress) return Promise.resolve(busy);
    this.#shares.set(address, share);
    const looked = this.#inTurn(share, () => this.#look(digest, isAsked, verify)).finally(() => {
      this.#looking.delete(digest);
      if (share.running === 0) this.#shares.delete(address);
    });
    this.#looking.set(digest, looked);
    return looked;
  }

  async #inTurn(share: Share, look: () => Promise<Looked>): Promise<Looked> {
    const cameAt = performance.now();
    if (share.running < maxLookingPerAddress) {
      share.running += 1;
      this.#running += 1;
    } else await new Promise<void>((resolve) => share.waiting.push(resolve)); // Takes the place of one that has ended.
    try {
      return performance.now() - cameAt > maxWaitMs ? busy : await look();
    } finally {
      const next = share.waiting.shift();
      if (next !== undefined) next();
      else {
        share.running -= 1;
        this.#running -= 1;
      }
    }
  }

  async #look(digest: string, isAsked: boolean, verify: () => Promise<Outcome>): Promise<Looked> {
    const forgotten = this.#forgotten;
    const outcome = await verify();
    if ('fault' in outcome) {
      if (outcome.fault.reason === 'auth.invalid')
        put(this.#refused, digest, { value: outcome.fault, until: performance.now() + refusedMs }, maxRefused);
      return outcome;
    }
    // If tokens were forgotten meanwhile, this one may have been checked with a key that its issuer has removed.
    if (forgotten === this.#forgotten)
      put(this.#known, digest, { value: outcome, until: performance.now() + (isAsked ? askedMs : knownMs) }, maxKnown);
    return outcome;
  }
}

function put<Value>(table: Map<string, Entry<Value>>, digest: string, entry: Entry<Value>, max: number): void {
  table.delete(digest);
  if (table.size >= max) table.delete(table.keys().next().value as string);
  table.set(digest, entry);
}
