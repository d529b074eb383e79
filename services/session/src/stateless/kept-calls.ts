/**
 * Calls without an open request of their client: those that wait for answers, and settled ones with an answer that may be requested
 * again. A client that exceeds its share loses its own oldest call, never another client's.
 */
import type { Drain } from '@omnibus/lifecycle';
import { fault, type Caller, type GatewayFault, type Limits } from '@omnibus/protocol';
import { holderOf } from './shares.ts';

export interface KeptCall {
  readonly caller: Caller;
  /** Called when it must make room. */
  drop(reason: string): void;
}

interface Client {
  readonly kept: Set<KeptCall>;
  bytes: number;
}

/** Part of the bytes that one client may have. */
const byteShare = 1 / 4;

export class KeptCalls {
  readonly #limits: Limits;
  readonly #bytes = new Map<KeptCall, number>();
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
   * Keeps something, or changes its size.
   * @returns why not, if nothing of the same client can make room. Anonymous clients without a known address are indistinguishable, so none of
   * them loses anything for another.
   */
  keep(kept: KeptCall, bytes: number): GatewayFault | undefined {
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
      if (oldest === undefined || bytes > byteLimit || kept.caller.origin === undefined)
        return fault(
          'parked.limit',
          `the call was cancelled, since it could not be kept for its client's answer: ${reason}`,
        );
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

  /** Removes something. */
  remove(kept: KeptCall): void {
    const bytes = this.#bytes.get(kept);
    const holder = holderOf(kept.caller);
    const client = this.#clients.get(holder);
    if (bytes === undefined || client === undefined) return;
    this.#bytes.delete(kept);
    client.kept.delete(kept);
    client.bytes -= bytes;
    this.#total -= bytes;
    if (client.kept.size === 0) this.#clients.delete(holder);
    if (this.#drain.isAwaited) this.#drain.ended();
  }
}
