/** Limits how many lines callers can cause in the log: at most 20 in a second. Further ones are left out and counted, and the next second begins with their number. */
import type { Logger } from '@omnibus/telemetry';

const maxLinesPerSecond = 20;

export class FewLines {
  readonly #log: Logger;
  readonly #summary: string;
  #since = 0;
  #written = 0;
  #more = 0;

  /** @param summary the message of the line with the number of lines that were left out. */
  constructor(log: Logger, summary: string) {
    this.#log = log;
    this.#summary = summary;
  }

  write(entry: object, words: string): void {
    const now = performance.now();
    if (now - this.#since > 1_000) {
      if (this.#more > 0) this.#log.info({ count: this.#more }, this.#summary);
      this.#since = now;
      this.#written = 0;
      this.#more = 0;
    }
    if (this.#written >= maxLinesPerSecond) {
      this.#more += 1;
      return;
    }
    this.#written += 1;
    this.#log.info(entry, words);
  }
}
