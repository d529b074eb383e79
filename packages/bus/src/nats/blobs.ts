/**
 * Messages larger than NATS takes. The sender keeps the bytes and sends a claim; whoever receives the claim fetches the
 * parts from the sender. Works for queue groups and many receivers alike, because the claim travels like any message.
 *
 * Invariants
 *  L1  Kept bytes are bounded: by `maxKeptBytes` together, by `keepMs` each.
 *  L2  A blob for one receiver is dropped with its last part.
 */
import { headers, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { BusError } from '../errors.ts';

const header = 'Omnibus-Blob';
const maxKeptBytes = 256 * 1024 * 1024;
const keepMs = 30_000;
const partTimeoutMs = 5_000;
/** Room for headers and the protocol line within the server's `max_payload`. */
const marginBytes = 4 * 1024;

interface Blob {
  readonly bytes: Uint8Array;
  readonly shared: boolean;
  readonly dropAt: number;
}

export class Blobs {
  readonly #connection: NatsConnection;
  readonly #subject: string;
  readonly #partBytes: number;
  readonly #kept = new Map<string, Blob>();
  #keptBytes = 0;
  #count = 0;

  constructor(connection: NatsConnection, subject: string) {
    this.#connection = connection;
    this.#subject = subject;
    this.#partBytes = (connection.info?.max_payload ?? 1024 * 1024) - marginBytes;
    connection.subscribe(subject, { callback: (error, message) => (error ? undefined : this.#serve(message)) });
  }

  needsClaim(bytes: Uint8Array): boolean {
    return bytes.length > this.#partBytes;
  }

  /**
   * Keeps the bytes and returns the headers that claim them.
   * @param shared several receivers may fetch them.
   * @throws {BusError} `payload-too-large` when what is kept would exceed the bound.
   */
  keep(bytes: Uint8Array, shared: boolean): MsgHdrs {
    const now = performance.now();
    for (const [id, blob] of this.#kept) if (blob.dropAt <= now) this.#drop(id); // L1
    if (this.#keptBytes + bytes.length > maxKeptBytes) {
      throw new BusError('payload-too-large', `a message of ${bytes.length} bytes does not fit: ${this.#keptBytes} bytes of large messages wait to be fetched`);
    }
    this.#count += 1;
    const id = this.#count.toString(36);
    this.#kept.set(id, { bytes, shared, dropAt: now + keepMs });
    this.#keptBytes += bytes.length;
    const claim = headers();
    claim.set(header, `${this.#subject} ${id} ${Math.ceil(bytes.length / this.#partBytes)}`);
    return claim;
  }

  /** The claim in a message, if it is one. */
  claimOf(message: Msg): string | undefined {
    return message.headers?.get(header) || undefined;
  }

  /** @throws {BusError} `lost` when the sender is gone or has dropped the bytes. */
  async fetch(claim: string): Promise<Uint8Array> {
    const [subject, id, count] = claim.split(' ') as [string, string, string];
    const parts: Uint8Array[] = [];
    for (let part = 0; part < Number(count); part += 1) {
      const answer = await this.#connection.request(subject, `${id} ${part}`, { timeout: partTimeoutMs }).catch((error: unknown) => {
        throw new BusError('lost', 'the sender of a large message is not heard of any more', error);
      });
      if (answer.data.length === 0) throw new BusError('lost', 'the sender of a large message has dropped it');
      parts.push(answer.data);
    }
    return Buffer.concat(parts);
  }

  #serve(request: Msg): void {
    const [id, part] = request.string().split(' ') as [string, string];
    const blob = this.#kept.get(id);
    if (blob === undefined) {
      request.respond();
      return;
    }
    const start = Number(part) * this.#partBytes;
    request.respond(blob.bytes.subarray(start, start + this.#partBytes));
    if (!blob.shared && start + this.#partBytes >= blob.bytes.length) this.#drop(id); // L2
  }

  #drop(id: string): void {
    const blob = this.#kept.get(id);
    if (blob === undefined) return;
    this.#kept.delete(id);
    this.#keptBytes -= blob.bytes.length;
  }
}
