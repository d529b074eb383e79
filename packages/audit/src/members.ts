/**
 * Writes the members of a JSON object as bytes, one after the other into memory that is used again for the next object, or into the place
 * in its buffer. Concatenated texts in JavaScript are trees of their pieces until they are read; making and reading such a tree took more than half of the time of a record.
 */
import { canonical, isRawNumber } from '@omnibus/protocol';

/** The name of a member, as it is written before its value. */
export interface Head {
  /** Before a value that is JSON already. */
  readonly value: Uint8Array;
  /** Before a text, with its first quotation mark. */
  readonly text: Uint8Array;
}

/** @param start with which each text of that member begins. */
export function headOf(name: string, start = ''): Head {
  return { value: Buffer.from(`,"${name}":`), text: Buffer.from(`,"${name}":"${start}`) };
}

/** Bytes for one object at first; a longer one gets more. */
const usual = 4_096;
/** The most bytes that a UTF-16 unit has in UTF-8. */
const unitBytes = 3;
/** A text of more units than this is written by the library, since calling that takes as long as writing so many. */
const short = 16;
/** The same for a text that may have characters that JSON escapes, which the library looks for again. */
const shortValue = 64;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const brackets = { open: 0x5b, close: 0x5d };
const braces = { open: 0x7b, close: 0x7d };
const zero = 0x30;
const point = 0x2e;

export class Members {
  #bytes: Buffer = Buffer.allocUnsafeSlow(usual);
  /** Where the object begins. */
  #start = 0;
  /** Where the next byte is written. */
  #end = 0;

  /** The number of bytes so far. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Where the object is; another memory than it was begun in when that had no room for it. */
  get memory(): Buffer {
    return this.#bytes;
  }

  /** Begins an object in a given memory. @param start where its first byte is written. */
  beginIn(memory: Buffer, start: number): void {
    this.#bytes = memory;
    this.#start = start;
    this.#end = start;
  }

  /** Discards the written bytes. @param kept bytes at the beginning that stay. */
  clear(kept = 0): void {
    this.#end = this.#start + kept;
  }

  /** The written bytes, valid until the next write. */
  written(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  copy(): Uint8Array {
    return new Uint8Array(this.written());
  }

  /** Adds nothing if there is no value. @param most UTF-16 units that are written; more are cut off. */
  text(head: Head, value: string | undefined, most: number): void {
    if (value === undefined || value === '') return;
    this.#text(head, value.length > most ? `${value.slice(0, most)}…` : value);
  }

  /** @param value a text of ASCII without characters that JSON escapes. */
  safe(head: Head, value: string): void {
    this.bytes(head.text);
    this.ascii(value);
    this.byte(quote);
  }

  /** @param json a value as JSON. */
  raw(head: Head, json: string): void {
    this.bytes(head.value);
    this.#utf8(json);
  }

  /** Adds nothing if there is no value. */
  number(head: Head, value: number | undefined): void {
    if (value === undefined) return;
    if (!isCount(value)) return this.raw(head, JSON.stringify(value));
    this.bytes(head.value);
    this.integer(value);
  }

  /** Adds nothing if there is no value. @param value not negative; it is written with one digit after the point at most. */
  tenths(head: Head, value: number | undefined): void {
    if (value === undefined) return;
    const rounded = Math.round(value * 10);
    if (!isCount(rounded)) return this.raw(head, JSON.stringify(rounded / 10));
    const tenths = rounded | 0;
    const whole = (tenths / 10) | 0;
    this.bytes(head.value);
    this.integer(whole);
    if (tenths === whole * 10) return;
    this.#require(2);
    this.#bytes[this.#end] = point;
    this.#bytes[this.#end + 1] = zero + tenths - whole * 10;
    this.#end += 2;
  }

  /** @param value whole and not negative. */
  integer(value: number): void {
    if (!isCount(value)) return this.ascii(String(value));
    this.#require(10);
    let digits = 1;
    for (let rest = value | 0; rest >= 10; rest = (rest / 10) | 0) digits += 1;
    const [bytes, start] = [this.#bytes, this.#end];
    let rest = value | 0;
    for (let at = start + digits - 1; at >= start; at -= 1) {
      const left = (rest / 10) | 0;
      bytes[at] = zero + rest - left * 10;
      rest = left;
    }
    this.#end = start + digits;
  }

  /** @param value a text of ASCII. */
  ascii(value: string): void {
    this.#require(value.length + 1);
    const [bytes, start] = [this.#bytes, this.#end];
    if (value.length > short) bytes.write(value, start, 'latin1');
    else for (let index = 0; index < value.length; index += 1) bytes[start + index] = value.charCodeAt(index);
    this.#end += value.length;
  }

  /** @param bytes members, each after a comma, or a part of one. */
  bytes(bytes: Uint8Array): void {
    this.#require(bytes.length);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  byte(byte: number): void {
    this.#require(1);
    this.#bytes[this.#end] = byte;
    this.#end += 1;
  }

  /**
   * Adds a value in canonical form, as `canonical` writes it. Small values, as most arguments are, take half the time that a text of them would take.
   * @param value a parsed JSON value; members that are `undefined` are left out.
   */
  canonical(value: unknown): void {
    if (typeof value === 'string' && value.length <= shortValue) {
      this.byte(quote);
      if (!this.#plain(value)) {
        this.#end -= 1;
        this.#utf8(JSON.stringify(value));
      }
    } else if (typeof value === 'number' && isCount(value)) this.integer(value);
    else if (Array.isArray(value)) this.#list(value);
    else if (typeof value === 'object' && value !== null && !isRawNumber(value))
      this.#object(value as Readonly<Record<string, unknown>>);
    else this.#utf8(canonical(value));
  }

  #list(items: readonly unknown[]): void {
    this.byte(brackets.open);
    for (let index = 0; index < items.length; index += 1) {
      if (index > 0) this.byte(comma);
      this.canonical(items[index]);
    }
    this.byte(brackets.close);
  }

  #object(members: Readonly<Record<string, unknown>>): void {
    const start = this.length;
    let before: string | undefined;
    this.byte(braces.open);
    for (const name in members) {
      if (before !== undefined && name < before) {
        this.clear(start);
        return this.#utf8(canonical(members));
      }
      const member = members[name];
      if (member === undefined) continue;
      if (before !== undefined) this.byte(comma);
      this.canonical(name);
      this.byte(colon);
      this.canonical(member);
      before = name;
    }
    this.byte(braces.close);
  }

  #text(head: Head, value: string): void {
    this.bytes(head.text);
    if (this.#plain(value)) return;
    this.#end -= head.text.length;
    this.raw(head, JSON.stringify(value));
  }

  /** Adds a text and its last quotation mark. @returns false, with nothing added, where the text has characters that JSON escapes or that are not ASCII. */
  #plain(value: string): boolean {
    this.#require(value.length + 1);
    const [bytes, start] = [this.#bytes, this.#end];
    for (let index = 0; index < value.length; index += 1) {
      const unit = value.charCodeAt(index);
      if (unit < 0x20 || unit > 0x7e || unit === quote || unit === backslash) return false;
      bytes[start + index] = unit;
    }
    bytes[start + value.length] = quote;
    this.#end = start + value.length + 1;
    return true;
  }

  #utf8(text: string): void {
    this.#require(unitBytes * text.length);
    this.#end += this.#bytes.write(text, this.#end);
  }

  #require(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const written = this.written();
    const larger = Buffer.allocUnsafeSlow(2 * (written.length + bytes));
    larger.set(written);
    this.beginIn(larger, 0);
    this.#end = written.length;
  }
}

/** Whether a number is written by the digit, in 32-bit arithmetic, which takes a fraction of the time. */
function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}
