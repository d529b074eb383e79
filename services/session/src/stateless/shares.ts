/** Counts per client and in total, with a limit for each: a client reaches its share before the total is used up. */

export interface ShareLimits {
  /** The limit of one client. */
  readonly share: { readonly name: string; readonly value: number };
  /** The limit of all clients together. */
  readonly total: { readonly name: string; readonly value: number };
}

export class Shares {
  readonly #limits: ShareLimits;
  readonly #counts = new Map<string, number>();
  #size = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** Takes a place. @returns which limit is reached, in words; undefined when there was a place. */
  take(holder: string): string | undefined {
    const { share, total } = this.#limits;
    const count = this.#counts.get(holder) ?? 0;
    if (count >= share.value) return `limits.${share.name}, ${share.value} of one client, is reached`;
    if (this.#size >= total.value) return `limits.${total.name}, ${total.value} of all clients, is reached`;
    this.#counts.set(holder, count + 1);
    this.#size += 1;
    return undefined;
  }

  /** Gives a place back. */
  leave(holder: string): void {
    const left = (this.#counts.get(holder) ?? 0) - 1;
    if (left > 0) this.#counts.set(holder, left);
    else this.#counts.delete(holder);
    this.#size -= 1;
  }
}
