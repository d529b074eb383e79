/**
 * Sends the messages of one turn of the event loop in one write.
 * A write to the socket takes more processor time than all other work on a small message, at its sender and at its receiver.
 * Alone, the client of NATS writes after each callback, so once for each socket that has brought a message.
 */
import type { NatsConnection, PublishOptions } from '@nats-io/transport-node';

interface Waiting {
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly options: PublishOptions | undefined;
  readonly refused: (error: unknown) => void;
}

type Connection = Pick<NatsConnection, 'publish' | 'isClosed' | 'isDraining'>;

export class Outbox {
  readonly #connection: Connection;
  #waiting: Waiting[] = [];

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Messages are sent in the order of these calls (B2), and before any that the caller gives to the connection after `flush`.
   * @param refused called when the client of NATS does not take the message, as after the server lowered `max_payload`.
   */
  publish(
    subject: string,
    bytes: Uint8Array,
    options: PublishOptions | undefined,
    refused: (error: unknown) => void,
  ): void {
    if (this.#waiting.length === 0) setImmediate(() => this.flush());
    this.#waiting.push({ subject, bytes, options, refused });
  }

  /** Gives all waiting messages to the connection, for a caller that needs to know when they have arrived, or that closes it. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    // Requests of a closed connection have failed.
    if (this.#connection.isClosed() || this.#connection.isDraining()) return;
    for (const { subject, bytes, options, refused } of waiting) {
      try {
        this.#connection.publish(subject, bytes, options);
      } catch (error) {
        refused(error); // The others still leave.
      }
    }
  }
}
