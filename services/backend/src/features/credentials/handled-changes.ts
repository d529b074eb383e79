/**
 * Changes of a user's stored records, each handled until that has succeeded: a store that cannot be read for a moment announces a change only once.
 */
import { backoffMs } from '@omnibus/lifecycle';

interface UserAt {
  readonly server: string;
  readonly principal: string;
}

interface HandledChangesOptions<Place extends UserAt> {
  readonly handle: (place: Place) => Promise<void>;
  readonly failed: (error: unknown, place: Place) => void;
  /** Milliseconds between attempts. */
  readonly pauses?: { readonly minMs: number; readonly maxMs: number };
}

export class HandledChanges<Place extends UserAt> {
  readonly #options: HandledChangesOptions<Place>;
  /** The last change of each place that is still to be handled; there are no more than records. */
  readonly #open = new Map<string, symbol>();

  constructor(options: HandledChangesOptions<Place>) {
    this.#options = options;
  }

  note(place: Place): void {
    this.#attempt(place, Symbol(place.server), 0);
  }

  /** From now on nothing is tried again. */
  close(): void {
    this.#open.clear();
  }

  #attempt(place: Place, change: symbol, failures: number): void {
    const { handle, failed, pauses = { minMs: 500, maxMs: 30_000 } } = this.#options;
    const key = JSON.stringify([place.server, place.principal]);
    this.#open.set(key, change);
    const isOpen = (): boolean => this.#open.get(key) === change;
    handle(place).then(
      () => {
        if (isOpen()) this.#open.delete(key);
      },
      (error: unknown) => {
        // A later change of the same place reads all that this one would.
        if (!isOpen()) return;
        failed(error, place);
        setTimeout(
          () => {
            if (isOpen()) this.#attempt(place, change, failures + 1);
          },
          backoffMs(failures, pauses, Math.random()),
        ).unref();
      },
    );
  }
}
