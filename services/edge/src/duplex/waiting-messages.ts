/** Messages that come before the answer to `initialize`, within the bounds of a session. */
import type { Caller, Limits } from '@omnibus/protocol';
import type { ParsedBody } from '../requests/parse-message.ts';

/** A message, and its caller. */
interface WaitingMessage {
  readonly parsed: ParsedBody;
  readonly caller: Caller;
  /** Bytes that count while it waits. */
  readonly counted: number;
}

export class WaitingMessages implements Iterable<WaitingMessage> {
  readonly #limits: Pick<Limits, 'maxInFlightPerSession' | 'maxBodyBytes'>;
  readonly #messages: WaitingMessage[] = [];
  #count = 0;
  #bytes = 0;

  constructor(limits: Pick<Limits, 'maxInFlightPerSession' | 'maxBodyBytes'>) {
    this.#limits = limits;
  }

  /** @param count messages in it. @param bytes its size, or an upper bound of that. @returns false when there are too many, and it is not kept. */
  keep(message: WaitingMessage, count: number, bytes: number): boolean {
    const { maxInFlightPerSession, maxBodyBytes } = this.#limits;
    this.#bytes += bytes;
    this.#count += count;
    const fits = this.#count <= maxInFlightPerSession && this.#bytes <= maxBodyBytes;
    if (fits) this.#messages.push(message);
    return fits;
  }

  [Symbol.iterator](): Iterator<WaitingMessage> {
    return this.#messages.values();
  }
}
