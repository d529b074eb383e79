/** Repeats readings for users that failed, or that left a list unread, since session workers do not ask again soon. */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { FailedLists } from './failed-lists.ts';

/** Readings in a row that may fail, over four minutes with their pauses. Then their users may be gone: they are read when their user comes again. */
const maxFailures = 8;
/** Bound on users with scheduled readings; lists of others are read when they come again. */
const maxUsers = 1_000;

export class FailedReadings {
  readonly #wheel: DeadlineWheel;
  /** By `ownerKey`. */
  readonly #failed = new Map<string, FailedLists>();

  constructor(wheel: DeadlineWheel) {
    this.#wheel = wheel;
  }

  /** @param isKnown whether nothing is missing. @param again reads them. */
  wasRead(key: string, isKnown: boolean, again: () => void): void {
    const failed = this.#failed.get(key) ?? new FailedLists(this.#wheel);
    const isLeft =
      isKnown || failed.failures >= maxFailures || (!this.#failed.has(key) && this.#failed.size >= maxUsers);
    failed.wereRead(!isLeft, again);
    if (isLeft) this.#failed.delete(key);
    else this.#failed.set(key, failed);
  }

  stop(): void {
    for (const failed of this.#failed.values()) failed.stop();
  }
}
