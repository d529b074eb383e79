/** The latest of many records, which several writers have written: files come one after another, but their times overlap. */
import type { AnyRecord } from './filter.ts';

export class LatestRecords {
  readonly #limit: number;
  #kept: AnyRecord[] = [];

  /** @param limit bound on kept records, from 1; up to twice as many are in memory. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  add(record: AnyRecord): void {
    this.#kept.push(record);
    if (this.#kept.length >= 2 * this.#limit) this.#kept = this.#latest();
  }

  /** The latest records, in the order of their times; those of one moment in the order in which they came. A record without a time counts as the earliest. */
  get all(): readonly AnyRecord[] {
    return this.#latest();
  }

  #latest(): AnyRecord[] {
    return this.#kept.toSorted((one, other) => compare(timeOf(one), timeOf(other))).slice(-this.#limit);
  }
}

// Times of records are ISO 8601 in UTC with milliseconds, so their texts are in their order.
const timeOf = ({ time }: AnyRecord): string => (typeof time === 'string' ? time : '');
const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
