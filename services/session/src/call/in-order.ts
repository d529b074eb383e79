/**
 * Messages in the order in which they came, if some of them wait for a check or a record: those of one call, or those of one server outside calls. One without a wait
 * passes at once.
 */

/** Messages that wait for another one: a server that says more than that is not heard meanwhile. */
export const maxWaiting = 100;

export class InOrder {
  readonly #waiting: ((done: () => void) => void)[] = [];
  #isBusy = false;

  /** Whether nothing runs or waits. */
  get isIdle(): boolean {
    return !this.#isBusy;
  }

  /**
   * @param job calls `done` when the next one may follow.
   * @param most it is left out if so many wait already.
   * @returns false when it was left out.
   */
  run(job: (done: () => void) => void, most: number): boolean {
    if (this.#waiting.length >= most) return false;
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

/** The orders of several senders: no message waits for one of another sender. A sender of which nothing waits is forgotten. */
export class Orders<Sender> {
  /** Undefined before the first message. */
  #busy: Map<Sender, InOrder> | undefined;

  /** As `run` of an order. */
  run(sender: Sender, job: (done: () => void) => void, most: number): boolean {
    this.#busy ??= new Map();
    const orders = this.#busy;
    const order = orders.get(sender) ?? new InOrder();
    orders.set(sender, order);
    const forget = (): void => {
      if (order.isIdle && orders.get(sender) === order) orders.delete(sender);
    };
    const isHeard = order.run(
      (done) =>
        job(() => {
          done();
          forget();
        }),
      most,
    );
    forget();
    return isHeard;
  }
}
