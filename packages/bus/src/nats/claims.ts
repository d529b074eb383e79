/**
 * Receives large messages (`blobs.ts`): fetches the parts that a claim names, within bounds.
 *
 * Invariant L3: a sender that stops in the middle holds up its own messages only. Simultaneous fetches are bounded in number and bytes, and one sender may
 * use only a part of both.
 */
import type { NatsConnection } from '@nats-io/transport-node';
import { isToken } from '@omnibus/protocol';
import { maxMessageBytes } from '../codec.ts';
import { BusError } from '../errors.ts';
import { sendersAt } from './blobs.ts';
import type { NatsPlace } from './place.ts';

/** A part that has not arrived by then will not come: it takes a round trip to NATS and the sender. */
const partTimeoutMs = 5_000;
/** A sender keeps claimed bytes for this long, so fetching longer is pointless. */
const fetchTimeoutMs = 30_000;
/** Smaller than any part that a sender makes: NATS allows messages of a megabyte by default, and less than 64 KB is refused at the start. */
const minPartBytes = 32 * 1024;
/** Parts that are fetched at the same time: enough to use the connection to NATS fully, and few enough that each message is complete soon. */
const maxFetches = { all: 64, ofOneSender: 16 };
/** Bytes that are fetched at the same time. */
const maxFetchedBytes = maxMessageBytes;
/** Bound on fetches that wait for their turn; each is an address and a promise. */
const maxQueued = 1_000;

/** A claim to a large message. It is not trusted: it may name only a sender of this installation. */
export interface Claim {
  /** The subject on which the sender serves its parts; identifies the sender. */
  readonly sender: string;
  readonly id: string;
  readonly parts: number;
  readonly bytes: number;
}

const claimPattern = /^(\S{1,300}) ([0-9a-z]{1,13}) (\d{1,5}) (\d{1,10})$/;

interface Queued {
  readonly claim: Claim;
  readonly start: () => void;
}

export class Fetches {
  readonly #connection: NatsConnection;
  /** The beginning of the subjects on which senders of this installation serve their parts. */
  readonly #senders: string;
  readonly #running = new Map<string, number>();
  #count = 0;
  #bytes = 0;
  #queue: Queued[] = [];

  constructor(connection: NatsConnection, place: NatsPlace) {
    this.#connection = connection;
    this.#senders = sendersAt(place);
  }

  /** @throws {BusError} `undecodable` for a text that is not a claim, names anything but a sender of this installation, or more than a message may have. */
  claimOf(text: string): Claim {
    const [, sender, id, parts, bytes] = claimPattern.exec(text) ?? [];
    if (sender === undefined || id === undefined)
      throw new BusError('undecodable', 'a claim to a large message does not have the shape of one');
    if (!sender.startsWith(this.#senders) || !isToken(sender.slice(this.#senders.length)))
      throw new BusError('undecodable', 'a claim to a large message names no sender of this installation');
    const claim = { sender, id, parts: Number(parts), bytes: Number(bytes) };
    if (
      claim.parts === 0 ||
      claim.bytes === 0 ||
      claim.bytes > maxMessageBytes ||
      claim.parts > Math.ceil(claim.bytes / minPartBytes)
    ) {
      throw new BusError(
        'undecodable',
        `a claim names ${claim.parts} parts and ${claim.bytes} bytes, which no message has`,
      );
    }
    return claim;
  }

  /**
   * The bytes of a claim, fetched when it is its turn.
   * @throws {BusError} `lost` when the sender is gone, has dropped them or sends something else; `overloaded` when too many fetches wait.
   */
  async fetch(claim: Claim): Promise<Buffer> {
    await this.#turn(claim);
    try {
      return await this.#fetchParts(claim);
    } finally {
      this.#leave(claim);
    }
  }

  async #fetchParts({ sender, id, parts, bytes }: Claim): Promise<Buffer> {
    const giveUpAt = performance.now() + fetchTimeoutMs;
    let whole: Buffer | undefined;
    let filled = 0;
    for (let part = 0; part < parts; part += 1) {
      const timeout = Math.min(partTimeoutMs, Math.max(1, giveUpAt - performance.now()));
      const { data } = await this.#connection.request(sender, `${id} ${part}`, { timeout }).catch((error: unknown) => {
        throw new BusError('lost', 'the sender of a large message is not heard of any more', error);
      });
      if (data.length === 0) throw new BusError('lost', 'the sender of a large message has dropped it');
      if (filled + data.length > bytes) throw new BusError('lost', 'a large message is larger than its claim');
      // One part is not copied.
      if (parts === 1) whole = Buffer.from(data.buffer, data.byteOffset, data.length);
      else (whole ??= Buffer.allocUnsafe(bytes)).set(data, filled);
      filled += data.length;
    }
    if (whole === undefined || filled < bytes) throw new BusError('lost', 'a large message is smaller than its claim');
    return whole;
  }

  #turn(claim: Claim): Promise<void> {
    if (this.#fits(claim)) {
      this.#enter(claim);
      return Promise.resolve();
    }
    if (this.#queue.length >= maxQueued)
      return Promise.reject(new BusError('overloaded', `${maxQueued} large messages wait to be fetched`));
    return new Promise((resolve) => {
      this.#queue.push({ claim, start: resolve });
    });
  }

  #fits({ sender, bytes }: Claim): boolean {
    return (
      this.#count < maxFetches.all &&
      (this.#running.get(sender) ?? 0) < maxFetches.ofOneSender &&
      this.#bytes + bytes <= maxFetchedBytes
    );
  }

  #enter({ sender, bytes }: Claim): void {
    this.#count += 1;
    this.#bytes += bytes;
    this.#running.set(sender, (this.#running.get(sender) ?? 0) + 1);
  }

  #leave({ sender, bytes }: Claim): void {
    this.#count -= 1;
    this.#bytes -= bytes;
    const left = (this.#running.get(sender) ?? 1) - 1;
    if (left === 0) this.#running.delete(sender);
    else this.#running.set(sender, left);
    this.#queue = this.#queue.filter(({ claim, start }) => {
      if (!this.#fits(claim)) return true;
      this.#enter(claim);
      start();
      return false;
    });
  }
}
