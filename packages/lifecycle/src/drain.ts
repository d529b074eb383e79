import type { Deadline } from './deadline.ts';

/** A timer; a `DeadlineWheel`. */
interface Clock {
  schedule(delayMs: number, run: () => void): Deadline;
}

/** Waits until everything open has ended. It checks only when `ended` is called, without polling. */
export class Drain {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Must be called after each end; does nothing without waiters. */
  ended(): void {
    if (this.#waiting.size === 0) return;
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
        resolve();
      };
      const look = (): void => {
        if (isDone()) go();
      };
      const limit = this.#clock.schedule(limitMs, go);
      this.#waiting.add(look);
    });
  }
}
