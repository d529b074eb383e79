/** Counts per client and in total, with a limit for each: a client reaches its share before the total is used up. */

import type { Caller } from '@omnibus/protocol';

export interface ShareLimits {
  /** The limit of one client. */
  readonly share: { readonly name: string; readonly value: number };
  /** The limit of all clients together. */
  readonly total: { readonly name: string; readonly value: number };
}

interface Count {
  taken: number;
}

/** Clients without a place that are remembered: a table to which each call adds an entry and removes it wears out (`ring.ts`). */
const maxUnused = 1_000;

export class Shares {
  readonly #limits: ShareLimits;
  readonly #counts = new Map<string, Count>();
  #size = 0;
  #unused = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** Takes a place. @returns which limit is reached, in words; undefined when there was a place. */
  take(holder: string): string | undefined {
    const { share, total } = this.#limits;
    const count = this.#counts.get(holder);
    if ((count?.taken ?? 0) >= share.value) return `limits.${share.name}, ${share.value} of one client, is reached`;
    if (this.#size >= total.value) return `limits.${total.name}, ${total.value} of all clients, is reached`;
    this.#size += 1;
    if (count === undefined) this.#counts.set(holder, { taken: 1 });
    else {
      if (count.taken === 0) this.#unused -= 1;
      count.taken += 1;
    }
    return undefined;
  }

  /** Gives a place back. */
  leave(holder: string): void {
    const count = this.#counts.get(holder);
    if (count === undefined) return;
    this.#size -= 1;
    count.taken -= 1;
    if (count.taken > 0) return;
    this.#unused += 1;
    if (this.#unused > maxUnused) this.#forget();
  }

  #forget(): void {
    for (const [holder, { taken }] of this.#counts) if (taken === 0) this.#counts.delete(holder);
    this.#unused = 0;
  }
}

/** The key of a client's share: the principal, with the client's address where that is known, since anonymous clients differ only by that. */
export function holderOf({ principal, origin }: Caller): string {
  return origin === undefined ? principal : `${principal} ${origin}`;
}
