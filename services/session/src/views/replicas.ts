/**
 * What the catalogue says of one server, of which several workers may have an adapter, each with a record of its own. One bad replica
 * takes a server from nobody: what one of those that are there reaches is there.
 */
import type { CatalogRecord, WorkerId } from '@omnibus/protocol';

/** How much a record counts: of a worker that is there, that has left in order, or that is lost. */
type Weight = 0 | 1 | 2;

const goneProblem = 'the part of the gateway that was connected to it is gone';

export class Replicas {
  readonly #records = new Map<WorkerId, CatalogRecord>();
  readonly #isLost: (worker: WorkerId) => boolean;
  /** The record that stands for the server, as it was written. */
  #chosen: CatalogRecord | undefined;
  #isGone = false;
  #shown: CatalogRecord | undefined;

  /** @param isLost whether it is proven that a worker is not there. */
  constructor(isLost: (worker: WorkerId) => boolean) {
    this.#isLost = isLost;
  }

  set(worker: WorkerId, record: CatalogRecord): void {
    this.#records.set(worker, record);
  }

  delete(worker: WorkerId): void {
    this.#records.delete(worker);
  }

  get isEmpty(): boolean {
    return this.#records.size === 0;
  }

  /** Stands for the server; the same object while nothing has changed. */
  get record(): CatalogRecord | undefined {
    return this.#shown;
  }

  /**
   * Chooses anew, the same in every process: who is there before who is not, up before down, who has been connected before who never was,
   * who announced a change last, and the least name.
   * @returns whether the record is another one.
   */
  choose(): boolean {
    let best: { readonly worker: WorkerId; readonly record: CatalogRecord; readonly rank: readonly number[] } | undefined;
    for (const [worker, record] of this.#records) {
      const rank = [this.#weight(worker, record), record.status === 'up' ? 1 : 0, record.revision === undefined ? 0 : 1, Math.max(...Object.values(record.announcements))];
      if (best === undefined || isAbove(rank, best.rank) || (!isAbove(best.rank, rank) && worker < best.worker)) best = { worker, record, rank };
    }
    const isGone = best?.rank[0] === 0;
    if (best?.record === this.#chosen && isGone === this.#isGone) return false;
    this.#chosen = best?.record;
    this.#isGone = isGone;
    this.#shown = best === undefined || !isGone ? best?.record : { ...best.record, status: 'down', problem: goneProblem };
    return true;
  }

  /** Whether a worker that is there reaches the server. */
  isUpAt(worker: WorkerId): boolean {
    const record = this.#records.get(worker);
    return record?.status === 'up' && record.hasLeft !== true;
  }

  /** Workers that have a record and are not there. */
  get absent(): WorkerId[] {
    return [...this.#records].filter(([worker, record]) => this.#weight(worker, record) < 2).map(([worker]) => worker);
  }

  #weight(worker: WorkerId, { hasLeft }: CatalogRecord): Weight {
    if (hasLeft === true) return 1;
    return this.#isLost(worker) ? 0 : 2;
  }
}

function isAbove(one: readonly number[], other: readonly number[]): boolean {
  const index = one.findIndex((value, at) => value !== other[at]);
  return index !== -1 && (one[index] as number) > (other[index] as number);
}
