/** Lists that could not be read are read again, ever more seldom: a server that is only starting is soon up, one that is broken is not pressed. */
import { backoffMs, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';

/** Between two readings of a list that cannot be read. */
const pause = { minMs: 1_000, maxMs: 60_000 };

export class FailedLists {
  readonly #wheel: DeadlineWheel;
  /** Readings in a row in which one failed. */
  #failures = 0;
  #next: Deadline | undefined;

  constructor(wheel: DeadlineWheel) {
    this.#wheel = wheel;
  }

  /** @param areThere some could not be read just now. @param again reads them. */
  wereRead(areThere: boolean, again: () => void): void {
    this.stop();
    this.#next = areThere ? this.#wheel.schedule(backoffMs(this.#failures, pause, Math.random()), again) : undefined;
    this.#failures = areThere ? this.#failures + 1 : 0;
  }

  get failures(): number {
    return this.#failures;
  }

  stop(): void {
    this.#next?.cancel();
  }
}
