/** Handle = generation × 2^20 + slot, so that a slot's handles are all different and none is 0. */
const slots = 2 ** 20;

/**
 * Things that wait under a number, where the number is ours to choose: a lookup is an index, a handle is never used twice,
 * and nothing is hashed (see `Ring` for why not a `Map`).
 */
export class SlotTable<Value> {
  readonly #values: (Value | undefined)[] = [];
  /** The generation a slot's value has, or its next one will have. */
  readonly #generations: number[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** @throws {RangeError} beyond 2^20 values at once. */
  add(value: Value): number {
    let slot = this.#free.pop();
    if (slot === undefined) {
      slot = this.#values.length;
      if (slot === slots) throw new RangeError(`more than ${slots} things wait at once`);
      this.#generations.push(1);
    }
    this.#values[slot] = value;
    return (this.#generations[slot] as number) * slots + slot;
  }

  get(handle: number): Value | undefined {
    const slot = handle % slots;
    return this.#generations[slot] === Math.floor(handle / slots) ? this.#values[slot] : undefined;
  }

  /** Takes the value out; its handle means nothing from then on. */
  take(handle: number): Value | undefined {
    const slot = handle % slots;
    const value = this.#generations[slot] === Math.floor(handle / slots) ? this.#values[slot] : undefined;
    if (value === undefined) return undefined;
    this.#values[slot] = undefined;
    (this.#generations[slot] as number) += 1;
    this.#free.push(slot);
    return value;
  }

  /** The values, which must not be added or taken meanwhile. */
  *[Symbol.iterator](): IterableIterator<Value> {
    for (const value of this.#values) if (value !== undefined) yield value;
  }

  /** The handles and values as they are now: a caller may remove them while it walks the result. */
  toArray(): (readonly [handle: number, value: Value])[] {
    return this.#values.flatMap((value, slot) =>
      value === undefined ? [] : [[(this.#generations[slot] as number) * slots + slot, value] as const],
    );
  }
}
