/**
 * The lines that wait for their sinks: a ring bounded in lines and bytes. Each line has an ever growing number. Lines are bytes outside of the heap, since
 * thousands of texts that live for a quarter of a second cost the garbage collector more than writing them costs.
 */

import { Members } from './members.ts';

/** Lines that are written together. */
export interface Batch {
  /** The number of lines. */
  readonly length: number;
  texts(): readonly string[];
  /** The lines, each with a line end, in pieces of many. These are the stored bytes themselves, unchanged until the batch has been written. */
  pieces(): readonly Buffer[];
}

export function batchOf(texts: readonly string[]): Batch {
  return {
    length: texts.length,
    texts: () => texts,
    pieces: () => [Buffer.from(texts.map((text) => `${text}\n`).join(''))],
  };
}

/** Bytes of lines that stand together, each with a line end. */
interface Segment {
  readonly bytes: Buffer;
  used: number;
  /** Lines that were not released. */
  lines: number;
}

const segmentBytes = 64 * 1_024;
/** Room in its segment that a line begins with; a longer one may have to be copied. */
const roomBytes = 4_096;
const lineEnd = '\n'.charCodeAt(0);
/** Bound on spare segments. */
const maxSpare = 16;

export class Lines {
  readonly #maxLines: number;
  readonly #maxBytes: number;
  /** For each line of the ring: its segment, and where it begins and ends there. */
  readonly #segments: (Segment | undefined)[];
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  readonly #spare: Segment[] = [];
  #current: Segment = newSegment(segmentBytes);
  /** The line that was begun. */
  readonly #line = new Members();
  #first = 0;
  #next = 0;
  #bytes = 0;

  constructor(maxLines: number, maxBytes: number) {
    this.#maxLines = maxLines;
    this.#maxBytes = maxBytes;
    this.#segments = Array.from({ length: maxLines }, () => undefined);
    this.#starts = new Uint32Array(maxLines);
    this.#ends = new Uint32Array(maxLines);
  }

  /** The number of the oldest line in the ring. */
  get first(): number {
    return this.#first;
  }

  /** The number that the next line will get. */
  get next(): number {
    return this.#next;
  }

  get size(): number {
    return this.#next - this.#first;
  }

  get isFull(): boolean {
    return this.size >= this.#maxLines || this.#bytes >= this.#maxBytes;
  }

  /** Whether a fourth of the room is in use, so that a sync is due soon. */
  get isFilling(): boolean {
    return this.size * 4 >= this.#maxLines || this.#bytes * 4 >= this.#maxBytes;
  }

  /** Begins a line in its final place. Until it is added, another one may begin instead. */
  begin(): Members {
    const { bytes, used } = this.#withRoomFor(roomBytes);
    this.#line.beginIn(bytes, used);
    return this.#line;
  }

  add(): void {
    this.#line.byte(lineEnd);
    const { length, memory } = this.#line;
    const isInPlace = memory === this.#current.bytes;
    const segment = isInPlace ? this.#current : this.#withRoomFor(length);
    if (!isInPlace) segment.bytes.set(this.#line.written(), segment.used);
    const slot = this.#next % this.#maxLines;
    this.#segments[slot] = segment;
    this.#starts[slot] = segment.used;
    segment.used += length;
    this.#ends[slot] = segment.used - 1;
    segment.lines += 1;
    this.#next += 1;
    this.#bytes += length - 1;
  }

  /** Lines from a number on, as many as fit into one message, and at least one if there is any. They can be read until they are released. */
  from(number: number, maxLines: number, maxBytes: number): Batch {
    let [end, bytes] = [number, 0];
    for (; end < this.#next && end - number < maxLines; end += 1) {
      const length = this.#length(end % this.#maxLines) + 1;
      if (end > number && bytes + length > maxBytes) break;
      bytes += length;
    }
    return { length: end - number, texts: () => this.#texts(number, end), pieces: () => this.#pieces(number, end) };
  }

  #texts(first: number, end: number): readonly string[] {
    return Array.from({ length: end - first }, (_, index) => {
      const slot = (first + index) % this.#maxLines;
      return (this.#segments[slot] as Segment).bytes.toString('utf8', this.#starts[slot], this.#ends[slot]);
    });
  }

  #pieces(first: number, end: number): readonly Buffer[] {
    const pieces: Buffer[] = [];
    for (let from = first; from < end;) {
      const segment = this.#segments[from % this.#maxLines] as Segment;
      let last = from;
      while (last + 1 < end && this.#segments[(last + 1) % this.#maxLines] === segment) last += 1;
      pieces.push(
        segment.bytes.subarray(this.#starts[from % this.#maxLines], (this.#ends[last % this.#maxLines] as number) + 1),
      );
      from = last + 1;
    }
    return pieces;
  }

  /** Removes the lines before a number, which no reader needs any more: their memory is used again. */
  release(before: number): void {
    this.#remove(before, (segment) => this.#emptied(segment));
  }

  /** Removes the lines before a number that a sink may be reading: it keeps their memory. */
  drop(before: number): void {
    this.#remove(before, (segment) => {
      if (segment === this.#current) this.#current = newSegment(segmentBytes);
    });
  }

  #remove(before: number, emptied: (segment: Segment) => void): void {
    for (; this.#first < Math.min(before, this.#next); this.#first += 1) {
      const slot = this.#first % this.#maxLines;
      const segment = this.#segments[slot] as Segment;
      this.#bytes -= this.#length(slot);
      this.#segments[slot] = undefined;
      segment.lines -= 1;
      if (segment.lines === 0) emptied(segment);
    }
  }

  #length(slot: number): number {
    return (this.#ends[slot] as number) - (this.#starts[slot] as number);
  }

  #withRoomFor(bytes: number): Segment {
    if (this.#current.used + bytes > this.#current.bytes.length) {
      const left = this.#current;
      this.#current = bytes > segmentBytes ? newSegment(bytes) : (this.#spare.pop() ?? newSegment(segmentBytes));
      if (left.lines === 0) this.#emptied(left);
    }
    return this.#current;
  }

  #emptied(segment: Segment): void {
    segment.used = 0;
    if (segment !== this.#current && segment.bytes.length === segmentBytes && this.#spare.length < maxSpare)
      this.#spare.push(segment);
  }
}

function newSegment(bytes: number): Segment {
  return { bytes: Buffer.allocUnsafeSlow(bytes), used: 0, lines: 0 };
}
