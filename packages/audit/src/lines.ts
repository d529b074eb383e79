/** The lines that wait for their sinks: a ring bounded in lines and bytes. Each line has an ever growing number. */

export class Lines {
  readonly #slots: (string | undefined)[];
  readonly #maxBytes: number;
  #first = 0;
  #next = 0;
  #bytes = 0;

  constructor(maxLines: number, maxBytes: number) {
    this.#slots = Array.from({ length: maxLines }, () => undefined);
    this.#maxBytes = maxBytes;
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
    return this.size >= this.#slots.length || this.#bytes >= this.#maxBytes;
  }

  /** Whether a fourth of the room is used, so that lines should be made safe soon. */
  get isFilling(): boolean {
    return this.size * 4 >= this.#slots.length || this.#bytes * 4 >= this.#maxBytes;
  }

  push(line: string): void {
    this.#slots[this.#next % this.#slots.length] = line;
    this.#next += 1;
    this.#bytes += line.length;
  }

  /** Lines from a number on, as many as fit into one message, and at least one if there is any. */
  from(number: number, maxLines: number, maxBytes: number): readonly string[] {
    const lines: string[] = [];
    let bytes = 0;
    for (let each = number; each < this.#next && lines.length < maxLines; each += 1) {
      const line = this.#slots[each % this.#slots.length] as string;
      bytes += Buffer.byteLength(line) + 1;
      if (lines.length > 0 && bytes > maxBytes) break;
      lines.push(line);
    }
    return lines;
  }

  /** Removes the lines before a number. */
  release(before: number): void {
    for (; this.#first < Math.min(before, this.#next); this.#first += 1) {
      const slot = this.#first % this.#slots.length;
      this.#bytes -= (this.#slots[slot] as string).length;
      this.#slots[slot] = undefined;
    }
  }
}
