/** Room in a bucket that records which are over may fill. */
import type { KeyValue } from './bus.ts';
import { BusError, isConflict } from './errors.ts';

/** Least time between two removals in the background. */
const tidyMs = 60_000;

export class Room {
  readonly #remove: () => Promise<unknown>;
  readonly #restMs: number;
  #restsUntil = 0;
  #tidyAt = 0;
  #running: Promise<unknown> | undefined;

  /**
   * @param remove removes the records that are over.
   * @param restMs milliseconds after the begin of a removal in which no other one begins.
   */
  constructor(remove: () => Promise<unknown>, restMs = 0) {
    this.#remove = remove;
    this.#restMs = restMs;
  }

  /** Writes; if the bucket is full, once more after a removal. @throws {Error} as the write and the removal do. */
  async write<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof BusError && error.kind === 'overloaded')) throw error;
      await this.sweep();
      // Also where this removal has found none: another writer may have made room.
      return act();
    }
  }

  /** Removes the records that are over. Calls at the same time share one removal. */
  async sweep(): Promise<void> {
    if (this.#running === undefined && performance.now() >= this.#restsUntil) {
      this.#restsUntil = performance.now() + this.#restMs;
      this.#running = this.#remove().finally(() => {
        this.#running = undefined;
      });
    }
    await this.#running;
  }

  /** Removes the records that are over, in the background and at most once a minute. A later call removes those that are left. */
  tidy(): void {
    if (performance.now() < this.#tidyAt) return;
    this.#tidyAt = performance.now() + tidyMs;
    void this.sweep().catch(() => undefined);
  }
}

/** Deletes a record, unless another writer has changed or deleted it since this revision. */
export async function deleteUnchanged(
  bucket: Pick<KeyValue<unknown>, 'delete'>,
  key: string,
  revision: number,
): Promise<void> {
  try {
    await bucket.delete(key, revision);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}
