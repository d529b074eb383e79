/**
 * Bytes that come in pieces, until all are there. A piece is an object of some hundred bytes beside its contents, and often a view of all that was read from a socket.
 * Its sender chooses how small it is, and what else was read: small pieces and small views are copied into blocks, so that about as much memory is held as bytes have
 * come.
 */

/** Smaller pieces are copied. */
const smallBytes = 1_024;
const blockBytes = 2_048;
/** A piece that is held as it came takes some hundred bytes beside its own, so a message of the full size may not come in much smaller pieces. */
const meanBytes = 512;
const leastPieces = 1_024;

/** Bound on the pieces of a message of so many bytes, for a reader that copies none. */
export function mostPieces(maxBytes: number): number {
  return Math.max(leastPieces, maxBytes / meanBytes);
}

/** Whether a piece holds about as much memory as it has bytes. */
function isWhole({ length, buffer }: Buffer): boolean {
  return length >= smallBytes && 2 * length >= buffer.byteLength;
}

export class Pieces {
  /** The number of bytes so far. */
  bytes = 0;
  readonly #all: Buffer[] = [];
  /** Room for small pieces, of which the beginning is used. */
  #block = Buffer.alloc(0);
  #used = 0;

  constructor(...first: readonly Buffer[]) {
    for (const piece of first) this.add(piece);
  }

  /** A whole piece is held as it is, so it must not change. */
  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (isWhole(piece)) {
      this.#close();
      this.#all.push(piece);
      return;
    }
    if (this.#used + piece.length > this.#block.length) {
      this.#close();
      // One of Node's pool would hold what else is in the pool.
      this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, piece.length));
    }
    this.#used += piece.copy(this.#block, this.#used);
  }

  /** What has come, in order. */
  get all(): readonly Buffer[] {
    this.#close();
    return this.#all;
  }

  /** What has come, in one. */
  joined(): Buffer {
    const { all } = this;
    return all.length === 1 ? (all[0] as Buffer) : Buffer.concat(all);
  }

  /** What the block has goes to the others. The rest of it is used further. */
  #close(): void {
    if (this.#used === 0) return;
    this.#all.push(this.#block.subarray(0, this.#used));
    this.#block = this.#block.subarray(this.#used);
    this.#used = 0;
  }
}
