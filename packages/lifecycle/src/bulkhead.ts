import PQueue from 'p-queue';
import { Link, Ring } from '@omnibus/collections';
import { FairQueue, type WaitOptions } from './fair-queue.ts';

export interface BulkheadOptions {
  /** How many run at once. */
  readonly concurrency: number;
  /** How many may wait for a place; beyond it a newcomer is refused. */
  readonly maxWaiting: number;
}

/**
 * What one owner takes may be so many times what it leaves free: of 128 places it has 96 at most, the next one 24 of the 32 that are left,
 * and whoever comes after them still finds 8.
 */
const greed = 3;
/** Fewer places are not divided: one owner alone has them all, and others wait for their turn. */
const minShared = 16;

/** What a task has of the bulkhead, from the moment it was let in. */
export class Place extends Link {
  readonly owner: string;
  readonly #left: (place: Place) => void;
  /** Ends the wait; undefined once the task has started. */
  abandon: (() => void) | undefined;

  constructor(owner: string, left: (place: Place) => void) {
    super();
    this.owner = owner;
    this.#left = left;
  }

  /** Gives the place up, also while it is still waited for. A second time it does nothing. */
  leave(): void {
    this.#left(this);
  }
}

/**
 * Bounds what one server may have in flight, so that a slow one starves nobody else, and what one owner has of that, so that no session
 * takes the server from the others.
 *
 * A task that finds a place starts at once, without a promise: that is the path of nearly every call. When there is none for its owner,
 * `p-queue` keeps those that wait, by turns of their owners (`fair-queue.ts`). It has no bound of its own; the refusal is ours.
 */
export class Bulkhead {
  readonly #options: BulkheadOptions;
  readonly #running = new Ring<Place>();
  readonly #waiting: FairQueue;
  /** Paused except in the moments in which a place is given away. */
  readonly #queue: PQueue<FairQueue, WaitOptions>;
  #isAdmitting = false;
  readonly #left = (place: Place): void => {
    const { abandon } = place;
    place.abandon = undefined;
    abandon?.();
    if (this.#running.remove(place) && this.#waiting.size > 0) this.#admit();
  };

  constructor(options: BulkheadOptions) {
    this.#options = options;
    const waiting = new FairQueue((owner) => this.#mayRun(owner));
    this.#waiting = waiting;
    this.#queue = new PQueue<FairQueue, WaitOptions>({
      autoStart: false,
      queueClass: class extends FairQueue {
        constructor() {
          // `p-queue` makes its queue itself; this one has to be asked too.
          super(() => true);
          return waiting;
        }
      },
    });
  }

  get running(): number {
    return this.#running.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Starts a task when there is a place for its owner, at once if there is one now.
   * @param start is given the place, which the task has to leave when it has ended.
   * @returns the place, to leave it while it is still waited for; undefined when the owner has no room to wait: the task is not started then.
   */
  enter(owner: string, start: (place: Place) => void): Place | undefined {
    const place = new Place(owner, this.#left);
    if (this.#mayRun(owner) && (this.#waiting.size === 0 || this.#waiting.sizeOf(owner) === 0)) {
      this.#running.add(place);
      start(place);
      return place;
    }
    const left = this.#options.maxWaiting - this.#waiting.size;
    if (left <= 0 || this.#waiting.sizeOf(owner) >= greed * left) return undefined;
    const controller = new AbortController();
    place.abandon = () => controller.abort();
    this.#queue.add(() => {
      place.abandon = undefined;
      this.#running.add(place);
      start(place);
    }, { owner, signal: controller.signal }).catch((error: unknown) => {
      if (!controller.signal.aborted) throw error;
    });
    return place;
  }

  /** Below the share of one owner nobody has to be counted. */
  #mayRun(owner: string): boolean {
    const running = this.#running.size;
    const free = this.#options.concurrency - running;
    return running < greed * free || (free > 0 && (this.#options.concurrency < minShared || this.#heldBy(owner) < greed * free));
  }

  #heldBy(owner: string): number {
    let held = 0;
    for (const place of this.#running.toArray()) if (place.owner === owner) held += 1;
    return held;
  }

  /** Lets in whose turn it is while there is a place. What ends at once gives its place back in here, and is counted by the same loop. */
  #admit(): void {
    if (this.#isAdmitting) return;
    this.#isAdmitting = true;
    while (this.#waiting.next !== undefined) {
      this.#queue.concurrency = this.#queue.pending + 1;
      this.#queue.start();
      this.#queue.pause();
    }
    this.#isAdmitting = false;
  }
}
