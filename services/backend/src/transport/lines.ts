/** Splits a stream of bytes into lines, and passes each on at once. */
import { Pieces } from '@omnibus/collections';

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
  /** Bytes since the last newline; undefined while there are none. */
  #partial: Pieces | undefined;
  #isOver = false;

  constructor(options: LinesOptions) {
    this.#options = options;
  }

  /** Drops the incomplete line; later bytes are ignored. */
  end(): void {
    this.#isOver = true;
    this.#partial = undefined;
  }

  read(chunk: Buffer): void {
    const { maxBytes, line, tooLong } = this.#options;
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      if (this.#isOver) return;
      let whole = chunk.subarray(start, end);
      this.#partial?.add(whole);
      whole = this.#partial?.joined() ?? whole;
      this.#partial = undefined;
      if (!isBlank(whole)) line(whole);
      start = end + 1;
    }
    if (start === chunk.length || this.#isOver) return;
    this.#partial ??= new Pieces();
    this.#partial.add(chunk.subarray(start));
    if (this.#partial.bytes <= maxBytes) return;
    this.end();
    tooLong();
  }
}

/** Longer lines are not checked for being blank. */
const maxBlank = 64;

function isBlank(line: Buffer): boolean {
  return line.length === 0 || (line.length < maxBlank && line.toString('latin1').trim() === '');
}
