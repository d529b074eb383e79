/**
 * The bytes of a message in the pieces in which they came. Joining them for good would take memory outside of V8's heap for each large message, and V8 collects
 * its whole heap when much of that was taken (decision 67).
 */
import { parseJson } from '../exact-numbers.ts';
import { JsonBytes, type Span } from './marks.ts';

/** Longer messages, and those in more pieces, are joined for good. */
const maxScratchBytes = 2 * 1_024 * 1_024;
const maxPieces = 256;
/** Where messages are joined while they are read. */
let scratch = Buffer.alloc(0);

export class Chunks {
  readonly length: number;
  readonly #chunks: readonly Buffer[];

  constructor(chunks: readonly Buffer[]) {
    let length = 0;
    for (const chunk of chunks) length += chunk.length;
    this.length = length;
    const isKept = chunks.length === 1 || (chunks.length <= maxPieces && length <= maxScratchBytes);
    this.#chunks = isKept ? chunks : [Buffer.concat(chunks)];
  }

  /** All bytes in one buffer, until another message is read. */
  get joined(): Buffer {
    const [first] = this.#chunks;
    if (this.#chunks.length === 1) return first as Buffer;
    if (scratch.length < this.length) scratch = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(this.length)));
    let at = 0;
    for (const chunk of this.#chunks) {
      scratch.set(chunk, at);
      at += chunk.length;
    }
    return scratch.subarray(0, at);
  }

  /** Bytes in the pieces in which they came. */
  slices({ start, end }: Span): Buffer[] {
    const slices: Buffer[] = [];
    let at = 0;
    for (const chunk of this.#chunks) {
      const [from, to] = [Math.max(start - at, 0), Math.min(end - at, chunk.length)];
      if (from < to) slices.push(chunk.subarray(from, to));
      at += chunk.length;
      if (at >= end) break;
    }
    return slices;
  }

  join(parts: readonly (string | Span)[]): JsonBytes {
    return new JsonBytes(
      parts.flatMap((part): (string | Buffer)[] => (typeof part === 'string' ? [part] : this.slices(part))),
    );
  }

  /** The value that is written somewhere. */
  valueAt(span: Span): unknown {
    const slices = this.slices(span);
    return parseJson((slices.length === 1 ? (slices[0] as Buffer) : Buffer.concat(slices)).toString('utf8'));
  }
}
