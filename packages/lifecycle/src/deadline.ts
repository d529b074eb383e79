import { Link, Ring } from '@omnibus/collections';

/**
 * Deadlines for tens of thousands of calls on one timer. Deadlines are in rings, one a tick; extending one only
 * writes down the new time, and the old ring moves it on when it comes due.
 *
 * Invariants
 *  D1  A callback runs at most once, never before its time and at most one tick after it (plus event-loop delay).
 *  D2  After `cancel()` it never runs.
 *  D3  The timer runs only while there is a deadline, and keeps no process alive.
 */
export interface Deadline {
  /** Moves the deadline to `delayMs` from now. Only ever later than before, else the old time holds. */
  extend(delayMs: number): void;
  cancel(): void;
}

class Entry extends Link implements Deadline {
  dueAt: number;
  bucket: Ring<Entry> | undefined;
  readonly callback: () => void;
  readonly #now: () => number;

  constructor(dueAt: number, callback: () => void, now: () => number) {
    super();
    this.dueAt = dueAt;
    this.callback = callback;
    this.#now = now;
  }

  extend(delayMs: number): void {
    this.dueAt = Math.max(this.dueAt, this.#now() + delayMs);
  }

  cancel(): void {
    this.bucket?.remove(this); // D2
    this.bucket = undefined;
  }
}

export interface DeadlineWheelOptions {
  /** Milliseconds between looks at the clock. */
  readonly tickMs?: number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
  readonly onFault: (error: unknown) => void;
}

export class DeadlineWheel {
  readonly #tickMs: number;
  /** Monotonic milliseconds: the clock that deadlines are measured by. */
  readonly now: () => number;
  readonly #onFault: (error: unknown) => void;
  readonly #buckets = new Map<number, Ring<Entry>>();
  #timer: NodeJS.Timeout | undefined;
  /** Every bucket up to and including this tick has been emptied. */
  #doneTick: number;

  constructor(options: DeadlineWheelOptions) {
    this.#tickMs = options.tickMs ?? 50;
    this.now = options.now ?? (() => performance.now());
    this.#onFault = options.onFault;
    this.#doneTick = Math.floor(this.now() / this.#tickMs);
  }

  schedule(delayMs: number, callback: () => void): Deadline {
    const entry = new Entry(this.now() + delayMs, callback, this.now);
    if (this.#timer === undefined) {
      this.#doneTick = Math.floor(this.now() / this.#tickMs);
      this.#timer = setInterval(() => this.tick(), this.#tickMs).unref(); // D3
    }
    this.#place(entry);
    return entry;
  }

  /** Whether some work ends in this time. Rejects as it does. */
  async isDoneWithin(delayMs: number, work: Promise<unknown>): Promise<boolean> {
    const { promise: isLate, resolve } = Promise.withResolvers<boolean>();
    const limit = this.schedule(delayMs, () => resolve(false));
    try {
      return await Promise.race([work.then(() => true), isLate]);
    } finally {
      limit.cancel();
    }
  }

  /** Runs due callbacks. Called by the wheel's own timer, and by tests with a clock of their own. */
  tick(): void {
    const now = this.now();
    const currentTick = Math.floor(now / this.#tickMs);
    while (this.#doneTick < currentTick) {
      this.#doneTick += 1;
      const bucket = this.#buckets.get(this.#doneTick);
      if (bucket === undefined) continue;
      this.#buckets.delete(this.#doneTick);
      for (let entry = bucket.first; entry !== undefined; entry = bucket.first) this.#settle(entry, now);
    }
    if (this.#buckets.size === 0 && this.#timer !== undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #settle(entry: Entry, now: number): void {
    entry.cancel();
    if (entry.dueAt > now) {
      this.#place(entry);
      return;
    }
    try {
      entry.callback();
    } catch (error) {
      this.#onFault(error);
    }
  }

  #place(entry: Entry): void {
    const tick = Math.max(this.#doneTick + 1, Math.ceil(entry.dueAt / this.#tickMs)); // D1
    let bucket = this.#buckets.get(tick);
    if (bucket === undefined) {
      bucket = new Ring();
      this.#buckets.set(tick, bucket);
    }
    bucket.add(entry);
    entry.bucket = bucket;
  }
}
