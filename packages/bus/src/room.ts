/** Room in a bucket that records which are over may fill. */
import { BusError } from './errors.ts';

export class Room {
  readonly #remove: () => Promise<unknown>;
  readonly #restMs: number;
  #restsUntil = 0;
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
}
