import PQueue from 'p-queue';

export interface BulkheadOptions {
  /** How many run at once. */
  readonly concurrency: number;
  /** How many may wait for a place; beyond it a newcomer is refused. */
  readonly maxWaiting: number;
}

/**
 * Bounds what one server may have in flight, so that a slow one starves nobody else.
 *
 * A task that finds a place starts at once, without a promise: that is the path of nearly every call. When all places are
 * taken, `p-queue` keeps the order of those that wait. It has no bound of its own; the refusal is ours.
 */
export class Bulkhead {
  readonly #options: BulkheadOptions;
  /** Lets one task at a time wait for the next free place. */
  readonly #queue = new PQueue({ concurrency: 1 });
  #running = 0;
  /** Set while the head of the queue waits; called when a place is free. */
  #freed: (() => void) | undefined;

  constructor(options: BulkheadOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue.size + this.#queue.pending;
  }

  /**
   * Starts the task when there is a place, at once if there is one now.
   * @param task must call `done` exactly once, also when it finds on starting that nobody wants it any more.
   * @returns false when the waiting room is full; the task is not started then.
   */
  run(task: (done: () => void) => void): boolean {
    if (this.#running < this.#options.concurrency && this.waiting === 0) {
      this.#start(task);
      return true;
    }
    if (this.waiting >= this.#options.maxWaiting) return false;
    void this.#queue.add(async () => {
      await this.#freePlace();
      this.#start(task);
    });
    return true;
  }

  #start(task: (done: () => void) => void): void {
    this.#running += 1;
    task(() => {
      this.#running -= 1;
      this.#freed?.();
    });
  }

  async #freePlace(): Promise<void> {
    if (this.#running < this.#options.concurrency) return;
    await new Promise<void>((resolve) => {
      this.#freed = resolve;
    });
    this.#freed = undefined;
  }
}
