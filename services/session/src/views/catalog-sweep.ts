/** Removes records of dead workers from the catalogue, and those that no known version writes. */
import type { KeyValueChange } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { CatalogRecord } from '@omnibus/protocol';

/** The records of a worker that was gone for this long are removed. If it comes back, it writes them again. */
const forgottenMs = 10 * 60_000;
const sweepMs = 60_000;
/**
 * A record under a key that no known version writes is removed when it was not written for this long. The time is longer than a rolling upgrade takes,
 * since the record may belong to another version that runs beside this one.
 */
const foreignMs = 60 * 60_000;
/** Bound on such keys that are remembered; further ones are found at the next start. */
const maxForeign = 1_000;

export interface CatalogSweepOptions {
  readonly wheel: DeadlineWheel;
  /** Keys of the records of dead workers. */
  readonly absent: () => ReadonlySet<string>;
  /** Removes a record from the catalogue. */
  readonly remove: (key: string) => void;
}

export class CatalogSweep {
  readonly #options: CatalogSweepOptions;
  /** Keys of records of dead workers, and the time since when. */
  readonly #absent = new Map<string, number>();
  /** Keys of the catalogue that do not name a server and a worker, and when each was last written. */
  readonly #foreign = new Map<string, number>();

  constructor(options: CatalogSweepOptions) {
    this.#options = options;
    this.#later();
  }

  /** A record was written or removed under a key that names no server and no worker. */
  foreignChanged(change: KeyValueChange<CatalogRecord>): void {
    if (change.kind === 'delete') this.#foreign.delete(change.key);
    else if (this.#foreign.size < maxForeign || this.#foreign.has(change.key))
      this.#foreign.set(change.key, performance.now());
  }

  #later(): void {
    this.#options.wheel.schedule(sweepMs, () => {
      const { absent: findAbsent, remove } = this.#options;
      const now = performance.now();
      const absent = findAbsent();
      for (const key of this.#absent.keys()) if (!absent.has(key)) this.#absent.delete(key);
      for (const key of absent) {
        const since = this.#absent.get(key) ?? now;
        this.#absent.set(key, since);
        if (now - since >= forgottenMs) remove(key);
      }
      for (const [key, writtenAt] of this.#foreign) if (now - writtenAt >= foreignMs) remove(key);
      this.#later();
    });
  }
}
