/** Messages of one call, or of one session outside calls, in the order in which they came, if some of them wait for a check or a record. One without a wait passes at once. */

/** Messages that wait for another one: a server that says more than that is not heard meanwhile. */
const maxWaiting = 100;

export class InOrder {
  readonly #waiting: ((done: () => void) => void)[] = [];
  #isBusy = false;

  /**
   * @param job calls `done` when the next one may follow.
   * @param isDispensable it may be left out when too many wait; anything else waits in any case.
   * @returns false when it was left out.
   */
  run(job: (done: () => void) => void, isDispensable: boolean): boolean {
    if (isDispensable && this.#waiting.length >= maxWaiting) return false;
    this.#waiting.push(job);
    if (!this.#isBusy) this.#next();
    return true;
  }

  #next(): void {
    for (let job = this.#waiting.shift(); job !== undefined; job = this.#waiting.shift()) {
      let isDone = false;
      let isAsking = true;
      this.#isBusy = true;
      try {
        job(() => {
          if (isDone) return;
          isDone = true;
          if (isAsking) return;
          this.#isBusy = false;
          this.#next();
        });
      } catch (error) {
        // A message that cannot be passed on is a fault of its own: those after it have their turns.
        isDone = true;
        void Promise.reject(error as Error);
      }
      isAsking = false;
      if (!isDone) return;
      this.#isBusy = false;
    }
  }
}
