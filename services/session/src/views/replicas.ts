/**
 * The catalogue records of one server. Several workers may have an adapter for it, each with a record of its own. The server is up as long as one of these
 * adapters reaches it, so a failing worker takes the server from no caller.
 */
import type { CatalogRecord, WorkerId } from '@omnibus/protocol';

/** Rank of a record: its worker is there, has left in an orderly way, or is lost. */
type Weight = 0 | 1 | 2;

const goneProblem = 'the part of the gateway that was connected to it is gone';

export class Replicas {
  readonly #records = new Map<WorkerId, CatalogRecord>();
  readonly #isLost: (worker: WorkerId) => boolean;
  /** The chosen record, as it was written. */
  #chosen: CatalogRecord | undefined;
  #isGone = false;
  #shown: CatalogRecord | undefined;
  readonly #guarded: ((record: CatalogRecord) => CatalogRecord) | undefined;

  /** @param isLost whether a worker is proven to be gone. */
  constructor(isLost: (worker: WorkerId) => boolean, guarded?: (record: CatalogRecord) => CatalogRecord) {
    this.#isLost = isLost;
    this.#guarded = guarded;
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

  /** The record that represents the server; the same object while nothing changes. */
  get record(): CatalogRecord | undefined {
    return this.#shown;
  }

  /**
   * Chooses the record again, with the same result in every process. Prefers workers that are there, then servers that are up, then servers that were
   * connected before, then the latest announced change, then the smallest name.
   * @returns whether the chosen record has changed.
   */
  choose(): boolean {
    let best:
      | { readonly worker: WorkerId; readonly record: CatalogRecord; readonly rank: readonly number[] }
      | undefined;
    for (const [worker, record] of this.#records) {
      const rank = [
        this.#weight(worker, record),
        record.status === 'up' ? 1 : 0,
        record.revision === undefined ? 0 : 1,
        Math.max(...Object.values(record.announcements)),
      ];
      if (best === undefined || isAbove(rank, best.rank) || (!isAbove(best.rank, rank) && worker < best.worker))
        best = { worker, record, rank };
    }
    const isGone = best?.rank[0] === 0;
    if (best?.record === this.#chosen && isGone === this.#isGone) return false;
    this.#chosen = best?.record;
    this.#isGone = isGone;
    this.showAnew(() => undefined);
    return true;
  }

  /** Applies guardrails to the chosen record again. @param shown is called with the record, where one is chosen. */
  showAnew(shown: (record: CatalogRecord) => void): void {
    if (this.#chosen === undefined) {
      this.#shown = undefined;
      return;
    }
    const guarded = this.#guarded?.(this.#chosen) ?? this.#chosen;
    this.#shown = this.#isGone ? { ...guarded, status: 'down', problem: goneProblem } : guarded;
    shown(this.#shown);
  }

  /** Whether a given worker is there and connected to the server. */
  isUpAt(worker: WorkerId): boolean {
    const record = this.#records.get(worker);
    return record?.status === 'up' && record.hasLeft !== true;
  }

  /**
   * Whether a call may reach a worker without the server, although a worker has it that gave no sign of life yet.
   * @param there the workers with an adapter of the server that gave one.
   */
  mustHear(there: readonly WorkerId[]): boolean {
    const { present } = this;
    const reaching = present.filter((worker) => this.#records.get(worker)?.status === 'up');
    if (reaching.length === 0 || reaching.some((worker) => there.includes(worker))) return false;
    return there.length > 0 || reaching.length < present.length;
  }

  /** Workers that have a record and may be there. */
  get present(): readonly WorkerId[] {
    return [...this.#records]
      .filter(([worker, record]) => this.#weight(worker, record) === 2)
      .map(([worker]) => worker);
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
