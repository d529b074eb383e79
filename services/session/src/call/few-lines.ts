/** A bound on lines of the log that callers can cause: so many within a second, and of more than that how many there were. */
import type { Logger } from '@omnibus/telemetry';

const maxLinesPerSecond = 20;

export class FewLines {
  readonly #log: Logger;
  readonly #summary: string;
  #since = 0;
  #written = 0;
  #more = 0;

  /** @param summary says of what there was more. */
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
