/**
 * Token buckets: a burst of events, then as many as tokens come back with time. `limiter` and `rate-limiter-flexible` do not fit: they take tokens on the
 * path of messages, so without a promise or a timer; tokens can be returned; and tables of names have a bound.
 */
import { setLast } from '@omnibus/collections';

export interface TokenBucketOptions {
  /** Tokens of a full bucket. */
  readonly burst: number;
  /** Milliseconds until one token has come back. */
  readonly everyMs: number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export class TokenBucket {
  readonly #options: Required<TokenBucketOptions>;
  #left: number;
  /** Time at which `#left` was computed. */
  #at: number;
  #refused = 0;

  constructor({ burst, everyMs, now = () => performance.now() }: TokenBucketOptions) {
    this.#options = { burst, everyMs, now };
    this.#left = burst;
    this.#at = now();
  }

  /** A bucket with a burst of `count`, and as many tokens each second. */
  static perSecond(count: number): TokenBucket {
    return new TokenBucket({ burst: count, everyMs: 1_000 / count });
  }

  /** Takes a token. @returns false when there is none. */
  take(): boolean {
    this.#fill();
    if (this.#left < 1) {
      this.#refused += 1;
      return false;
    }
    this.#left -= 1;
    return true;
  }

  /** What took a token does not count after all. */
  giveBack(): void {
    this.#fill();
    this.#left = Math.min(this.#options.burst, this.#left + 1);
  }

  /** Whole seconds until there is a token, as of the last `take`. */
  get waitSeconds(): number {
    return Math.max(0, Math.ceil(((1 - this.#left) * this.#options.everyMs) / 1_000));
  }

  /** Number of times that there was no token since the last call. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }

  #fill(): void {
    const { burst, everyMs, now } = this.#options;
    const at = now();
    this.#left = Math.min(burst, this.#left + (at - this.#at) / everyMs);
    this.#at = at;
  }
}

export interface TokenBucketsOptions extends TokenBucketOptions {
  /** Names that are remembered; beyond that the least recently used one is forgotten, which has most of its tokens back. */
  readonly maxNames: number;
}

/** A bucket for each name, such as a user or an address. */
export class TokenBuckets {
  readonly #options: TokenBucketsOptions;
  /** Buckets by name, the least recently used first. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(options: TokenBucketsOptions) {
    this.#options = options;
  }

  /** Takes a token. @returns 0, or the whole seconds until there is one when there is none. */
  take(name: string): number {
    const known = this.#buckets.get(name) ?? new TokenBucket(this.#options);
    const bucket = setLast(this.#buckets, name, known, this.#options.maxNames);
    return bucket.take() ? 0 : bucket.waitSeconds;
  }

  /** What took a token does not count after all. */
  giveBack(name: string): void {
    this.#buckets.get(name)?.giveBack();
  }
}
