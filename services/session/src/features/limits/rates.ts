/**
 * Limits how often something happens for each key, over all session workers: each worker has a bucket (GCRA: one number a key), and tells the others at
 * intervals how much it took. They subtract that even from an empty bucket, which is then in debt, and refuse until the debt is repaid.
 */

export interface Rate {
  /** Milliseconds in which one unit is refilled. */
  readonly everyMs: number;
  /** Units of a full bucket. */
  readonly burst: number;
}

/** Bound on buckets, of about 200 bytes each. Keys consist of callers and existing names, so clients cannot invent them; the bucket used longest ago, which is dropped first, is mostly full. */
const maxKeys = 50_000;

export class Rates {
  readonly #now: () => number;
  /** The time at which each bucket is full again; the key used longest ago is first. */
  readonly #fullAt = new Map<string, number>();
  /** Units taken here of which the other workers have not been told. */
  #untold = new Map<string, number>();

  readonly #isShared: boolean;

  /** @param isShared whether other workers are told. @param now monotonic milliseconds. */
  constructor(isShared: boolean, now: () => number = () => performance.now()) {
    this.#isShared = isShared;
    this.#now = now;
  }

  get size(): number {
    return this.#fullAt.size;
  }

  /** Takes one unit. @returns 0 on success, else the milliseconds until there is one. */
  take(key: string, { everyMs, burst }: Rate): number {
    const now = this.#now();
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now);
    const waitMs = fullAt + everyMs - (now + burst * everyMs);
    if (waitMs > 0.001) return Math.ceil(waitMs);
    this.#put(key, fullAt + everyMs);
    if (this.#isShared) this.#note(key, 1);
    return 0;
  }

  /** Returns the unit of a call that was not executed. */
  giveBack(key: string, { everyMs }: Rate): void {
    const fullAt = this.#fullAt.get(key);
    if (fullAt !== undefined) this.#put(key, fullAt - everyMs);
    if (this.#isShared) this.#note(key, -1);
  }

  /** Called when another worker has taken units, or given them back. */
  hear(key: string, count: number, { everyMs }: Rate): void {
    const now = this.#now();
    this.#put(key, Math.max(now, this.#fullAt.get(key) ?? now) + count * everyMs);
  }

  /** The units taken here since the last call of this function. */
  told(): readonly (readonly [key: string, count: number])[] {
    const untold = [...this.#untold].filter(([, count]) => count !== 0);
    this.#untold = new Map();
    return untold;
  }

  #note(key: string, count: number): void {
    this.#untold.set(key, (this.#untold.get(key) ?? 0) + count);
  }

  #put(key: string, fullAt: number): void {
    this.#fullAt.delete(key);
    this.#fullAt.set(key, fullAt);
    if (this.#fullAt.size > maxKeys) this.#fullAt.delete(this.#fullAt.keys().next().value as string);
  }
}
