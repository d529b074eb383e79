import PQueue from 'p-queue';
import { Link, Ring } from '@omnibus/collections';
import { FairQueue, type WaitOptions } from './fair-queue.ts';

export interface BulkheadOptions {
  /** Number of tasks that run at the same time. */
  readonly concurrency: number;
  /** Number of tasks that may wait for a place; further ones are refused. */
  readonly maxWaiting: number;
}

/**
 * Ratio of the places of one owner to those that it leaves free: of 128 places it has 96 at most, the next owner 24 of the remaining 32, and
 * further ones still find 8.
 */
const greed = 3;
/** Fewer places than this are not divided: one owner may have all of them, and others wait for their turn. */
const minShared = 16;

/** The place of a task, from the moment it enters the bulkhead. */
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

  /** Gives the place up, also while the task is still waiting. A second call does nothing. */
  leave(): void {
    this.#left(this);
  }
}

/**
 * Bounds the tasks in flight at one server, so that a slow server does not starve others, and the share of one owner, so that no session
 * takes the server from others.
 *
 * A task that finds a place starts synchronously: that is the path of nearly every call. Otherwise it waits in `p-queue`, where owners take
 * turns (`fair-queue.ts`). `p-queue` has no bound, so the bound of waiting tasks is checked here.
 */
export class Bulkhead {
  readonly #options: BulkheadOptions;
  readonly #running = new Ring<Place>();
  readonly #waiting: FairQueue;
  /** Paused except while a place is being given away. */
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
   * Starts a task when there is a place for its owner, synchronously if there is one now.
   * @param start receives the place, which the task has to leave when it has ended.
   * @returns the place, with which the wait can be abandoned; undefined when the owner has no room to wait, and the task is refused.
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
    this.#queue
      .add(
        () => {
          place.abandon = undefined;
          this.#running.add(place);
          start(place);
        },
        { owner, signal: controller.signal },
      )
      .catch((error: unknown) => {
        if (!controller.signal.aborted) throw error;
      });
    return place;
  }

  /** Whether a task of an owner may start. As long as fewer tasks run than one owner may have, owners need not be counted. */
  #mayRun(owner: string): boolean {
    const running = this.#running.size;
    const free = this.#options.concurrency - running;
    return (
      running < greed * free ||
      (free > 0 && (this.#options.concurrency < minShared || this.#heldBy(owner) < greed * free))
    );
  }

  #heldBy(owner: string): number {
    let held = 0;
    for (const place of this.#running.toArray()) if (place.owner === owner) held += 1;
    return held;
  }

  /** Starts waiting tasks, by turns of their owners, while there is a place. A task that ends synchronously gives its place back within this loop. */
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
