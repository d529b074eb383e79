/**
 * Calls that are kept while no request of their client is open: those that wait for answers, and answers that may be asked for
 * again. What is over a client's share pushes out that client's oldest, never another's.
 */
import type { Drain } from '@omnibus/lifecycle';
import { fault, type Caller, type GatewayFault, type Limits } from '@omnibus/protocol';

export interface Kept {
  readonly caller: Caller;
  /** There is no room for it any more. */
  drop(reason: string): void;
}

interface Client {
  readonly kept: Set<Kept>;
  bytes: number;
}

/** One client may have this part of the bytes. */
const byteShare = 1 / 4;

export class Shelf {
  readonly #limits: Limits;
  readonly #bytes = new Map<Kept, number>();
  readonly #clients = new Map<string, Client>();
  readonly #drain: Drain;
  #total = 0;

  constructor(limits: Limits, drain: Drain) {
    this.#limits = limits;
    this.#drain = drain;
  }

  get size(): number {
    return this.#bytes.size;
  }

  get bytes(): number {
    return this.#total;
  }

  /**
   * Keeps something, or keeps it on with another size.
   * @returns why not, where nothing of its client's can make room. Without an address, clients cannot be told apart, and none has to go for another.
   */
  keep(kept: Kept, bytes: number): GatewayFault | undefined {
    this.remove(kept);
    const { maxParkedPerClient, maxParked, maxParkedBytes } = this.#limits;
    const client = this.#clients.get(holderOf(kept.caller)) ?? { kept: new Set(), bytes: 0 };
    const byteLimit = maxParkedBytes * byteShare;
    const problem = (): string | undefined => {
      if (client.kept.size >= maxParkedPerClient) return `limits.maxParkedPerClient, ${maxParkedPerClient}, is reached`;
      if (client.bytes + bytes > byteLimit) return `a quarter of limits.maxParkedBytes, ${byteLimit}, is reached`;
      if (this.#bytes.size >= maxParked) return `limits.maxParked, ${maxParked}, is reached`;
      return this.#total + bytes > maxParkedBytes ? `limits.maxParkedBytes, ${maxParkedBytes}, is reached` : undefined;
    };
    for (let reason = problem(); reason !== undefined; reason = problem()) {
      const [oldest] = client.kept;
      if (oldest === undefined || bytes > byteLimit || kept.caller.origin === undefined) return fault('parked.limit', `the call was cancelled, since it could not be kept for its client's answer: ${reason}`);
      this.remove(oldest);
      oldest.drop(`a later call of the same client was kept in its place: ${reason}`);
    }
    this.#clients.set(holderOf(kept.caller), client);
    this.#bytes.set(kept, bytes);
    client.kept.add(kept);
    client.bytes += bytes;
    this.#total += bytes;
    return undefined;
  }

  /** It is not kept any more. */
  remove(kept: Kept): void {
    const bytes = this.#bytes.get(kept);
    const holder = holderOf(kept.caller);
    const client = this.#clients.get(holder);
    if (bytes === undefined || client === undefined) return;
    this.#bytes.delete(kept);
    client.kept.delete(kept);
    client.bytes -= bytes;
    this.#total -= bytes;
    if (client.kept.size === 0) this.#clients.delete(holder);
    this.#drain.ended();
  }
}

/** Whose share something comes out of: the client's address where that is known, for nobody else of those that need no credentials can be told apart. */
export function holderOf({ principal, origin }: Caller): string {
  return origin === undefined ? principal : `${principal} ${origin}`;
}
