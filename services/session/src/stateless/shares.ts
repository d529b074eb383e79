/** Counts per client and in total, with a limit for each: a client reaches its share before the total is used up. */
import { fault, type Caller, type ErrorReason, type GatewayFault } from '@omnibus/protocol';

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
  readonly #reason: ErrorReason;
  readonly #limits: ShareLimits;
  readonly #counts = new Map<string, Count>();
  #taken = 0;
  #unused = 0;

  /** @param reason of the fault for a client that gets no place. */
  constructor(reason: ErrorReason, limits: ShareLimits) {
    this.#reason = reason;
    this.#limits = limits;
  }

  /** Number of places that are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** Takes a place. @returns the fault that names the limit that is reached; undefined if there was a place. */
  take(caller: Caller): GatewayFault | undefined {
    const { share, total } = this.#limits;
    const holder = holderOf(caller);
    const count = this.#counts.get(holder);
    if ((count?.taken ?? 0) >= share.value)
      return fault(this.#reason, `limits.${share.name}, ${share.value} of one client, is reached`);
    if (this.#taken >= total.value)
      return fault(this.#reason, `limits.${total.name}, ${total.value} of all clients, is reached`);
    this.#taken += 1;
    if (count === undefined) this.#counts.set(holder, { taken: 1 });
    else {
      if (count.taken === 0) this.#unused -= 1;
      count.taken += 1;
    }
    return undefined;
  }

  /** Gives a place back. */
  give(caller: Caller): void {
    const count = this.#counts.get(holderOf(caller));
    if (count === undefined) return;
    this.#taken -= 1;
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
