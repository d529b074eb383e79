/** Counts the running calls of each key, here and at other session workers, as far as these have reported them. */
import type { WorkerId } from '@omnibus/protocol';

/** Time without a report after which the calls of a worker no longer count: a worker with running calls reports more often (`sayAgainMs`). */
const forgottenMs = 6_000;
export const sayAgainMs = 2_000;

interface Other {
  readonly counts: Map<string, number>;
  heardAt: number;
}

export class Running {
  readonly #now: () => number;
  readonly #here = new Map<string, number>();
  readonly #others = new Map<WorkerId, Other>();
  #untold = new Set<string>();

  readonly #isShared: boolean;

  /** @param isShared whether other workers are told. @param now monotonic milliseconds. */
  constructor(isShared: boolean, now: () => number = () => performance.now()) {
    this.#isShared = isShared;
    this.#now = now;
  }

  get size(): number {
    return this.#here.size;
  }

  /** Counts a call that begins. @returns false when the limit is reached. */
  take(key: string, most: number): boolean {
    const here = this.#here.get(key) ?? 0;
    const elsewhere = this.#others.size === 0 ? 0 : this.#elsewhere(key);
    if (here + elsewhere >= most) return false;
    this.#here.set(key, here + 1);
    if (this.#isShared) this.#untold.add(key);
    return true;
  }

  leave(key: string): void {
    const left = (this.#here.get(key) ?? 1) - 1;
    if (left === 0) this.#here.delete(key);
    else this.#here.set(key, left);
    if (this.#isShared) this.#untold.add(key);
  }

  /**
   * @param counts how many run there, of each key that has changed.
   * @param isAll whether the counts are complete, so that keys that are not named have none: the report of their end may have been lost.
   */
  hear(worker: WorkerId, counts: readonly (readonly [key: string, count: number])[], isAll = false): void {
    // A message about rates alone says nothing about running calls.
    if (counts.length === 0 && !isAll) return;
    const other = this.#others.get(worker) ?? { counts: new Map<string, number>(), heardAt: 0 };
    if (isAll) other.counts.clear();
    this.#others.set(worker, other);
    other.heardAt = this.#now();
    for (const [key, count] of counts) {
      if (count <= 0) other.counts.delete(key);
      else other.counts.set(key, count);
    }
    if (other.counts.size === 0) this.#others.delete(worker);
  }

  /** Changes since the last call. @param all running calls, whether or not they have changed. */
  told(all: boolean): readonly (readonly [key: string, count: number])[] {
    const keys = all ? new Set([...this.#untold, ...this.#here.keys()]) : this.#untold;
    this.#untold = new Set();
    return [...keys].map((key) => [key, this.#here.get(key) ?? 0] as const);
  }

  #elsewhere(key: string): number {
    const now = this.#now();
    let count = 0;
    for (const [worker, { counts, heardAt }] of this.#others) {
      if (now - heardAt > forgottenMs) this.#others.delete(worker);
      else count += counts.get(key) ?? 0;
    }
    return count;
  }
}
