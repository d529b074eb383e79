/**
 * How often something may be tried: so many at once, and then one in a while. What fails is counted under a name, such as a user or an address;
 * the table is bounded, and the one that was asked about longest ago goes first.
 */
interface Bucket {
  /** Attempts that are left. */
  left: number;
  /** Monotonic milliseconds at which that was so. */
  at: number;
}

const maxNames = 10_000;

export class Throttle {
  readonly #burst: number;
  readonly #everyMs: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ burst, everyMs, now = () => performance.now() }: { readonly burst: number; readonly everyMs: number; readonly now?: () => number }) {
    this.#burst = burst;
    this.#everyMs = everyMs;
    this.#now = now;
  }

  /** Counts an attempt. @returns seconds to wait when there are none left, and it is not one. */
  take(name: string): number {
    const bucket = this.#bucket(name);
    if (bucket.left < 1) return Math.ceil((1 - bucket.left) * this.#everyMs / 1_000);
    bucket.left -= 1;
    return 0;
  }

  /** It went well, so that it does not count. */
  giveBack(name: string): void {
    const bucket = this.#buckets.get(name);
    if (bucket !== undefined) bucket.left = Math.min(this.#burst, bucket.left + 1);
  }

  #bucket(name: string): Bucket {
    const now = this.#now();
    const before = this.#buckets.get(name);
    const bucket = before === undefined ? { left: this.#burst, at: now } : { left: Math.min(this.#burst, before.left + (now - before.at) / this.#everyMs), at: now };
    this.#buckets.delete(name);
    if (this.#buckets.size >= maxNames) this.#buckets.delete(this.#buckets.keys().next().value as string);
    this.#buckets.set(name, bucket);
    return bucket;
  }
}
