/**
 * Sends messages that are larger than NATS allows: the sender keeps the bytes and sends a claim, and the receiver of the claim fetches the parts from the
 * sender (`claims.ts`). A claim travels like any message, so this works for queue groups and many receivers too.
 *
 * Messages that are sent while a large one may still be on its way are marked, whatever their subject: a receiver that is fetching from this sender handles
 * them afterwards, so that a cancellation does not overtake its call.
 *
 * Invariants
 *  L1  Kept bytes are bounded: by `maxKeptBytes` together, by `keepMs` each.
 *  L2  A blob for one receiver is dropped with its last part.
 */
import { headers, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { maxMessageBytes } from '../codec.ts';
import { BusError } from '../errors.ts';
import { root } from '../subject.ts';
import { nameAt, type NatsPlace } from './place.ts';

const claimHeader = 'Omnibus-Blob';
/** Claims bytes that belong into the message that it comes with (`away.ts`). */
const awayHeader = 'Omnibus-Away';
const afterHeader = 'Omnibus-After';
/** Bound on the bytes of all large messages that wait to be fetched: four of the largest messages that servers may send. */
const maxKeptBytes = 256 * 1024 * 1024;
/** Bound on kept bytes beyond which no more are offered: the rest is for messages that NATS takes in no other way. */
const maxOfferedBytes = maxKeptBytes / 2;
const keepMs = 30_000;
/** After this time a receiver that has fetched the last part has also handled the message; until then later messages are marked. */
const handleMs = 1_000;
/** Room for headers and the protocol line within the server's `max_payload`. */
const marginBytes = 4 * 1024;
/** With a smaller `max_payload`, messages would have more parts than a claim may name. */
export const minPayloadBytes = 64 * 1024;

/** The beginning of the subjects on which senders of large messages serve their parts. */
export function sendersAt(place: NatsPlace): string {
  return nameAt(place, `${root}.blob.`);
}

interface Blob {
  readonly bytes: Uint8Array;
  readonly shared: boolean;
  /** Whether later messages may not overtake it. */
  readonly isOrdered: boolean;
  readonly dropAt: number;
}

/** The headers of a message that concern large messages: it is a claim, or comes after one. */
export type Order =
  | { readonly kind: 'claim'; readonly claim: string }
  | { readonly kind: 'after'; readonly sender: string };

export class Blobs {
  readonly #sender: string;
  readonly #replies: string;
  readonly #partBytes: number;
  readonly #kept = new Map<string, Blob>();
  #keptBytes = 0;
  /** How many of them later messages may not overtake. */
  #ordered = 0;
  #count = 0;
  /** Until when messages are marked as coming after a large one. */
  #followsUntil = 0;
  #sweep: NodeJS.Timeout | undefined;

  /** @param replies the beginning of the subjects that parts may be sent to. */
  constructor(connection: NatsConnection, place: NatsPlace, replies: string) {
    this.#replies = replies;
    this.#sender = sendersAt(place) + randomBytes(12).toString('base64url');
    this.#partBytes = (connection.info?.max_payload ?? 1024 * 1024) - marginBytes;
    connection.subscribe(this.#sender, { callback: (error, message) => (error ? undefined : this.#serve(message)) });
  }

  needsClaim(bytes: Uint8Array): boolean {
    return bytes.length > this.#partBytes;
  }

  /** The headers of an ordinary message; undefined except for a while after a large one. */
  get after(): MsgHdrs | undefined {
    if (this.#followsUntil === 0) return undefined;
    if (this.#ordered === 0 && performance.now() > this.#followsUntil) {
      this.#followsUntil = 0;
      return undefined;
    }
    const order = headers();
    order.set(afterHeader, this.#sender);
    return order;
  }

  /**
   * Keeps the bytes of a message and returns the headers that claim them.
   * @param shared whether several receivers may fetch them.
   * @throws {BusError} `payload-too-large` for more bytes than one message may have; `overloaded` when the kept bytes would exceed their bound.
   */
  keep(bytes: Uint8Array, shared: boolean): MsgHdrs {
    if (bytes.length > maxMessageBytes)
      throw new BusError('payload-too-large', `a message of ${bytes.length} bytes is larger than any may be`);
    this.#dropOld();
    if (this.#keptBytes + bytes.length > maxKeptBytes) {
      throw new BusError(
        'overloaded',
        `a message of ${bytes.length} bytes does not fit: ${this.#keptBytes} bytes of large messages wait to be fetched`,
      );
    }
    this.#followsUntil = performance.now() + keepMs;
    const claim = headers();
    claim.set(claimHeader, this.#claim(bytes, { shared, isOrdered: true }));
    return claim;
  }

  /**
   * Keeps bytes that belong into a message, for the process that gets it in the end.
   * @returns the claim; undefined if there is no room, so that the message must contain them.
   */
  offer(bytes: Uint8Array): string | undefined {
    if (this.#keptBytes + bytes.length > maxOfferedBytes) this.#dropOld();
    if (this.#keptBytes + bytes.length > maxOfferedBytes) return undefined;
    return this.#claim(bytes, { shared: false, isOrdered: false });
  }

  #claim(bytes: Uint8Array, how: Pick<Blob, 'shared' | 'isOrdered'>): string {
    this.#count += 1;
    const id = this.#count.toString(36);
    this.#kept.set(id, { bytes, ...how, dropAt: performance.now() + keepMs });
    this.#keptBytes += bytes.length;
    if (how.isOrdered) this.#ordered += 1;
    this.#sweep ??= setTimeout(() => {
      this.#sweep = undefined;
      this.#dropOld();
    }, keepMs).unref();
    return `${this.#sender} ${id} ${Math.ceil(bytes.length / this.#partBytes)} ${bytes.length}`;
  }

  #serve(request: Msg): void {
    if (request.reply?.startsWith(this.#replies) !== true) return;
    const [id = '', part] = request.string().split(' ');
    const blob = this.#kept.get(id);
    const start = Number(part) * this.#partBytes;
    if (blob === undefined || !Number.isSafeInteger(start) || start < 0 || start >= blob.bytes.length) {
      request.respond();
      return;
    }
    request.respond(blob.bytes.subarray(start, start + this.#partBytes));
    if (!blob.shared && start + this.#partBytes >= blob.bytes.length) this.#drop(id); // L2
  }

  /** L1. A receiver that has not fetched a blob by now never will. */
  #dropOld(): void {
    const now = performance.now();
    for (const [id, blob] of this.#kept) if (blob.dropAt <= now) this.#drop(id);
    if (this.#kept.size === 0 || this.#sweep !== undefined) return;
    this.#sweep = setTimeout(() => {
      this.#sweep = undefined;
      this.#dropOld();
    }, keepMs).unref();
  }

  #drop(id: string): void {
    const blob = this.#kept.get(id);
    if (blob === undefined) return;
    this.#kept.delete(id);
    this.#keptBytes -= blob.bytes.length;
    if (!blob.isOrdered) return;
    this.#ordered -= 1;
    if (this.#ordered === 0) this.#followsUntil = performance.now() + handleMs;
  }
}

/** The headers of a message about large messages; undefined for nearly every message. */
export function orderOf({ headers: said }: Msg): Order | undefined {
  if (said === undefined) return undefined;
  const claim = said.get(claimHeader);
  if (claim !== '') return { kind: 'claim', claim };
  const sender = said.get(afterHeader);
  return sender === '' ? undefined : { kind: 'after', sender };
}

/** The headers of a message whose bytes are at another process. */
export function awayHeaders(claim: string): MsgHdrs {
  const away = headers();
  away.set(awayHeader, claim);
  return away;
}

/** The claim of a message whose bytes are at another process; undefined for nearly every message. */
export function awayIn({ headers: said }: Msg): string | undefined {
  const claim = said?.get(awayHeader);
  return claim === '' ? undefined : claim;
}
