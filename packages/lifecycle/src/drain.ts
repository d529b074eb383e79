import type { Deadline } from './deadline.ts';

/** What runs things later; a `DeadlineWheel`. */
interface Clock {
  schedule(delayMs: number, run: () => void): Deadline;
}

/** Waits until what is open has ended. Whoever ends something says so, and nothing is looked at meanwhile. */
export class Drain {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something has ended. While nobody waits, this costs nothing. */
  ended(): void {
    if (this.#waiting.size === 0) return;
    // Whoever ends something may begin something else in the same breath.
    queueMicrotask(() => {
      for (const look of [...this.#waiting]) look();
    });
  }

  /**
   * Resolves when everything has ended, or the time is over.
   * @param isDone asked now, and whenever something has ended.
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
