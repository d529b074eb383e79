/**
 * Where log lines go: stderr, written once a turn of the loop. Neither a reader that is gone nor one that does not read holds up
 * the process, also not when it ends: what cannot be written then is let go.
 */
import { writeSync } from 'node:fs';

/** Characters that wait for a reader; what is logged beyond it is dropped and counted, for no process is to end by its log. */
const maxWaiting = 8_000_000;
/** Characters written at once. */
const maxChunk = 64_000;
/** A full pipe has no event to wait for. */
const retryMs = 50;
/** What the end of the process waits for a reader that is slow, in all. */
const lastMs = 1_000;

export class LogSink {
  readonly #fd: number;
  readonly #waiting: string[] = [];
  #length = 0;
  #dropped = 0;
  /** What is being written. */
  #chunk = Buffer.alloc(0);
  #isScheduled = false;
  #isBroken = false;
  #endsWithProcess = false;

  /** @param stream stderr. That it is open as a stream makes writing to its descriptor return at once where it is a pipe or a socket. */
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

  /** @returns false when the reader has to read first. */
  #writeAll(): boolean {
    try {
      while (this.#fill()) this.#chunk = this.#chunk.subarray(writeSync(this.#fd, this.#chunk));
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return false;
      this.#isBroken = true; // Nobody reads it any more, and nobody can be told.
      this.#waiting.length = 0;
      return true;
    }
  }

  /** Makes the next chunk of what waits. @returns whether there is something to write. */
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

  /** The process ends: nothing runs beside this any more. */
  #finish(): void {
    const until = performance.now() + lastMs;
    while (!this.#writeAll() && performance.now() < until) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
  }
}
