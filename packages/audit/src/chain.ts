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
  /** What stands before the number of a record. */
  readonly #link: string;
  #seq = 0;
  #hash = genesis;
  /** Where lines are made: what is hashed begins with the hash before. */
  #made = Buffer.allocUnsafeSlow(4_096);

  constructor(writer: string) {
    this.writer = writer;
    this.#link = `,"omnibus.chain":{"writer":"${writer}","seq":`;
  }

  get head(): Head {
    return { writer: this.writer, seq: this.#seq, hash: this.#hash };
  }

  /** Adds a record to the chain. @param members of the record as JSON, without the braces. @returns its line, without a line end, which the next one overwrites. */
  seal(members: string): Buffer {
    this.#seq += 1;
    const body = `{${members}${this.#link}${this.#seq},"prev":"${this.#hash}"}`;
    const most = 3 * body.length + hashLength + 43;
    if (this.#made.length < most) this.#made = Buffer.allocUnsafeSlow(most);
    const start = this.#made.write(this.#hash, 0, 'latin1');
    const end = start + this.#made.write(body, start);
    this.#made[end] = closing;
    this.#hash = sha256(this.#made.subarray(0, end + 1));
    return this.#made.subarray(start, end + this.#made.write(`,"hash":"${this.#hash}"}`, end, 'latin1'));
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
