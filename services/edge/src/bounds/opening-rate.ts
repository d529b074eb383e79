/** How fast one address may open sessions: a bucket of tokens that fills with time. */
import { fault, type GatewayFault } from '@omnibus/protocol';

export interface OpeningRateOptions {
  /** Tokens of a bucket that is full. */
  readonly burst: number;
  readonly perSecond: number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Addresses that are remembered: a few MB. Beyond it, the one that opened nothing for longest is forgotten, which has most of its tokens back. */
const maxAddresses = 20_000;

export class OpeningRate {
  readonly #burst: number;
  readonly #perMs: number;
  readonly #now: () => number;
  /** The address that took a token longest ago first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor({ burst, perSecond, now = () => performance.now() }: OpeningRateOptions) {
    this.#burst = burst;
    this.#perMs = perSecond / 1_000;
    this.#now = now;
  }

  /** Takes a token. @returns why no session may be opened when there is none. */
  refuses(address: string): GatewayFault | undefined {
    const retryAfterSeconds = this.take(address);
    return retryAfterSeconds === undefined ? undefined : fault('session.rate', undefined, { retryAfterSeconds });
  }

  /** Takes a token. @returns undefined when there was one, else the whole seconds until there is. */
  take(address: string): number | undefined {
    const tokens = this.#tokensOf(address);
    if (tokens < 1) return Math.ceil((1 - tokens) / this.#perMs / 1_000);
    this.#put(address, tokens - 1);
    return undefined;
  }

  /** A session that was opened is over. */
  giveBack(address: string): void {
    if (this.#buckets.has(address)) this.#put(address, Math.min(this.#burst, this.#tokensOf(address) + 1));
  }

  #tokensOf(address: string): number {
    const bucket = this.#buckets.get(address);
    return bucket === undefined ? this.#burst : Math.min(this.#burst, bucket.tokens + (this.#now() - bucket.at) * this.#perMs);
  }

  #put(address: string, tokens: number): void {
    this.#buckets.delete(address);
    if (this.#buckets.size >= maxAddresses) {
      const [oldest] = this.#buckets.keys();
      this.#buckets.delete(oldest as string);
    }
    this.#buckets.set(address, { tokens, at: this.#now() });
  }
}
