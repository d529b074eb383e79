/**
 * Stores results on the bus, so that any session worker reads them. An index for each owner has the bytes and times of its results and is changed by one
 * worker at a time, so the bounds of an owner hold over all workers; the bucket bounds the bytes of all owners.
 */
import { randomBytes } from 'node:crypto';
import { changeValue, openingAdvice, resultBuckets, type Bus, type KeyValue } from '@omnibus/bus';
import type { ResultBounds } from '@omnibus/catalog';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { OwnedResults, StoredResult } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

const sweepMs = 60_000;
/** Results that were read last, since a reader comes back for the next range. */
const maxCached = 4;
const maxCachedBytes = 32 * 1024 * 1024;
const cachedMs = 30_000;
/** Bound on owners whose results this worker removes when they expire; those of others go with the age of the bucket. */
const maxSwept = 10_000;

type Owned = OwnedResults['results'];

interface Buckets {
  readonly results: KeyValue<StoredResult>;
  readonly owners: KeyValue<OwnedResults>;
}

export interface StoreParts {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
}

export type StoreBounds = Pick<ResultBounds, 'keepMs' | 'maxBytes' | 'maxResults'>;

export class ResultStore {
  readonly #parts: StoreParts;
  #opening: Promise<Buckets> | undefined;
  /** By owner, when its first result expires. */
  readonly #expiring = new Map<string, number>();
  /** By key, the one that was read last at the end. */
  readonly #cached = new Map<
    string,
    { readonly stored: StoredResult; readonly bytes: number; readonly until: number }
  >();
  #sweep: { cancel(): void } | undefined;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  /** Opened at the first use: most gateways store nothing. */
  #buckets(): Promise<Buckets> {
    const { bus } = this.#parts;
    if (this.#opening !== undefined) return this.#opening;
    const opening = Promise.all([bus.keyValue(resultBuckets.results), bus.keyValue(resultBuckets.owners)]).then(
      ([results, owners]) => ({ results, owners }),
    );
    this.#opening = opening;
    opening.catch((error: unknown) => {
      this.#opening = undefined;
      this.#parts.log.error(
        { problem: String(error) },
        `stored results cannot be opened on the bus: ${openingAdvice(error)}`,
      );
    });
    return opening;
  }

  /**
   * @param bytes of the result.
   * @returns the id; undefined if the result alone is larger than the owner's room.
   * @throws {BusError} as the bus does.
   */
  async put(
    owner: string,
    result: Omit<StoredResult, 'until'>,
    bytes: number,
    bounds: StoreBounds,
  ): Promise<string | undefined> {
    if (bytes > bounds.maxBytes) return undefined;
    const id = randomBytes(12).toString('base64url');
    const until = Date.now() + bounds.keepMs;
    const gone = await this.#change(owner, (present) => {
      const kept = present.filter((each) => each.until > Date.now());
      let sum = kept.reduce((all, each) => all + each.bytes, bytes);
      while (kept.length > 0 && (kept.length >= bounds.maxResults || sum > bounds.maxBytes))
        sum -= kept.shift()?.bytes ?? 0;
      return [...kept, { id, bytes, until }];
    });
    try {
      const { results } = await this.#buckets();
      // Room is made first.
      await Promise.all(gone.map((each) => results.delete(keyOf(owner, each))));
      await results.create(keyOf(owner, id), { ...result, until });
    } catch (error) {
      await this.#change(owner, (present) => present.filter((each) => each.id !== id)).catch(() => undefined);
      throw error;
    }
    this.#expires(owner, until);
    return id;
  }

  /** @returns undefined if the owner has no such result, or it has expired. */
  async get(owner: string, id: string): Promise<StoredResult | undefined> {
    const key = keyOf(owner, id);
    const cached = this.#cached.get(key);
    this.#cached.delete(key);
    if (cached !== undefined && cached.until > Date.now()) {
      this.#cached.set(key, cached);
      return cached.stored;
    }
    const { results } = await this.#buckets();
    const stored = (await results.get(key))?.value;
    if (stored === undefined || stored.until <= Date.now()) return undefined;
    this.#cache(key, stored);
    return stored;
  }

  /** Removes all results of an owner. */
  async forget(owner: string): Promise<void> {
    this.#expiring.delete(owner);
    for (const key of this.#cached.keys()) if (key.startsWith(`${owner}.`)) this.#cached.delete(key);
    const gone = await this.#change(owner, () => []);
    const { results } = await this.#buckets();
    await Promise.all(gone.map((id) => results.delete(keyOf(owner, id))));
  }

  stop(): void {
    this.#sweep?.cancel();
    this.#cached.clear();
  }

  /**
   * Changes the index of an owner.
   * @returns the ids that are not in it any more.
   */
  async #change(owner: string, change: (present: Owned[number][]) => Owned): Promise<readonly string[]> {
    const { owners } = await this.#buckets();
    let gone: readonly string[] = [];
    await changeValue(owners, owner, (owned) => {
      const present = owned?.results ?? [];
      const results = change([...present]);
      gone = present.flatMap(({ id }) => (results.some((each) => each.id === id) ? [] : [id]));
      return results.length === 0 ? undefined : { results };
    });
    return gone;
  }

  #cache(key: string, stored: StoredResult): void {
    const bytes = stored.parts.reduce((sum, { data }) => sum + data.length, 0);
    if (bytes > maxCachedBytes) return;
    this.#cached.set(key, { stored, bytes, until: Math.min(stored.until, Date.now() + cachedMs) });
    let sum = [...this.#cached.values()].reduce((all, each) => all + each.bytes, 0);
    for (const [oldest, { bytes: freed }] of this.#cached) {
      if (this.#cached.size <= maxCached && sum <= maxCachedBytes) return;
      this.#cached.delete(oldest);
      sum -= freed;
    }
  }

  #expires(owner: string, until: number): void {
    if (this.#expiring.size < maxSwept || this.#expiring.has(owner))
      this.#expiring.set(owner, Math.min(until, this.#expiring.get(owner) ?? Infinity));
    this.#sweep ??= this.#parts.wheel.schedule(sweepMs, () => {
      this.#sweep = undefined;
      void this.#removeExpired();
    });
  }

  async #removeExpired(): Promise<void> {
    const now = Date.now();
    for (const [owner, until] of [...this.#expiring]) {
      if (until > now) continue;
      this.#expiring.delete(owner);
      try {
        const { results } = await this.#buckets();
        let next: number | undefined;
        const gone = await this.#change(owner, (present) => {
          const left = present.filter((each) => each.until > now);
          next = left[0]?.until;
          return left;
        });
        await Promise.all(gone.map((id) => results.delete(keyOf(owner, id))));
        if (next !== undefined) this.#expiring.set(owner, next);
      } catch (error) {
        this.#parts.log.warn(
          { problem: String(error) },
          'expired results could not be removed; they go with the age of their bucket',
        );
      }
    }
    if (this.#expiring.size > 0) this.#expires(...([...this.#expiring][0] as [string, number]));
  }
}

const keyOf = (owner: string, id: string): string => `${owner}.${id}`;
