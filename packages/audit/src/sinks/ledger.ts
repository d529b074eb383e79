/** A ledger on the bus: each batch of lines follows the last one of this writer. */
import type { Batch } from '../lines.ts';
import type { Sink } from '../sink.ts';

export interface LedgerSinkOptions {
  readonly name: string;
  /** The name under which the sink adds lines. */
  readonly writer: string;
  /** Appends a batch, which may come again. @returns the number of its entry. */
  readonly append: (writer: string, text: string) => Promise<number>;
  /** Whether an append failed because another process has written under the name of this writer. */
  readonly isForeign: (error: unknown) => boolean;
  /**
   * Called when another process has written under the name of this writer. It begins a new chain.
   * @param own the number of the last entry that this sink has written under the old name; 0 where it has written none.
   * @returns the name of the new chain, under which this sink goes on.
   */
  readonly broken: (writer: string, own: number) => string;
}

export class LedgerSink implements Sink {
  readonly name: string;
  /** The size fits the smallest NATS that is allowed (64 KiB), less its headers. */
  readonly batch = { lines: 100, bytes: 60 * 1024 } as const;
  readonly #options: LedgerSinkOptions;
  #writer: string;
  #own = 0;

  constructor(options: LedgerSinkOptions) {
    this.name = options.name;
    this.#options = options;
    this.#writer = options.writer;
  }

  async write(lines: Batch): Promise<void> {
    const { append, isForeign, broken } = this.#options;
    const text = lines.texts().join('\n');
    try {
      this.#own = await append(this.#writer, text);
    } catch (error) {
      if (!isForeign(error)) throw error;
      this.#writer = broken(this.#writer, this.#own);
      this.#own = 0;
      // Another break right away waits as any failure does, so that the stranger cannot keep this process busy.
      this.#own = await append(this.#writer, text);
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
