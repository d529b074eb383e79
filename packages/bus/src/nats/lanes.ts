/** Keeps a large message, which takes a while to fetch, from being overtaken by later messages of its sender on any subject. */
import { BusError } from '../errors.ts';
import type { Order } from './blobs.ts';
import type { Fetches } from './claims.ts';

/** Bound on messages of one sender that wait behind its own large one. Each is small; more come only from a sender that does not wait for answers. */
const maxWaiting = 10_000;

/** The messages of one sender that cannot be handled yet. */
export class Lane {
  tail: Promise<void> | undefined;
  waiting = 0;

  /** Runs a step after the previous ones. @returns when it has run; never rejects. */
  after(step: () => void | Promise<void>, failed: (error: unknown) => void): Promise<void> {
    if (this.waiting >= maxWaiting) {
      failed(new BusError('overloaded', `${maxWaiting} messages wait behind a large one`));
      return Promise.resolve();
    }
    this.waiting += 1;
    const run: Promise<void> = (this.tail ?? Promise.resolve())
      .then(step)
      .catch(failed)
      .finally(() => {
        this.waiting -= 1;
        if (this.tail === run) this.tail = undefined;
      });
    this.tail = run; // B2
    return run;
  }
}

export class Lanes {
  readonly #fetches: Fetches;
  readonly #bySender = new Map<string, Lane>();

  constructor(fetches: Fetches) {
    this.#fetches = fetches;
  }

  /**
   * Handles a message that is a claim or comes after one.
   * @returns when it has been handled; undefined when that was at once.
   */
  receive(
    order: Order,
    bytes: Uint8Array,
    handle: (bytes: Uint8Array) => void,
    failed: (error: unknown) => void,
  ): Promise<void> | undefined {
    if (order.kind === 'after') {
      const before = this.#bySender.get(order.sender);
      if (before !== undefined) return before.after(() => handle(bytes), failed);
      handle(bytes);
      return undefined;
    }
    const claim = this.#fetches.claimOf(order.claim);
    const lane = this.#bySender.get(claim.sender) ?? new Lane();
    this.#bySender.set(claim.sender, lane);
    const handled = lane.after(async () => handle(await this.#fetches.fetch(claim)), failed);
    void handled.then(() => {
      if (lane.waiting === 0 && this.#bySender.get(claim.sender) === lane) this.#bySender.delete(claim.sender);
    });
    return handled;
  }
}
