import type { Ledger, LedgerDefinition, LedgerEntry } from '../bus.ts';
import { BusError } from '../errors.ts';

/** A ledger in memory, which ends with the process. */
export class MemoryLedger implements Ledger {
  readonly #maxBytes: number;
  readonly #entries: (LedgerEntry & { readonly id: string })[] = [];
  #bytes = 0;

  constructor({ maxBytes }: LedgerDefinition) {
    this.#maxBytes = maxBytes;
  }

  append(writer: string, id: string, text: string): Promise<void> {
    if (this.#entries.some((entry) => entry.id === id)) return Promise.resolve();
    if (this.#bytes + text.length > this.#maxBytes)
      return Promise.reject(new BusError('overloaded', 'the ledger is full'));
    this.#bytes += text.length;
    this.#entries.push({ writer, text, id });
    return Promise.resolve();
  }

  async *read(wanted?: string): AsyncGenerator<LedgerEntry> {
    for (const { writer, text } of await Promise.resolve([...this.#entries]))
      if (wanted === undefined || wanted === writer) yield { writer, text };
  }

  async *readBack(before = Infinity): AsyncGenerator<LedgerEntry & { readonly number: number }> {
    const entries = await Promise.resolve([...this.#entries]);
    for (const [index, { writer, text }] of [...entries.entries()].toReversed())
      if (index + 1 < before) yield { writer, text, number: index + 1 };
  }
}
