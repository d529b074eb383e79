/**
 * Checks bytes as `JSON.parse` does, without building values (RFC 8259). It accepts less than `readJson`, never more: line breaks between values, a byte
 * order mark and deep nesting are left to that. Measured in decision 67.
 */
import { isUtf8 } from 'node:buffer';
import type { Limits } from '../limits.ts';

export type JsonLimits = Pick<Limits, 'maxJsonDepth' | 'maxJsonValues'>;

/** The position that stands for bytes that are not accepted. */
export const refused = -1;
/** Deeper values are left to `readJson`; the recursion ends there. */
const deepest = 256;
/** In longer strings, the end is found by a native search; shorter ones are faster byte by byte. */
const shortString = 48;

export const [quote, comma, openArray, backslash, closeArray, openObject, closeObject] = [
  0x22, 0x2c, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d,
] as const;
const colon = 0x3a;
const [space, tab, minus, dot, zero, nine] = [0x20, 0x09, 0x2d, 0x2e, 0x30, 0x39] as const;
const [smallE, largeE, plus, smallU] = [0x65, 0x45, 0x2b, 0x75] as const;

/** The bytes that may follow a backslash. */
const escapes = new Uint8Array(256);
for (const character of '"\\/bfnrtu') escapes[character.charCodeAt(0)] = 1;
/** Digits, also hexadecimal ones. */
const hexadecimal = new Uint8Array(256);
for (const character of '0123456789abcdefABCDEF') hexadecimal[character.charCodeAt(0)] = 1;

const literals: Readonly<Record<number, Buffer>> = {
  0x74: Buffer.from('true'),
  0x66: Buffer.from('false'),
  0x6e: Buffer.from('null'),
};

export class Scanner {
  readonly bytes: Buffer;
  readonly #maxDepth: number;
  readonly #maxValues: number;
  #values = 0;
  /** The first backslash from a position on that was searched from; the length if there is none. */
  #backslash = -1;
  /** How many values were `null`. */
  nulls = 0;

  constructor(bytes: Buffer, { maxJsonDepth, maxJsonValues }: JsonLimits) {
    this.bytes = bytes;
    this.#maxDepth = Math.min(maxJsonDepth, deepest);
    this.#maxValues = maxJsonValues;
  }

  get isUtf8(): boolean {
    return isUtf8(this.bytes);
  }

  /** @returns the position after blanks. A line break is no blank here, since some transports end messages with it. */
  blanks(from: number): number {
    const { bytes } = this;
    let at = from;
    while (bytes[at] === space || bytes[at] === tab) at += 1;
    return at;
  }

  /**
   * Counts a value as `readJson` does: each bracket and each comma.
   * @returns false if there are too many.
   */
  counts(): boolean {
    this.#values += 1;
    return this.#values <= this.#maxValues;
  }

  /** Whether an object or array may begin at a depth, after those that began before. */
  opens(depth: number): boolean {
    return depth <= this.#maxDepth && this.counts();
  }

  /** @param depth of the value. @returns the position after the value that begins at `at`, or `refused`. */
  value(at: number, depth: number): number {
    const first = this.bytes[at] as number;
    if (first === quote) return this.string(at);
    if (first === openObject || first === openArray) {
      if (!this.opens(depth)) return refused;
      const next = this.blanks(at + 1);
      const isObject = first === openObject;
      return this.bytes[next] === (isObject ? closeObject : closeArray) ? next + 1 : this.rest(next, depth, isObject);
    }
    return first === minus || (first >= zero && first <= nine) ? this.number(at) : this.#literal(at, first);
  }

  /** The rest of an object or array. @param from position of its next item. */
  rest(from: number, depth: number, isObject: boolean): number {
    const { bytes } = this;
    const close = isObject ? closeObject : closeArray;
    let at = from;
    for (;;) {
      if (isObject && (at = this.key(at)) === refused) return refused;
      at = this.value(at, depth + 1);
      if (at === refused) return refused;
      at = this.blanks(at);
      const next = bytes[at];
      if (next === close) return at + 1;
      if (next !== comma || !this.counts()) return refused;
      at = this.blanks(at + 1);
    }
  }

  /** @returns the position of the value of the member whose name begins at `at`, or `refused`. */
  key(at: number): number {
    const { bytes } = this;
    if (bytes[at] !== quote) return refused;
    const end = this.string(at);
    if (end === refused) return refused;
    const after = this.blanks(end);
    return bytes[after] === colon ? this.blanks(after + 1) : refused;
  }

  /** @param start position of the first quote. */
  string(start: number): number {
    const { bytes } = this;
    const near = Math.min(start + shortString, bytes.length);
    let at = start + 1;
    while (at < near) {
      const byte = bytes[at] as number;
      if (byte === quote) return at + 1;
      if (byte < space) return refused;
      at = byte === backslash ? this.#escape(at) : at + 1;
      if (at === refused) return refused;
    }
    return this.#longString(at);
  }

  /** @param from a position inside the string that does not follow a backslash. */
  #longString(from: number): number {
    const { bytes } = this;
    const end = bytes.indexOf(quote, from);
    if (end === -1) return refused;
    if (this.#backslash < from) {
      const found = bytes.indexOf(backslash, from);
      this.#backslash = found === -1 ? bytes.length : found;
    }
    if (this.#backslash > end) return hasControl(bytes, from, end) ? refused : end + 1;
    let at = from;
    for (;;) {
      const byte = bytes[at];
      if (byte === undefined || byte < space) return refused;
      if (byte === quote) return at + 1;
      if (byte !== backslash) at += 1;
      else if ((at = this.#escape(at)) === refused) return refused;
    }
  }

  /** @returns the position after the escape that begins at `at`. */
  #escape(at: number): number {
    const { bytes } = this;
    const kind = bytes[at + 1];
    if (kind === undefined || escapes[kind] === 0) return refused;
    if (kind !== smallU) return at + 2;
    for (let digit = at + 2; digit < at + 6; digit += 1) if (hexadecimal[bytes[digit] as number] !== 1) return refused;
    return at + 6;
  }

  number(from: number): number {
    const { bytes } = this;
    let at = bytes[from] === minus ? from + 1 : from;
    const whole = this.#digits(at);
    if (whole === at || (bytes[at] === zero && whole > at + 1)) return refused;
    at = whole;
    if (bytes[at] === dot) {
      const fraction = this.#digits(at + 1);
      if (fraction === at + 1) return refused;
      at = fraction;
    }
    if (bytes[at] !== smallE && bytes[at] !== largeE) return at;
    const sign = bytes[at + 1] === plus || bytes[at + 1] === minus ? at + 2 : at + 1;
    const end = this.#digits(sign);
    return end === sign ? refused : end;
  }

  #digits(from: number): number {
    const { bytes } = this;
    let at = from;
    while ((bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at += 1;
    return at;
  }

  #literal(at: number, first: number): number {
    const literal = literals[first];
    if (literal === undefined) return refused;
    for (let index = 1; index < literal.length; index += 1)
      if (this.bytes[at + index] !== literal[index]) return refused;
    if (literal === literals[0x6e]) this.nulls += 1;
    return at + literal.length;
  }
}

/** Whether one of the bytes is a control character, which no string may contain. Looks at four bytes at a time. */
function hasControl(bytes: Buffer, from: number, end: number): boolean {
  let at = from;
  for (; at < end && ((bytes.byteOffset + at) & 3) !== 0; at += 1) if ((bytes[at] as number) < space) return true;
  // The string may end before a word begins, where no words can be read.
  if (at === end) return false;
  const count = (end - at) >> 2;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, count);
  for (let index = 0; index < count; index += 1) {
    const word = words[index] as number;
    // A byte below 0x20 borrows from its highest bit, which is 0 in it.
    if (((word - 0x20202020) & ~word & 0x80808080) !== 0) return true;
  }
  for (at += count << 2; at < end; at += 1) if ((bytes[at] as number) < space) return true;
  return false;
}
