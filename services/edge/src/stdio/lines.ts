/** Reads the lines of a byte stream, each within a bound, until the stream ends or breaks. */
import type { Readable } from 'node:stream';

export interface LinesOptions {
  /** Bytes of one line at most. */
  readonly maxBytes: number;
  readonly line: (bytes: Buffer) => void;
  /** Called for a line that is too long; the rest of it is skipped. */
  readonly tooLong: () => void;
}

const newline = 10;

/**
 * Calls `line` with each line that is not blank as soon as it is complete.
 * @returns a promise that resolves when the stream has ended, was closed, or broke.
 */
export function readLines(input: Readable, { maxBytes, line, tooLong }: LinesOptions): Promise<void> {
  let partial: Buffer[] = [];
  let bytes = 0;
  const add = (piece: Buffer): void => {
    if (bytes > maxBytes) return;
    bytes += piece.length;
    if (bytes <= maxBytes) {
      partial.push(piece);
      return;
    }
    partial = [];
    tooLong();
  };
  const finish = (): void => {
    const whole = partial.length === 1 ? (partial[0] as Buffer) : Buffer.concat(partial);
    partial = [];
    bytes = 0;
    if (!isBlank(whole)) line(whole);
  };
  return new Promise((resolve) => {
    input.on('data', (chunk: Buffer) => {
      let start = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        add(chunk.subarray(start, end));
        finish();
        start = end + 1;
      }
      if (start < chunk.length) add(chunk.subarray(start));
    });
    input.once('end', finish);
    for (const event of ['end', 'close', 'error']) input.once(event, () => resolve());
    // An error after the first one ends nothing more.
    input.on('error', () => undefined);
  });
}

/** Whether a line has only spaces, tabs and carriage returns. */
function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 32 || byte === 9 || byte === 13);
}
