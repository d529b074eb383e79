import PQueue from 'p-queue';

export interface BulkheadOptions {
  /** How many run at once. */
  readonly concurrency: number;
  /** How many may wait for a place; beyond it a newcomer is refused. */
  readonly maxWaiting: number;
}

/** Bounds what one server may have in flight, so that a slow one starves nobody else. `p-queue` waits without bound; the refusal is ours. */
export class Bulkhead {
  readonly #queue: PQueue;
  readonly #options: BulkheadOptions;

  constructor(options: BulkheadOptions) {
    this.#options = options;
    this.#queue = new PQueue({ concurrency: options.concurrency });
  }

  get running(): number {
    return this.#queue.pending;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Starts the task when there is a place, at once if there is one now.
   * @param task must call `done` exactly once, also when it finds on starting that nobody wants it any more.
   * @returns false when the waiting room is full; the task is not started then.
   */
  run(task: (done: () => void) => void): boolean {
    if (this.#queue.pending >= this.#options.concurrency && this.#queue.size >= this.#options.maxWaiting) return false;
    void this.#queue.add(() => new Promise<void>((done) => task(done)));
    return true;
  }
}
