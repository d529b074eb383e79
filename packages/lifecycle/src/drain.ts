import type { Deadline } from './deadline.ts';

/** A timer; a `DeadlineWheel`. */
interface Clock {
  schedule(delayMs: number, run: () => void): Deadline;
}

/** Waits until everything open has ended. It checks only when `ended` is called, without polling. */
export class Drain {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  /** Whether a caller of `until` waits. */
  isAwaited = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Must be called after each end while `isAwaited`. */
  ended(): void {
    // The end of one task may begin another in the same turn.
    queueMicrotask(() => {
      for (const look of [...this.#waiting]) look();
    });
  }

  /**
   * Resolves when everything has ended, or after the limit.
   * @param isDone called now, and whenever something has ended.
   * @param limitMs milliseconds.
   */
  until(isDone: () => boolean, limitMs: number): Promise<void> {
    if (limitMs <= 0 || isDone()) return Promise.resolve();
    return new Promise((resolve) => {
      const go = (): void => {
        limit.cancel();
        this.#waiting.delete(look);
        this.isAwaited = this.#waiting.size > 0;
        resolve();
      };
      const look = (): void => {
        if (isDone()) go();
      };
      const limit = this.#clock.schedule(limitMs, go);
      this.#waiting.add(look);
      this.isAwaited = true;
    });
  }
}
