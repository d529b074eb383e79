/**
 * The chain of one writer. Each record is a line of JSON that ends with its hash: the SHA-256 of the previous hash and of the line without that last
 * member. The hash is of the exact bytes of the line, so a changed line is a different record.
 */
import { Members } from './members.ts';
import { sha256 } from './sha256.ts';

/** The hash before the first record of a chain. */
export const genesis = '';

/** The last member of a line. */
const hashEnd = /,"hash":"([A-Za-z0-9_-]{43})"\}$/;
const hashLength = ',"hash":""}'.length + 43;
const opening = Buffer.from('{');
const prevHead = Buffer.from(',"prev":"');
/** Ends the link, which is a text and an object, and the record. */
const ending = Buffer.from('"}}');
const hashHead = Buffer.from(',"hash":"');
const hashTail = Buffer.from('"}');

/** The present end of a chain. */
export interface Head {
  readonly writer: string;
  readonly seq: number;
  readonly hash: string;
}

export class Chain {
  readonly writer: string;
  /** What stands before the number of a record. */
  readonly #link: Uint8Array;
  #seq = 0;
  #hash = genesis;
  /** Where records are made. What is hashed begins with the hash before. */
  readonly #made = new Members();

  constructor(writer: string) {
    this.writer = writer;
    this.#link = Buffer.from(`,"omnibus.chain":{"writer":"${writer}","seq":`);
  }

  get head(): Head {
    return { writer: this.writer, seq: this.#seq, hash: this.#hash };
  }

  /** Begins a record. @returns where its members are to be written before `end`. */
  begin(): Members {
    const made = this.#made;
    made.clear();
    made.ascii(this.#hash);
    made.bytes(opening);
    return made;
  }

  /** Ends the record that was begun, and adds it to the chain. @returns its line, without a line end, which the next one overwrites. */
  end(): Buffer {
    const [made, prev] = [this.#made, this.#hash];
    made.bytes(this.#link);
    made.integer(this.#seq + 1);
    made.bytes(prevHead);
    made.ascii(prev);
    made.bytes(ending);
    this.#hash = sha256(made.written());
    this.#seq += 1;
    made.clear(made.length - 1);
    made.bytes(hashHead);
    made.ascii(this.#hash);
    made.bytes(hashTail);
    return made.written(prev.length);
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
