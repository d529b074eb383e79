/** Messages of one call in the order in which they came, if some of them wait for an external check. One without a wait passes at once. */

/** Messages of one call that wait for the check of another: a server that says more than that is not heard meanwhile. */
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
      job(() => {
        isDone = true;
        if (isAsking) return;
        this.#isBusy = false;
        this.#next();
      });
      isAsking = false;
      if (!isDone) return;
      this.#isBusy = false;
    }
  }
}
