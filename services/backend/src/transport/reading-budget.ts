/**
 * Bounds how much of large answers of servers is read at the same time. The received bytes of an answer are in memory until it is complete; a hundred
 * large answers at once could fill the heap. Beyond the bound an answer waits, unread, until others are complete; flow control of TCP then stops its
 * server.
 *
 * Invariant: of each server with large answers at least one is always read on. So no answer waits for one that waits itself, and a slow server delays
 * only its own answers.
 */

/** Bytes of an answer that are always read: the number of simultaneous answers is bounded, and most are smaller. */
export const smallBytes = 64 * 1024;
/** The part of the bound that the answers of one server may take. */
const serverPart = 1 / 2;

export interface ReadingBudgetOptions {
  /** Bound on the bytes of large answers of all servers together. */
  readonly maxBytes: number;
  /** Called when an answer must wait. */
  readonly onWait: () => void;
}

/** The budget of one process. */
export class ReadingBudget {
  readonly #options: ReadingBudgetOptions;
  /** Answers that wait, in the order in which they began to wait. */
  readonly #waiting = new Set<Reading>();
  #bytes = 0;

  constructor(options: ReadingBudgetOptions) {
    this.#options = options;
  }

  /** Bytes of large answers that are not complete. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Makes the share of one server. */
  share(): ReadingShare {
    return new ReadingShare(this, this.#options.maxBytes * serverPart);
  }

  count(bytes: number): void {
    this.#bytes += bytes;
  }

  get isFull(): boolean {
    return this.#bytes > this.#options.maxBytes;
  }

  wait(reading: Reading): void {
    this.#waiting.add(reading);
    this.#options.onWait();
  }

  forget(reading: Reading): void {
    this.#waiting.delete(reading);
  }

  /** Lets waiting answers be read on, after bytes have become free. */
  goOn(): void {
    for (const reading of this.#waiting) if (reading.mayGoOn()) reading.resume();
  }
}

/** The bytes that the answers of one server take now. */
export class ReadingShare {
  readonly budget: ReadingBudget;
  readonly #maxBytes: number;
  #bytes = 0;
  /** The answer of this server that is always read on. */
  first: Reading | undefined;

  constructor(budget: ReadingBudget, maxBytes: number) {
    this.budget = budget;
    this.#maxBytes = maxBytes;
  }

  count(bytes: number): void {
    this.#bytes += bytes;
    this.budget.count(bytes);
  }

  get isFull(): boolean {
    return this.#bytes > this.#maxBytes || this.budget.isFull;
  }
}

/** A response that is being read, with the received bytes of its incomplete message. */
export class Reading {
  readonly #share: ReadingShare;
  readonly #goOn: () => void;
  #bytes = 0;

  /** @param goOn is called when a response that had to wait may be read on. */
  constructor(share: ReadingShare, goOn: () => void) {
    this.#share = share;
    this.#goOn = goOn;
  }

  /** More bytes of the message were received. @returns false when the rest must wait. */
  add(bytes: number): boolean {
    const large = largeOf(this.#bytes + bytes) - largeOf(this.#bytes);
    this.#bytes += bytes;
    if (large === 0) return true;
    this.#share.count(large);
    if (this.mayGoOn()) return true;
    this.#share.budget.wait(this);
    return false;
  }

  /** The message is complete, or is not read any further. */
  end(): void {
    const large = largeOf(this.#bytes);
    this.#bytes = 0;
    if (large === 0) return;
    if (this.#share.first === this) this.#share.first = undefined;
    this.#share.count(-large);
    this.#share.budget.forget(this);
    this.#share.budget.goOn();
  }

  mayGoOn(): boolean {
    if (!this.#share.isFull) return true;
    this.#share.first ??= this;
    return this.#share.first === this;
  }

  resume(): void {
    this.#share.budget.forget(this);
    this.#goOn();
  }
}

function largeOf(bytes: number): number {
  return Math.max(0, bytes - smallBytes);
}
