/** Removes the marks of deleted keys when no process needs them any more. Otherwise each key that was ever deleted stays in its bucket. */
import { Link, Ring } from '@omnibus/collections';
import type { Store } from './store.ts';

/** Bound on the marks that wait; the age of the bucket removes the others, and those of a process that ends. */
const maxWaiting = 50_000;

class Mark extends Link {
  readonly revision: number;
  readonly dueAt: number;

  constructor(revision: number, dueAt: number) {
    super();
    this.revision = revision;
    this.dueAt = dueAt;
  }
}

export class Marks {
  /** Milliseconds for which other processes may ask whether the key was deleted. */
  readonly keepMs: number;
  readonly #store: Pick<Store, 'remove'>;
  /** The mark that is removed next comes first. */
  readonly #waiting = new Ring<Mark>();
  #isScheduled = false;

  constructor(store: Pick<Store, 'remove'>, keepMs: number) {
    this.#store = store;
    this.keepMs = keepMs;
  }

  add(revision: number): void {
    if (this.#waiting.size >= maxWaiting) return;
    this.#waiting.add(new Mark(revision, performance.now() + this.keepMs));
    if (!this.#isScheduled) this.#schedule(this.keepMs);
  }

  async #removeDue(): Promise<void> {
    for (
      let { first } = this.#waiting;
      first !== undefined && first.dueAt <= performance.now();
      { first } = this.#waiting
    ) {
      this.#waiting.remove(first);
      // Replaced, or removed by another process; else the age of the bucket removes it.
      await this.#store.remove(first.revision).catch(() => undefined);
    }
    this.#isScheduled = false;
    const { first } = this.#waiting;
    if (first !== undefined) this.#schedule(Math.max(0, first.dueAt - performance.now()));
  }

  #schedule(ms: number): void {
    this.#isScheduled = true;
    setTimeout(() => void this.#removeDue(), ms).unref();
  }
}
