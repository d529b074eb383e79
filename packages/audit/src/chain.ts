/**
 * The chain of one writer. Each record is a line of JSON that ends with its hash: the SHA-256 of the previous hash and of the line without that last
 * member. The hash is of the exact bytes of the line, so a changed line is a different record.
 */
import { sha256 } from './sha256.ts';

/** The hash before the first record of a chain. */
export const genesis = '';

/** The last member of a line. */
const hashEnd = /,"hash":"([A-Za-z0-9_-]{43})"\}$/;
const hashLength = ',"hash":""}'.length + 43;
const closing = '}'.charCodeAt(0);

/** The present end of a chain. */
export interface Head {
  readonly writer: string;
  readonly seq: number;
  readonly hash: string;
}

export class Chain {
  readonly writer: string;
  #seq = 0;
  #hash = genesis;
  /** Bytes that are hashed: the hash before, and the line without its own. */
  #hashed = Buffer.allocUnsafeSlow(4_096);

  constructor(writer: string) {
    this.writer = writer;
  }

  get head(): Head {
    return { writer: this.writer, seq: this.#seq, hash: this.#hash };
  }

  /** Adds a record to the chain. @param members of the record as JSON, without the braces. @returns its line, without a line end. */
  seal(members: string): string {
    this.#seq += 1;
    const body = `{${members},"omnibus.chain":{"writer":"${this.writer}","seq":${this.#seq},"prev":"${this.#hash}"}`;
    // As bytes, the line is gone through once and not copied as a text in between.
    const most = 3 * body.length + 64;
    if (this.#hashed.length < most) this.#hashed = Buffer.allocUnsafeSlow(most);
    let end = this.#hashed.write(this.#hash, 0, 'latin1');
    end += this.#hashed.write(body, end);
    this.#hashed[end] = closing;
    this.#hash = sha256(this.#hashed.subarray(0, end + 1));
    return `${body},"hash":"${this.#hash}"}`;
  }
}

function hashOf(prev: string, body: string): string {
  return sha256(prev + body);
}

/** A line of a chain, as it is read again. */
export interface Link extends Head {
  readonly prev: string;
  /** Whether the hash matches the line. */
  readonly isGenuine: boolean;
  readonly record: Readonly<Record<string, unknown>>;
}

/** @returns undefined for a line that is not of a chain. */
export function readLink(line: string): Link | undefined {
  const hash = hashEnd.exec(line)?.[1];
  if (hash === undefined) return undefined;
  const body = `${line.slice(0, -hashLength)}}`;
  let record: Readonly<Record<string, unknown>>;
  try {
    record = JSON.parse(body) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined; // The caller reports the line by its place.
  }
  const { writer, seq, prev } = (record['omnibus.chain'] ?? {}) as { readonly writer?: unknown; readonly seq?: unknown; readonly prev?: unknown };
  if (typeof writer !== 'string' || typeof prev !== 'string' || !Number.isSafeInteger(seq) || (seq as number) < 1) return undefined;
  return { writer, seq: seq as number, prev, hash, isGenuine: hashOf(prev, body) === hash, record };
}
