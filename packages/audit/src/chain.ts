/**
 * The chain of one writer. Each record is a line of JSON that names the hash of the record before it, and ends with its own: the SHA-256 of the line without
 * that last member. The hash is of the exact bytes of the line, so a changed line is a different record.
 */
import { objectIn } from '@omnibus/protocol';
import type { Members } from './members.ts';
import { sha256 } from './sha256.ts';

/** The hash before the first record of a chain. */
export const genesis = '';

/** The last member of a line. */
const hashEnd = /,"hash":"([A-Za-z0-9_-]{43})"\}$/;
const hashLength = ',"hash":""}'.length + 43;
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

  constructor(writer: string) {
    this.writer = writer;
    this.#link = Buffer.from(`,"omnibus.chain":{"writer":"${writer}","seq":`);
  }

  get head(): Head {
    return { writer: this.writer, seq: this.#seq, hash: this.#hash };
  }

  /** Adds a record to the chain. @param line its opening brace and its members; the members of the chain are added, and the closing brace, but no line end. */
  seal(line: Members): void {
    line.bytes(this.#link);
    line.integer(this.#seq + 1);
    line.bytes(prevHead);
    line.ascii(this.#hash);
    line.bytes(ending);
    this.#hash = sha256(line.written());
    this.#seq += 1;
    line.clear(line.length - 1);
    line.bytes(hashHead);
    line.ascii(this.#hash);
    line.bytes(hashTail);
  }
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
  const record = objectIn(body);
  if (record === undefined) return undefined;
  const { writer, seq, prev } = (record['omnibus.chain'] ?? {}) as {
    readonly writer?: unknown;
    readonly seq?: unknown;
    readonly prev?: unknown;
  };
  if (typeof writer !== 'string' || typeof prev !== 'string' || !Number.isSafeInteger(seq) || (seq as number) < 1)
    return undefined;
  return { writer, seq: seq as number, prev, hash, isGenuine: sha256(body) === hash, record };
}
