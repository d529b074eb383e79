/**
 * How much in a day or a month, over all session workers: each leases a part of what is left from a bucket, by compare-and-set, and takes from that
 * without asking anybody. What is leased is counted as used, so it never comes to more than the quota; what a worker that dies had leased and not used
 * is lost until the next day or month.
 */
import { hash } from 'node:crypto';
import { BusError, type KeyValue } from '@omnibus/bus';
import type { QuotaRecord } from '@omnibus/protocol';

export type Window = 'day' | 'month';

export interface Quota {
  readonly most: number;
  readonly window: Window;
  /** What happens while the bucket cannot be asked. */
  readonly onUnknown: 'allow' | 'refuse';
}

export interface QuotasOptions {
  readonly bucket: (window: Window) => KeyValue<QuotaRecord>;
  /** Session workers that lease from the same quota. */
  readonly workers: () => number;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
}

/** Undefined: taken. `untaken`: let through, though nobody knows what is left; there is nothing to give back. */
export type Refused = { readonly retryAfterMs: number; readonly isUnknown?: boolean } | 'untaken' | undefined;

interface Lease {
  readonly key: string;
  readonly window: Window;
  readonly endsAt: number;
  left: number;
  /** What is leased next, where there is as much. */
  chunk: number;
  leasedAt: number;
  /** It was taken from since `sweep` looked last. */
  isUsed: boolean;
  asking: Promise<void> | undefined;
  /** Until then nobody is asked again. */
  refusedUntil: number;
  isUnknown: boolean;
}

const firstChunk = 8;
/** A chunk lasts about so long; what is leased in between costs a round trip. */
const lastsMs = 5_000;
const refusedMs = 1_000;
/** Others change the same key at the same time. */
const maxAttempts = 16;
const maxLeases = 50_000;
/** Leases that are given back at the same time: the bus has other things to carry. */
const atOnce = 100;

export class Quotas {
  readonly #options: Required<QuotasOptions>;
  readonly #leases = new Map<string, Lease>();

  constructor(options: QuotasOptions) {
    this.#options = { clock: Date.now, ...options };
  }

  get size(): number {
    return this.#leases.size;
  }

  /** A promise only where a part has to be leased first. @param amount that has to be there; 0: anything. */
  take(key: string, quota: Quota, amount: number): Refused | Promise<Refused> {
    const lease = this.#leaseOf(key, quota);
    lease.isUsed = true;
    if (lease.left >= Math.max(1, amount)) {
      lease.left -= amount;
      return undefined;
    }
    if (this.#options.clock() < lease.refusedUntil) return this.#refusal(lease, quota);
    return this.#takeLater(lease, quota, amount);
  }

  /** Those who wait for the same part may use it up before the last of them. */
  async #takeLater(lease: Lease, quota: Quota, amount: number): Promise<Refused> {
    for (;;) {
      await this.#lease(lease, quota);
      if (lease.left >= Math.max(1, amount)) {
        lease.left -= amount;
        return undefined;
      }
      if (this.#options.clock() < lease.refusedUntil) return this.#refusal(lease, quota);
    }
  }

  /** What was used turned out only afterwards, or was not used. @param amount negative gives back. */
  spend(key: string, quota: Quota, amount: number): void {
    const lease = this.#leaseOf(key, quota);
    lease.left -= amount;
    lease.isUsed = true;
  }

  /** Gives back what nobody has used for a while: others may need it. Called every few seconds. */
  async sweep(): Promise<void> {
    const now = this.#options.clock();
    for (const [name, lease] of this.#leases) {
      if (lease.asking !== undefined) continue;
      const isIdle = !lease.isUsed;
      lease.isUsed = false;
      if (!isIdle && lease.endsAt > now) continue;
      if (lease.left >= 0 || lease.endsAt <= now) this.#leases.delete(name);
      if (lease.left > 0 && lease.endsAt > now) await this.#giveBack(lease);
    }
  }

  /** Gives back what is leased, and writes down what was used beyond. */
  async stop(): Promise<void> {
    const leases = [...this.#leases.values()];
    this.#leases.clear();
    const unsettled = leases.filter(({ left, endsAt }) => left !== 0 && endsAt > this.#options.clock());
    for (let from = 0; from < unsettled.length; from += atOnce) await Promise.all(unsettled.slice(from, from + atOnce).map((lease) => this.#giveBack(lease)));
  }

  #refusal(lease: Lease, { onUnknown }: Quota): Refused {
    if (lease.isUnknown) return onUnknown === 'allow' ? 'untaken' : { retryAfterMs: refusedMs, isUnknown: true };
    return { retryAfterMs: Math.max(1, lease.endsAt - this.#options.clock()) };
  }

  #leaseOf(key: string, { window }: Quota): Lease {
    const now = this.#options.clock();
    const name = `${window} ${key}`;
    const known = this.#leases.get(name);
    if (known !== undefined && known.endsAt > now) return known;
    const { id, endsAt } = windowAt(window, now);
    // What a key is made of is not for everybody who reads the bucket.
    const lease: Lease = { key: `${id}.${hash('sha256', key, 'base64url')}`, window, endsAt, left: 0, chunk: firstChunk, leasedAt: now, isUsed: true, asking: undefined, refusedUntil: 0, isUnknown: false };
    this.#leases.set(name, lease);
    if (this.#leases.size > maxLeases) this.#evict();
    return lease;
  }

  /** The oldest makes room. */
  #evict(): void {
    const [name, lease] = this.#leases.entries().next().value as [string, Lease];
    this.#leases.delete(name);
    if (lease.left !== 0 && lease.endsAt > this.#options.clock()) void this.#giveBack(lease);
  }

  /** One question at a time for each key. */
  #lease(lease: Lease, quota: Quota): Promise<void> {
    lease.asking ??= this.#ask(lease, quota).finally(() => {
      lease.asking = undefined;
    });
    return lease.asking;
  }

  async #ask(lease: Lease, { most }: Quota): Promise<void> {
    const { bucket, workers, clock } = this.#options;
    const now = clock();
    const isFast = now - lease.leasedAt < lastsMs;
    lease.chunk = isFast ? lease.chunk * 2 : Math.max(1, Math.floor(lease.chunk / 2));
    lease.leasedAt = now;
    try {
      const store = bucket(lease.window);
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const entry = await store.get(lease.key);
        const used = entry?.value.used ?? 0;
        const remaining = most - used;
        lease.isUnknown = false;
        if (remaining <= 0) {
          lease.refusedUntil = clock() + refusedMs;
          return;
        }
        // What was used before it was known is paid first.
        const size = Math.min(remaining, Math.max(1, -lease.left + 1, Math.min(lease.chunk, Math.ceil(remaining / (2 * workers())))));
        if (!(await isWritten(entry === undefined ? store.create(lease.key, { used: used + size }) : store.update(lease.key, { used: used + size }, entry.revision)))) continue;
        lease.left += size;
        return;
      }
      throw new BusError('revision-conflict', 'others lease from the same quota all the time');
    } catch {
      // Said with the refusal, and by the metric of what is not known.
      lease.isUnknown = true;
      lease.refusedUntil = clock() + refusedMs;
    }
  }

  /** What is left below nothing is a debt, and counts as used. */
  async #giveBack(lease: Lease): Promise<void> {
    const back = lease.left;
    lease.left = 0;
    try {
      const store = this.#options.bucket(lease.window);
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const entry = await store.get(lease.key);
        if (entry === undefined && back > 0) return;
        const record = { used: Math.max(0, (entry?.value.used ?? 0) - back) };
        if (await isWritten(entry === undefined ? store.create(lease.key, record) : store.update(lease.key, record, entry.revision))) return;
      }
    } catch {
      // It counts as used: less than the quota, and never more.
    }
  }
}

/** @returns false when somebody else was faster. */
async function isWritten(write: Promise<number>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof BusError && error.kind === 'revision-conflict') return false;
    throw error;
  }
}

/** Days and months are those of UTC. */
function windowAt(window: Window, now: number): { readonly id: string; readonly endsAt: number } {
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const text = date.toISOString();
  return window === 'day' ? { id: text.slice(0, 10), endsAt: Date.UTC(year, month, day + 1) } : { id: text.slice(0, 7), endsAt: Date.UTC(year, month + 1, 1) };
}
