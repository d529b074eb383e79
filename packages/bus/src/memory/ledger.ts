import type { Ledger, LedgerDefinition, LedgerEntry } from '../bus.ts';
import { BusError } from '../errors.ts';

/** A ledger in memory, which ends with the process. */
export class MemoryLedger implements Ledger {
  readonly #maxBytes: number;
  readonly #entries: LedgerEntry[] = [];
  #bytes = 0;

  constructor({ maxBytes }: LedgerDefinition) {
    this.#maxBytes = maxBytes;
  }

  append(writer: string, text: string): Promise<number> {
    if (this.#bytes + text.length > this.#maxBytes)
      return Promise.reject(new BusError('overloaded', 'the ledger is full'));
    this.#bytes += text.length;
    this.#entries.push({ writer, text, number: this.#entries.length + 1 });
    return Promise.resolve(this.#entries.length);
  }

  async *read(wanted?: string, after = 0): AsyncGenerator<LedgerEntry> {
    for (const entry of await Promise.resolve(this.#entries.slice(after)))
      if (wanted === undefined || wanted === entry.writer) yield entry;
  }

  async *readBack(before = Infinity): AsyncGenerator<LedgerEntry> {
    for (const entry of (await Promise.resolve([...this.#entries])).toReversed())
      if (entry.number < before) yield entry;
  }
}
