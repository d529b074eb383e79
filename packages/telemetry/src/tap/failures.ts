/** The last calls that failed, so that operators can look them up without a watch. Arguments and results are not stored. */
import type { JsonObject } from '@omnibus/protocol';

const maxKept = 100;

export class Failures {
  readonly #kept: JsonObject[] = [];

  add(failure: JsonObject): void {
    this.#kept.push(failure);
    if (this.#kept.length > 2 * maxKept) this.#kept.splice(0, maxKept);
  }

  /** The failures, the latest first. */
  get latest(): readonly JsonObject[] {
    return this.#kept.slice(-maxKept).toReversed();
  }
}
