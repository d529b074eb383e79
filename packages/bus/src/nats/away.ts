/**
 * Replies without their large bytes. The process that has the bytes keeps them (`blobs.ts`) and sends the rest of the reply with a claim. A receiver that needs them
 * fetches them before its observer hears the reply; one that passes the reply on passes the claim on, so that the bytes cross the bus once (decision 68).
 */
import {
  AwayBytes,
  isObject,
  outlineOf,
  readResult,
  resultOfOutline,
  wire,
  withText,
  type JsonBytes,
  type JsonObject,
  type KeptBytes,
  type MayBeBytes,
  type MayHaveBytes,
  type Span,
} from '@omnibus/protocol';
import { bounds, decode, encode, withoutText } from '../codec.ts';
import { BusError } from '../errors.ts';

/** Fewer bytes are not worth the messages by which they are fetched. */
const leastAwayBytes = 64 * 1024;
/** A longer outline is not worth it. */
const maxOutlineBytes = 32 * 1024;

/** Bytes at another process, with the claim to them. */
interface ClaimedBytes extends KeptBytes {
  readonly claim: string;
}

/** A reply without its bytes, as it is sent. */
interface Sent {
  readonly body: Uint8Array;
  readonly claim: string;
}

/** Keeps bytes. @returns the claim to them; undefined if there is no room. */
type Offer = (bytes: Uint8Array) => string | undefined;

/** @returns undefined for a reply that is sent with all that is in it. */
export function withoutBytes(payload: JsonObject & MayBeBytes, offer: Offer): Sent | undefined {
  const text = payload[wire];
  if (text !== undefined) return frameWithoutText(payload, text, offer);
  if ((payload['result'] as MayHaveBytes | undefined)?.[wire] === undefined) return undefined;
  const { result, ...others } = payload;
  const found = outlineOf(result as JsonObject);
  if (found === undefined || found.bytes.length < leastAwayBytes) return undefined;
  const body = encode({ payload: others, outline: found.outline });
  const claim = body.length > maxOutlineBytes ? undefined : offer(joined(found.bytes.parts as readonly Buffer[]));
  return claim === undefined ? undefined : { body, claim };
}

function frameWithoutText(payload: JsonObject, text: JsonBytes, offer: Offer): Sent | undefined {
  const pieces: (string | readonly [start: number, end: number])[] = [];
  let claim: string | undefined;
  if (text instanceof AwayBytes) {
    ({ claim } = text.kept as ClaimedBytes);
    for (const piece of text.pieces) pieces.push(typeof piece === 'string' ? piece : [piece.start, piece.end]);
  } else {
    const large: Buffer[] = [];
    let at = 0;
    for (const part of text.parts) {
      if (typeof part === 'string') {
        pieces.push(part);
        continue;
      }
      large.push(part);
      pieces.push([at, (at += part.length)]);
    }
    if (at < leastAwayBytes) return undefined;
    claim = offer(joined(large));
  }
  return claim === undefined ? undefined : { body: encode({ payload: withoutText(payload), pieces }), claim };
}

function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

/** A reply that has come without its bytes. */
export class AwayReply {
  /** Its members, for the check of its shape: without the text of a frame. */
  readonly members: JsonObject;
  readonly #kept: ClaimedBytes;
  readonly #text: AwayBytes | undefined;

  /** @throws {BusError} `undecodable` */
  constructor(bytes: Uint8Array, kept: ClaimedBytes) {
    const { payload, outline, pieces } = decode(bytes) as Readonly<Record<string, unknown>>;
    if (!isObject(payload)) throw unreadable();
    this.#kept = kept;
    if (isObject(outline)) {
      const result = resultOfOutline(outline, kept);
      if (result === undefined) throw unreadable();
      this.members = { ...payload, result };
    } else {
      this.#text = new AwayBytes(kept, piecesOf(pieces, kept.length));
      this.members = { ...payload, text: '' };
    }
  }

  /** The reply, whose bytes are at another process. */
  get away(): unknown {
    return this.#text === undefined ? this.members : withText(withoutText(this.members), this.#text);
  }

  /** Fetches the bytes. @throws {BusError} `lost` if they are gone. */
  async here(): Promise<unknown> {
    const bytes = await this.#kept.fetch();
    if (this.#text !== undefined) return withText(withoutText(this.members), this.#text.here(bytes));
    return { ...this.members, result: resultOf(bytes) };
  }
}

/** A result of its bytes. @throws {BusError} `undecodable` */
export function resultOf(bytes: Buffer): JsonObject {
  const result = readResult(bytes, bounds) ?? decode(bytes);
  if (!isObject(result)) throw unreadable();
  return result;
}

function piecesOf(pieces: unknown, length: number): readonly (string | Span)[] {
  if (!Array.isArray(pieces)) throw unreadable();
  return (pieces as readonly unknown[]).map((piece) => {
    if (typeof piece === 'string') return piece;
    const [start, end] = Array.isArray(piece) ? (piece as readonly unknown[]) : [];
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) throw unreadable();
    const span = { start: start as number, end: end as number };
    if (span.start < 0 || span.start > span.end || span.end > length) throw unreadable();
    return span;
  });
}

function unreadable(): BusError {
  return new BusError('undecodable', 'a reply without its bytes does not have the shape of one');
}
