/**
 * The lines that wait for their sinks: a ring bounded in lines and bytes. Each line has an ever growing number. Lines are kept as bytes outside of the heap, since
 * thousands of texts that live for a quarter of a second cost the garbage collector more than writing them costs.
 */

/** Bytes of lines that stand together. */
interface Segment {
  readonly bytes: Buffer;
  used: number;
  /** Lines that were not released. */
  lines: number;
}

const segmentBytes = 64 * 1_024;
/** Bound on empty segments that are kept for later. */
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

  /** Whether a fourth of the room is used, so that lines should be made safe soon. */
  get isFilling(): boolean {
    return this.size * 4 >= this.#maxLines || this.#bytes * 4 >= this.#maxBytes;
  }

  push(line: string): void {
    const length = Buffer.byteLength(line);
    const segment = this.#withRoomFor(length);
    const slot = this.#next % this.#maxLines;
    this.#segments[slot] = segment;
    this.#starts[slot] = segment.used;
    segment.used += segment.bytes.write(line, segment.used);
    this.#ends[slot] = segment.used;
    segment.lines += 1;
    this.#next += 1;
    this.#bytes += length;
  }

  /** Lines from a number on, as many as fit into one message, and at least one if there is any. */
  from(number: number, maxLines: number, maxBytes: number): readonly string[] {
    const lines: string[] = [];
    let bytes = 0;
    for (let each = number; each < this.#next && lines.length < maxLines; each += 1) {
      const slot = each % this.#maxLines;
      bytes += this.#length(slot) + 1;
      if (lines.length > 0 && bytes > maxBytes) break;
      lines.push((this.#segments[slot] as Segment).bytes.toString('utf8', this.#starts[slot], this.#ends[slot]));
    }
    return lines;
  }

  /** Removes the lines before a number. */
  release(before: number): void {
    for (; this.#first < Math.min(before, this.#next); this.#first += 1) {
      const slot = this.#first % this.#maxLines;
      const segment = this.#segments[slot] as Segment;
      this.#bytes -= this.#length(slot);
      this.#segments[slot] = undefined;
      segment.lines -= 1;
      if (segment.lines === 0) this.#emptied(segment);
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
    if (segment !== this.#current && segment.bytes.length === segmentBytes && this.#spare.length < maxSpare) this.#spare.push(segment);
  }
}

function newSegment(bytes: number): Segment {
  return { bytes: Buffer.allocUnsafeSlow(bytes), used: 0, lines: 0 };
}
