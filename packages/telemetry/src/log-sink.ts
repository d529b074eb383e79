/**
 * Writes log lines to stderr, once in each turn of the event loop. A reader that is gone or does not read never holds up the process, not even at its end:
 * lines that cannot be written then are dropped.
 */
import { writeSync } from 'node:fs';

/** Bound on characters that wait for the reader; further lines are dropped and counted, since a process must not fail because of its log. */
const maxWaiting = 8_000_000;
/** Characters of one write. */
const maxChunk = 64_000;
/** Pause before writing to a full pipe again, for which there is no event. */
const retryMs = 50;
/** How long the end of the process waits for a slow reader, in all. */
const lastMs = 1_000;

export class LogSink {
  readonly #fd: number;
  readonly #waiting: string[] = [];
  #length = 0;
  #dropped = 0;
  /** The text that is being written. */
  #chunk = Buffer.alloc(0);
  #isScheduled = false;
  #isBroken = false;
  #endsWithProcess = false;

  /** @param stream stderr. If it is a pipe or a socket, opening it as a stream makes writes to its descriptor return at once. */
  constructor({ fd }: NodeJS.WriteStream & { readonly fd: number }) {
    this.#fd = fd;
  }

  write(line: string): void {
    if (this.#isBroken) return;
    if (this.#length + line.length > maxWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#length += line.length;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (!this.#endsWithProcess) process.once('exit', () => this.#finish());
    this.#endsWithProcess = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = !this.#writeAll();
    if (this.#isScheduled) setTimeout(() => this.#flush(), retryMs).unref();
  }

  /** @returns false when the reader must read first. */
  #writeAll(): boolean {
    try {
      while (this.#fill()) this.#chunk = this.#chunk.subarray(writeSync(this.#fd, this.#chunk));
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return false;
      this.#isBroken = true; // The reader is gone, so no report is possible.
      this.#waiting.length = 0;
      return true;
    }
  }

  /** Takes the next chunk of the waiting text. @returns whether there is something to write. */
  #fill(): boolean {
    if (this.#chunk.length > 0) return true;
    let count = 0;
    let length = 0;
    for (const line of this.#waiting) {
      if (length >= maxChunk) break;
      length += line.length;
      count += 1;
    }
    this.#length -= length;
    let text = this.#waiting.splice(0, count).join('');
    if (this.#dropped > 0 && this.#waiting.length === 0) {
      text += `${JSON.stringify({ level: 40, time: new Date().toISOString(), dropped: this.#dropped, msg: 'log lines were dropped, since nobody read them' })}\n`;
      this.#dropped = 0;
    }
    this.#chunk = Buffer.from(text);
    return this.#chunk.length > 0;
  }

  /** The process ends, and nothing else runs any more. */
  #finish(): void {
    const until = performance.now() + lastMs;
    while (!this.#writeAll() && performance.now() < until)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
  }
}
