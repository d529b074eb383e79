/** Reads the large answer of a server without building its large values. */
import { isObject, type JsonObject } from '../json-rpc.ts';
import {
  backslash,
  closeArray,
  closeObject,
  comma,
  openArray,
  openObject,
  quote,
  refused,
  Scanner,
  type JsonLimits,
} from './scan.ts';
import { Chunks } from './chunks.ts';
import type { Kind, MayBeUnread, Span } from './marks.ts';
import { defineUnread, Wire, withWire, type Member, type Reading } from './wire.ts';

/** Smaller messages are not dearer as values (decisions 67 and 83). */
export const leastWireBytes = 32 * 1_024;
/** Longer strings are read when code asks for them. */
const maxEager = 256;
/** Items of an object or array that are told apart. One with more is read as a whole. */
const maxItems = 64;
/** Members of a result that are told apart from their own members: an object, and a list of blocks with their resources. */
const levels = { object: 1, array: 3 } as const;

/**
 * Reads a message with a result under a number, as `readJson` does.
 * @returns undefined for every other message, and where both might differ; `readJson` then reads it, or says why it cannot be read.
 */
export function readAnswer(chunks: readonly Buffer[], limits: JsonLimits): JsonObject | undefined {
  return readerOf(chunks, limits)?.message();
}

/**
 * Reads a result alone, as `readAnswer` reads the one of an answer.
 * @returns undefined where that and `readJson` might differ.
 */
export function readResult(bytes: Buffer, limits: JsonLimits): JsonObject | undefined {
  return readerOf([bytes], limits)?.result();
}

function readerOf(pieces: readonly Buffer[], limits: JsonLimits): Reader | undefined {
  if (pieces[0]?.[0] !== openObject) return undefined;
  const chunks = new Chunks(pieces);
  const scanner = new Scanner(chunks.joined, limits);
  return scanner.isUtf8 ? new Reader(scanner, chunks) : undefined;
}

/** A value that is not built. */
class Unread {
  readonly kind: Kind;
  readonly written: Span;

  constructor(kind: Kind, written: Span) {
    this.kind = kind;
    this.written = written;
  }
}

/** Reads the member whose name has been read. @param nameAt position of the name. @returns the position after the value, or `refused`. */
type ReadMember = (at: number, name: string, nameAt: number) => number;

class Reader {
  readonly #scanner: Scanner;
  /** Valid only until the message has been read. */
  readonly #bytes: Buffer;
  readonly #chunks: Chunks;
  readonly #reading: Reading = { isRead: false };
  /** The value that was read last. */
  #value: unknown;

  constructor(scanner: Scanner, chunks: Chunks) {
    this.#scanner = scanner;
    this.#bytes = scanner.bytes;
    this.#chunks = chunks;
  }

  message(): JsonObject | undefined {
    const end = this.#object(0, 1, (at, name) =>
      name === 'result' && this.#bytes[at] === openObject ? this.#result(at) : this.#tree(at, 2, 0),
    );
    if (end === refused || this.#scanner.blanks(end) !== this.#bytes.length || !isObject(this.#value)) return undefined;
    const message = this.#value;
    const { id, result, jsonrpc } = message;
    const isAnswer = jsonrpc === '2.0' && Number.isSafeInteger(id) && isObject(result);
    return isAnswer && Object.keys(message).length === 3 ? message : undefined;
  }

  result(): JsonObject | undefined {
    return this.#result(0) === this.#bytes.length ? (this.#value as JsonObject) : undefined;
  }

  #result(start: number): number {
    const members: Member[] = [];
    let nulls = 0;
    const end = this.#object(start, 2, (at, name, nameAt) => {
      const before = this.#scanner.nulls;
      const next = this.#tree(at, 3, this.#bytes[at] === openArray ? levels.array : levels.object);
      if (name !== 'structuredContent' || this.#value === null) nulls += this.#scanner.nulls - before;
      members.push({ name, written: { start: nameAt, end: next } });
      return next;
    });
    if (end === refused || !isObject(this.#value)) return refused;
    withWire(this.#value, new Wire(this.#reading, members, { start, end }, nulls > 0, this.#chunks));
    return end;
  }

  /** Reads a value. @param told how many levels of objects and arrays are told apart, from this one on. */
  #tree(at: number, depth: number, told: number): number {
    const first = this.#bytes[at];
    const isList = first === openArray;
    if (!isList && first !== openObject) return this.#scalar(at, depth);
    if (told > 0)
      return isList
        ? this.#array(at, depth, told)
        : this.#object(at, depth, (from) => this.#tree(from, depth + 1, told - 1));
    return this.#unread(at, this.#scanner.value(at, depth));
  }

  #unread(at: number, end: number): number {
    this.#value = new Unread(this.#bytes[at] === quote ? 'string' : 'object', { start: at, end });
    return end;
  }

  #object(start: number, depth: number, read: ReadMember): number {
    const scanner = this.#scanner;
    if (!scanner.opens(depth)) return refused;
    const made: Record<string, unknown> = {};
    let at = scanner.blanks(start + 1);
    if (this.#bytes[at] === closeObject) {
      this.#value = made;
      return at + 1;
    }
    for (let count = 0; ; count += 1) {
      if (count === maxItems) return depth <= 2 ? refused : this.#unread(start, scanner.rest(at, depth, true));
      const nameAt = at;
      at = scanner.key(nameAt);
      if (at === refused) return refused;
      const name = this.#name(nameAt);
      // Of two equal members, parsers take one each.
      if (name === undefined || Object.hasOwn(made, name)) return refused;
      at = read(at, name, nameAt);
      if (at === refused) return refused;
      this.#set(made, name);
      at = scanner.blanks(at);
      if (this.#bytes[at] === closeObject) break;
      if (this.#bytes[at] !== comma || !scanner.counts()) return refused;
      at = scanner.blanks(at + 1);
    }
    this.#value = made;
    return at + 1;
  }

  #array(start: number, depth: number, told: number): number {
    const scanner = this.#scanner;
    if (!scanner.opens(depth)) return refused;
    const made: unknown[] = [];
    let at = scanner.blanks(start + 1);
    if (this.#bytes[at] === closeArray) {
      this.#value = made;
      return at + 1;
    }
    for (let index = 0; ; index += 1) {
      if (index === maxItems) return this.#unread(start, scanner.rest(at, depth, false));
      at = this.#tree(at, depth + 1, told - 1);
      if (at === refused) return refused;
      this.#set(made, index);
      at = scanner.blanks(at);
      if (this.#bytes[at] === closeArray) break;
      if (this.#bytes[at] !== comma || !scanner.counts()) return refused;
      at = scanner.blanks(at + 1);
    }
    this.#value = made;
    return at + 1;
  }

  #set(holder: object, name: string | number): void {
    const value = this.#value;
    if (value instanceof Unread) this.#setUnread(holder, name, value);
    else (holder as Record<string | number, unknown>)[name] = value;
  }

  #setUnread(holder: MayBeUnread, name: string | number, { kind, written }: Unread): void {
    const [reading, chunks] = [this.#reading, this.#chunks];
    let value: unknown;
    const read = (): unknown => {
      reading.isRead = true;
      return (value ??= chunks.valueAt(written));
    };
    defineUnread(holder, name, { kind, read });
  }

  /** The name of a member that begins at a position; undefined for one that is written with escapes, or that objects treat differently. */
  #name(at: number): string | undefined {
    const written = this.#bytes.subarray(at + 1, this.#bytes.indexOf(quote, at + 1));
    const name = written.toString('utf8');
    return written.includes(backslash) || name === '__proto__' ? undefined : name;
  }

  /** A string, number or literal. */
  #scalar(at: number, depth: number): number {
    const end = this.#scanner.value(at, depth);
    if (end === refused) return refused;
    if (end - at > maxEager) return this.#unread(at, end);
    const text = this.#bytes.toString('utf8', at, end);
    this.#value = JSON.parse(text);
    // A number that a double would change is left to `readJson`.
    return typeof this.#value === 'number' && String(this.#value) !== text ? refused : end;
  }
}
