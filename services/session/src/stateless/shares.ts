/** How many of something each client has and how many there are: a client's share is used up before the whole. */

export interface ShareLimits {
  /** Of one client. */
  readonly share: { readonly name: string; readonly value: number };
  /** Of all. */
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

  /** @returns which limit is reached, in words; undefined when there was room, which is taken then. */
  take(holder: string): string | undefined {
    const { share, total } = this.#limits;
    const count = this.#counts.get(holder) ?? 0;
    if (count >= share.value) return `limits.${share.name}, ${share.value} of one client, is reached`;
    if (this.#size >= total.value) return `limits.${total.name}, ${total.value} of all clients, is reached`;
    this.#counts.set(holder, count + 1);
    this.#size += 1;
    return undefined;
  }

  /** Gives back what was taken. */
  leave(holder: string): void {
    const left = (this.#counts.get(holder) ?? 0) - 1;
    if (left > 0) this.#counts.set(holder, left);
    else this.#counts.delete(holder);
    this.#size -= 1;
  }
}
