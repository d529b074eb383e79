/** Splits a stream of bytes into lines, and passes each on at once. */

const newline = 10;

export interface LinesOptions {
  /** Bound on the bytes of an incomplete line. */
  readonly maxBytes: number;
  readonly line: (line: Buffer) => void;
  /** A line is too long. No more lines are passed on. */
  readonly tooLong: () => void;
}

export class Lines {
  readonly #options: LinesOptions;
  /** Bytes since the last newline, and how many there are. */
  #partial: Buffer[] = [];
  #partialBytes = 0;
  #isOver = false;

  constructor(options: LinesOptions) {
    this.#options = options;
  }

  /** Drops the incomplete line; later bytes are ignored. */
  end(): void {
    this.#isOver = true;
    this.#partial = [];
  }

  read(chunk: Buffer): void {
    const { maxBytes, line, tooLong } = this.#options;
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      if (this.#isOver) return;
      this.#partial.push(chunk.subarray(start, end));
      const whole = this.#partial.length === 1 ? (this.#partial[0] as Buffer) : Buffer.concat(this.#partial);
      this.#partial = [];
      this.#partialBytes = 0;
      if (!isBlank(whole)) line(whole);
      start = end + 1;
    }
    if (start === chunk.length || this.#isOver) return;
    this.#partial.push(chunk.subarray(start));
    this.#partialBytes += chunk.length - start;
    if (this.#partialBytes <= maxBytes) return;
    this.end();
    tooLong();
  }
}

/** Longer lines are not checked for being blank. */
const maxBlank = 64;

function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length < maxBlank && line.toString('latin1').trim() === '');
}
