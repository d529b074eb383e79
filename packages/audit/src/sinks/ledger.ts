/** A ledger on the bus: each batch of lines follows the last one of this writer. */
import { readLink } from '../chain.ts';
import type { Batch } from '../lines.ts';
import type { Sink } from '../sink.ts';

export interface LedgerSinkOptions {
  readonly name: string;
  /** Appends a batch. @param id is the same when a batch comes again. */
  readonly append: (id: string, text: string) => Promise<void>;
}

export class LedgerSink implements Sink {
  readonly name: string;
  /** The size fits the smallest NATS that is allowed (64 KiB), less its headers. */
  readonly batch = { lines: 100, bytes: 60 * 1024 } as const;
  readonly #append: LedgerSinkOptions['append'];

  constructor({ name, append }: LedgerSinkOptions) {
    this.name = name;
    this.#append = append;
  }

  async write(lines: Batch): Promise<void> {
    const texts = lines.texts();
    const first = readLink(texts[0] as string);
    await this.#append(`${first?.writer}:${first?.seq}:${texts.length}`, texts.join('\n'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
