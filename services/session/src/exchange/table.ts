/**
 * The exchanges of one session. The key is our own id: real clients send `id: 1` for every request and several at once,
 * so a client's id is only ever looked up to find what to cancel.
 */
import type { ExchangeId, JsonRpcId } from '@omnibus/protocol';

export interface Cancellable {
  cancel(reason: string): void;
}

interface Entry {
  readonly clientId: JsonRpcId;
  readonly exchange: Cancellable;
}

export class ExchangeTable {
  readonly #entries = new Map<ExchangeId, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  add(id: ExchangeId, clientId: JsonRpcId, exchange: Cancellable): void {
    this.#entries.set(id, { clientId, exchange });
  }

  remove(id: ExchangeId): void {
    this.#entries.delete(id);
  }

  /**
   * Cancels the request a client means. Ids keep their type: `1` does not cancel `"1"`. Where several requests carry the
   * id, nobody knows which one is meant, and none is touched.
   */
  cancel(clientId: JsonRpcId, reason: string): 'cancelled' | 'unknown' | 'ambiguous' {
    const matches = [...this.#entries].filter(([, entry]) => entry.clientId === clientId);
    if (matches.length !== 1) return matches.length === 0 ? 'unknown' : 'ambiguous';
    const [[id, entry]] = matches as [[ExchangeId, Entry]];
    this.#entries.delete(id);
    entry.exchange.cancel(reason);
    return 'cancelled';
  }

  cancelAll(reason: string): void {
    for (const [id, { exchange }] of [...this.#entries]) {
      this.#entries.delete(id);
      exchange.cancel(reason);
    }
  }
}
