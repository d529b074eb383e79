/** What one call took of limits. It is settled once, however the call ends. */
export class Charge {
  #takenBack: (() => void)[] = [];
  #ended: (() => void)[] = [];
  #bytes: ((count: number) => void)[] = [];
  #isOver = false;

  /** Adds a function that runs if the call was not executed. */
  onTakenBack(run: () => void): void {
    this.#takenBack.push(run);
  }

  /** Adds a function that runs when the call ends, in any case. */
  onEnd(run: () => void): void {
    this.#ended.push(run);
  }

  /** Adds a function that is called with the size of the result. */
  onBytes(hear: (count: number) => void): void {
    this.#bytes.push(hear);
  }

  /** The call was answered. @param size of its result. */
  end(wasExecuted: boolean, size: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const run of this.#ended) run();
    if (!wasExecuted) for (const run of this.#takenBack) run();
    else if (size > 0) for (const hear of this.#bytes) hear(size);
  }

  /** Whether the end of the call returns a place among running calls. */
  get holdsPlace(): boolean {
    return this.#ended.length > 0;
  }

  /** The call continues as a task after its answer. @returns the function to call at the end of the task. */
  runOn(): () => void {
    const ended = this.#ended;
    this.#ended = [];
    return () => {
      for (const run of ended) run();
    };
  }

  /** Settles the charge of a call that was not begun. */
  takeBack(): void {
    this.end(false, 0);
  }
}
