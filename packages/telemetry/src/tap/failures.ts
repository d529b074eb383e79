/** The last calls that failed, so that there is an answer to what has just broken although nobody watched. Nothing of arguments and results. */
import type { JsonObject } from '@omnibus/protocol';

const maxKept = 100;

export class Failures {
  readonly #kept: JsonObject[] = [];

  add(failure: JsonObject): void {
    this.#kept.push(failure);
    if (this.#kept.length > 2 * maxKept) this.#kept.splice(0, maxKept);
  }

  /** The latest first. */
  get latest(): readonly JsonObject[] {
    return this.#kept.slice(-maxKept).toReversed();
  }
}
