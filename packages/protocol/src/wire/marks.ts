/** The marks on objects that are read from bytes only when code asks for their members (`wire.ts`). */

import { countBuffersToHeap } from './buffers.ts';

export const wire = Symbol('wire');
export const unread = Symbol('unread');

/** Bytes that another process keeps until a process has fetched them, or for a while. */
export interface KeptBytes {
  readonly length: number;
  /** May be called once. @throws {Error} if that process does not have them any more. */
  fetch(): Promise<Buffer>;
}

/** Some of them: from `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** JSON text in parts, in order, without line breaks. */
export class JsonBytes {
  readonly parts: readonly (string | Buffer)[];
  /** In bytes of UTF-8. */
  readonly length: number;

  constructor(parts: readonly (string | Buffer)[]) {
    this.parts = parts;
    if (parts.length > 0) countBuffersToHeap();
    let bytes = 0;
    for (const part of parts) bytes += Buffer.byteLength(part);
    this.length = bytes;
  }

  /** The same between two texts. */
  within(before: string, after: string): JsonBytes {
    return new JsonBytes([before, ...this.parts, after]);
  }

  toString(): string {
    // A part may end inside a character.
    const parts = this.parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
    return (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).toString('utf8');
  }
}

/** Code has asked for bytes that are at another process. */
export class AwayError extends Error {
  constructor() {
    super('the bytes of a large result are at the process that called its server');
    this.name = 'AwayError';
  }
}

/** JSON text of which a part is at another process. Only that process, and the one that gets it in the end, can read it. */
export class AwayBytes extends JsonBytes {
  readonly kept: KeptBytes;
  readonly pieces: readonly (string | Span)[];
  override readonly length: number;

  constructor(kept: KeptBytes, pieces: readonly (string | Span)[]) {
    super([]);
    this.kept = kept;
    this.pieces = pieces;
    let bytes = 0;
    for (const piece of pieces) bytes += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.end - piece.start;
    this.length = bytes;
  }

  override within(before: string, after: string): JsonBytes {
    return new AwayBytes(this.kept, [before, ...this.pieces, after]);
  }

  /** The same with the bytes. */
  here(bytes: Buffer): JsonBytes {
    return new JsonBytes(
      this.pieces.map((piece) => (typeof piece === 'string' ? piece : bytes.subarray(piece.start, piece.end))),
    );
  }

  override toString(): never {
    throw new AwayError();
  }
}

/** One for all frames: see `getters` in `wire.ts`. */
function textOf(this: MayBeBytes): string | undefined {
  return this[wire]?.toString();
}

/**
 * Adds the member `text`, which is made from the bytes when code asks for it.
 * @returns the same object, with its bytes under the symbol `wire`.
 */
export function withText<Rest extends object>(
  rest: Rest,
  bytes: JsonBytes,
): Rest & { readonly text: string; readonly [wire]: JsonBytes } {
  return Object.defineProperties(rest, {
    text: { enumerable: true, get: textOf },
    [wire]: { value: bytes },
  }) as Rest & { readonly text: string; readonly [wire]: JsonBytes };
}

/** The type of a member that is read when code asks for it. */
export type Kind = 'string' | 'object';

export interface UnreadMember {
  readonly kind: Kind;
  /** Called each time that code asks for the member. */
  readonly read: () => unknown;
}

/** An object with members that are read when code asks for them, by name, in the order in which it got them. */
export interface MayBeUnread {
  readonly [unread]?: ReadonlyMap<string, UnreadMember>;
}

/** A result that may have its bytes. */
export interface MayHaveBytes {
  readonly [wire]?: ResultBytes;
}

/** A frame that may have its text as bytes. */
export interface MayBeBytes {
  readonly [wire]?: JsonBytes;
}

/** The bytes of a large result. */
export interface ResultBytes {
  /** Where the bytes are, if they are not in this process: then code that reads a large member gets an `AwayError`. */
  readonly away: KeptBytes | undefined;
  /** The result as JSON; undefined once code has read a member from the bytes. */
  readonly bytes: JsonBytes | undefined;
  /** Whether `null` occurs outside of `structuredContent`. */
  readonly hasNulls: boolean;
  /**
   * `{ ...first, ...result, ...last }` without reading the members that stay.
   * @param result the one that these bytes belong to.
   */
  with(result: object, first: object, last: object): { readonly [key: string]: unknown };
}
