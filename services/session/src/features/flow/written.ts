/**
 * The conversations without sessions whose records a worker has written.
 * They are counted, so that expired records leave the bucket, and one caller does not fill it.
 */

/** Bound on the conversations of one caller at a worker: their records take a twelfth of the bucket. */
const maxOfCaller = 10_000;

interface Written {
  readonly who: string;
  readonly until: number;
}

export class WrittenConversations {
  /** By id, the one that was written last at the end. */
  readonly #byId = new Map<string, Written>();
  readonly #counts = new Map<string, number>();

  /**
   * Conversations that have expired do not count, though their records are still to be removed.
   * @param who names the caller.
   * @param now in milliseconds since 1970.
   * @returns whether the caller has so many conversations that it may not begin this one.
   */
  isFull(who: string, id: string, now: number): boolean {
    const count = this.#counts.get(who) ?? 0;
    if (this.#byId.has(id) || count < maxOfCaller) return false;
    return count - this.due(now).filter(([, written]) => written.who === who).length >= maxOfCaller;
  }

  /** @param until when the record expires, in milliseconds since 1970. */
  wrote(id: string, written: Written): void {
    this.forget(id);
    this.#byId.set(id, written);
    this.#counts.set(written.who, (this.#counts.get(written.who) ?? 0) + 1);
  }

  forget(id: string): void {
    const written = this.#byId.get(id);
    if (written === undefined) return;
    this.#byId.delete(id);
    const left = (this.#counts.get(written.who) ?? 1) - 1;
    if (left === 0) this.#counts.delete(written.who);
    else this.#counts.set(written.who, left);
  }

  /** The conversations that have expired, unless another worker has kept them. */
  due(now: number): readonly (readonly [id: string, written: Written])[] {
    const found: (readonly [string, Written])[] = [];
    for (const entry of this.#byId) {
      if (entry[1].until > now) break;
      found.push(entry);
    }
    return found;
  }
}
