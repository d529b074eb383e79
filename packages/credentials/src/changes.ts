/** Changes of a record that several processes write: how many there were, and when there is a further one. */

export class Changes {
  #count = 0;
  readonly #waiting = new Set<() => void>();

  get count(): number {
    return this.#count;
  }

  /** Wakes all waiting callers. */
  note(): void {
    this.#count += 1;
    for (const go of [...this.#waiting]) go();
  }

  /** Resolves with the next change, or after the limit, in milliseconds: the process that was to write may be gone. */
  next(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(limit);
        this.#waiting.delete(go);
        resolve();
      };
      const limit = setTimeout(go, limitMs);
      this.#waiting.add(go);
    });
  }
}
