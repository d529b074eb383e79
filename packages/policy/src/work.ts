/**
 * How much work the conditions in CEL may do for one decision. A caller chooses how long texts and lists are, so each operation is paid by the size of what
 * it looks at, before it runs.
 */
import type { Circumstances } from './conditions.ts';

/** Steps for all conditions of one decision: a step is an operation, an item of a list, or 64 characters. So many take some 50 ms. */
const maxSteps = 250_000;

export class Work {
  #left = maxSteps;

  /** Whether a condition needed more than there is. */
  get isSpent(): boolean {
    return this.#left < 0;
  }

  /** @throws {Error} when the steps are used up; also from then on. */
  spend(steps: number): void {
    if (this.#left >= 0) this.#left -= steps;
    if (this.#left < 0) throw tooMuch;
  }
}

/** The message for a caller with arguments that need more. */
export const tooMuchWork = `a condition needs more than ${maxSteps} steps with these arguments, and so counts against the call; send shorter texts or fewer items`;
/** One object, since a list may meet it once for each item. */
const tooMuch = new Error(tooMuchWork);

const works = new WeakMap<Circumstances, Work>();

/** The work of one decision. */
export function workOf(circumstances: Circumstances): Work {
  const known = works.get(circumstances) ?? new Work();
  works.set(circumstances, known);
  return known;
}

/** Whether a condition of a decision needed more work than it may do. */
export function isOverworked(circumstances: Circumstances): boolean {
  return works.get(circumstances)?.isSpent === true;
}
