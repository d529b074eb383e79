/** Lines that wait for their sinks: a ring with a bound in lines and in bytes. Each line has a number that grows, whatever is let go of. */

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

  /** The number of the oldest that is held. */
  get first(): number {
    return this.#first;
  }

  /** The number that the next one will have. */
  get next(): number {
    return this.#next;
  }

  get size(): number {
    return this.#next - this.#first;
  }

  get isFull(): boolean {
    return this.size >= this.#slots.length || this.#bytes >= this.#maxBytes;
  }

  push(line: string): void {
    this.#slots[this.#next % this.#slots.length] = line;
    this.#next += 1;
    this.#bytes += line.length;
  }

  /** Those from a number on, as many as make one message: at least one, where there is one. */
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

  /** Forgets those before a number. */
  release(before: number): void {
    for (; this.#first < Math.min(before, this.#next); this.#first += 1) {
      const slot = this.#first % this.#slots.length;
      this.#bytes -= (this.#slots[slot] as string).length;
      this.#slots[slot] = undefined;
    }
  }
}
