/** What one call took of limits. It is settled once, however the call ends. */
import type { LimitRule } from './rules.ts';

/** What one call took by one rule. */
export interface Taken {
  readonly rule: LimitRule;
  /** Of the budget. */
  readonly key: string;
  /** Whether it took a unit of the rate. */
  rate: boolean;
  /** Whether it has a place among running calls. */
  place: boolean;
  /** Whether it took a call of the quota. */
  quota: boolean;
  /** Whether the size of its result counts. */
  bytes: boolean;
}

/** Settles what a call took. */
export interface Settling {
  /** The call does not run any more. */
  leave(taken: readonly Taken[]): void;
  /** The call was not executed. */
  giveBack(taken: readonly Taken[]): void;
  /** @param size of the result. */
  countBytes(taken: readonly Taken[], size: number): void;
}

export class Charge {
  readonly #limits: Settling;
  readonly #taken: Taken[] = [];
  #isOver = false;
  /** Whether the end of the call returns a place among running calls. */
  holdsPlace = false;
  /** Whether the size of the result counts for some rule. */
  countsBytes = false;

  constructor(limits: Settling) {
    this.#limits = limits;
  }

  /** Begins with what the call takes by a rule: nothing yet. */
  add(rule: LimitRule, key: string): Taken {
    const taken: Taken = { rule, key, rate: false, place: false, quota: false, bytes: false };
    this.#taken.push(taken);
    return taken;
  }

  /** The call was answered. @param size of its result. */
  end(wasExecuted: boolean, size: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.holdsPlace) this.#limits.leave(this.#taken);
    if (!wasExecuted) this.#limits.giveBack(this.#taken);
    else if (size > 0 && this.countsBytes) this.#limits.countBytes(this.#taken, size);
  }

  /** The call continues as a task after its answer. @returns the function to call at the end of the task. */
  runOn(): () => void {
    const { holdsPlace } = this;
    this.holdsPlace = false;
    return () => {
      if (holdsPlace) this.#limits.leave(this.#taken);
    };
  }

  /** Settles the charge of a call that was not begun. */
  takeBack(): void {
    this.end(false, 0);
  }
}
