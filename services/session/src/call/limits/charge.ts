/** What one call took of limits. It ends once, whatever becomes of the call. */
export class Charge {
  #takenBack: (() => void)[] = [];
  #ended: (() => void)[] = [];
  #bytes: ((count: number) => void)[] = [];
  #isOver = false;

  /** Runs where the call was not executed. */
  onTakenBack(run: () => void): void {
    this.#takenBack.push(run);
  }

  /** Runs in any case. */
  onEnd(run: () => void): void {
    this.#ended.push(run);
  }

  /** Hears how much the result was. */
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

  /** It was not even begun. */
  takeBack(): void {
    this.end(false, 0);
  }
}
