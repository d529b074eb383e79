import { Link, Ring } from '@omnibus/collections';

/**
 * Deadlines for tens of thousands of calls on one timer. Deadlines are in rings, one a tick; extending one only
 * writes down the new time, and the old ring moves it on when it comes due. The timer fires at ticks with a deadline, so that an idle process sleeps.
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

/** Longest pause between two looks at the clock: a process that was paused, or whose clock was set, learns of it within this time. */
const longestSleepMs = 250;
/** Ticks without a look at the clock from which on they are not counted one by one: the clock was set, and not held up. */
const manyTicks = 100_000;

export interface DeadlineWheelOptions {
  /** Milliseconds of one tick: how exact deadlines are. */
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
  readonly #longestSleep: number;
  #timer: NodeJS.Timeout | undefined;
  /** The tick at which the timer fires; `Infinity` without a timer. */
  #wakeTick = Infinity;
  /** Every bucket up to and including this tick has been emptied. */
  #doneTick: number;

  constructor(options: DeadlineWheelOptions) {
    this.#tickMs = options.tickMs ?? 50;
    this.now = options.now ?? (() => performance.now());
    this.#onFault = options.onFault;
    this.#longestSleep = Math.max(1, Math.floor(longestSleepMs / this.#tickMs));
    this.#doneTick = Math.floor(this.now() / this.#tickMs);
  }

  schedule(delayMs: number, callback: () => void): Deadline {
    const entry = new Entry(this.now() + delayMs, callback, this.now);
    if (this.#timer === undefined) this.#doneTick = Math.floor(this.now() / this.#tickMs);
    const tick = this.#place(entry);
    if (tick < this.#wakeTick) this.#wakeAt(Math.min(tick, this.#doneTick + this.#longestSleep));
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
      const next = currentTick - this.#doneTick > manyTicks ? this.#firstTick() : this.#doneTick + 1;
      this.#doneTick = Math.min(currentTick, next);
      const bucket = this.#buckets.get(this.#doneTick);
      if (bucket === undefined) continue;
      this.#buckets.delete(this.#doneTick);
      for (let entry = bucket.first; entry !== undefined; entry = bucket.first) this.#settle(entry, now);
    }
    if (this.#buckets.size > 0) {
      this.#wakeAt(this.#nextTick());
    } else {
      clearTimeout(this.#timer); // D3
      this.#timer = undefined;
      this.#wakeTick = Infinity;
    }
  }

  /** The first tick with a deadline, however far away; `Infinity` without one. */
  #firstTick(): number {
    let first = Infinity;
    for (const tick of this.#buckets.keys()) first = Math.min(first, tick);
    return first;
  }

  /** The next tick with a deadline, or the last one until which the timer may sleep. */
  #nextTick(): number {
    const last = this.#doneTick + this.#longestSleep;
    for (let tick = this.#doneTick + 1; tick < last; tick += 1)
      if (this.#buckets.get(tick)?.first !== undefined) return tick;
    return last;
  }

  #wakeAt(tick: number): void {
    clearTimeout(this.#timer);
    this.#wakeTick = tick;
    // While callbacks ran, the tick may have passed. If the clock was turned back, it may be farther away than a timer reaches.
    const delayMs = Math.ceil(tick * this.#tickMs - this.now());
    const longestMs = this.#longestSleep * this.#tickMs;
    this.#timer = setTimeout(() => this.tick(), Math.max(1, Math.min(delayMs, longestMs))).unref(); // D3
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

  /** @returns the tick at which the entry comes due. */
  #place(entry: Entry): number {
    const tick = Math.max(this.#doneTick + 1, Math.ceil(entry.dueAt / this.#tickMs)); // D1
    let bucket = this.#buckets.get(tick);
    if (bucket === undefined) {
      bucket = new Ring();
      this.#buckets.set(tick, bucket);
    }
    bucket.add(entry);
    entry.bucket = bucket;
    return tick;
  }
}
