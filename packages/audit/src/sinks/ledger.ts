/** A ledger of the bus: batches of lines, each after the last one of this writer and of nobody else. */
import { readLink } from '../chain.ts';
import type { Sink } from '../sink.ts';

export interface LedgerSinkOptions {
  readonly name: string;
  /** Where batches are appended. @param id is the same for one that comes again. */
  readonly append: (id: string, text: string) => Promise<void>;
}

export class LedgerSink implements Sink {
  readonly name: string;
  /** What the smallest NATS takes that is taken (64 KiB), less its headers. */
  readonly batch = { lines: 100, bytes: 60 * 1024 } as const;
  readonly #append: LedgerSinkOptions['append'];

  constructor({ name, append }: LedgerSinkOptions) {
    this.name = name;
    this.#append = append;
  }

  async write(lines: readonly string[]): Promise<void> {
    const first = readLink(lines[0] as string);
    await this.#append(`${first?.writer}:${first?.seq}:${lines.length}`, lines.join('\n'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
