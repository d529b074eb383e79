/**
 * How often something may happen, for each key, over all session workers: a bucket here (GCRA: one number a key), and what others took, told every
 * so often. What they took is subtracted whether or not it was there, so that a bucket may be in debt, and is refused from until that is repaid.
 */

export interface Rate {
  /** Milliseconds in which one comes back. */
  readonly everyMs: number;
  /** So many at once. */
  readonly burst: number;
}

/** About 200 bytes each. Keys are made of callers and of names that exist, so nobody makes them up; who was seen longest ago has most of his back. */
const maxKeys = 50_000;

export class Rates {
  readonly #now: () => number;
  /** When a bucket is full again; the key that was taken from longest ago first. */
  readonly #fullAt = new Map<string, number>();
  /** What was taken here and not told yet. */
  #untold = new Map<string, number>();

  /** @param now monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#fullAt.size;
  }

  /** @returns 0 when one was taken, else the milliseconds until one is there. */
  take(key: string, { everyMs, burst }: Rate): number {
    const now = this.#now();
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now);
    const waitMs = fullAt + everyMs - (now + burst * everyMs);
    if (waitMs > 0.001) return Math.ceil(waitMs);
    this.#put(key, fullAt + everyMs);
    this.#note(key, 1);
    return 0;
  }

  /** What took one was not done. */
  giveBack(key: string, { everyMs }: Rate): void {
    const fullAt = this.#fullAt.get(key);
    if (fullAt !== undefined) this.#put(key, fullAt - everyMs);
    this.#note(key, -1);
  }

  /** Another worker took so many, or gave them back. */
  hear(key: string, count: number, { everyMs }: Rate): void {
    const now = this.#now();
    this.#put(key, Math.max(now, this.#fullAt.get(key) ?? now) + count * everyMs);
  }

  /** What was taken here since this was asked last. */
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
