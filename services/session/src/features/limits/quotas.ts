/**
 * Quotas of a day or month, over all session workers: each leases a part of the remainder from a bucket, by compare-and-set, and takes from its lease
 * without a request. Leases count as used, so that the quota is never exceeded; the unused lease of a worker that dies
 * is lost until the next day or month.
 */
import { hash } from 'node:crypto';
import { changeValue, type KeyValue } from '@omnibus/bus';
import type { QuotaRecord } from '@omnibus/protocol';

export type Window = 'day' | 'month';

export interface Quota {
  readonly most: number;
  readonly window: Window;
  /** What happens to calls while the bucket cannot be reached. */
  readonly onUnknown: 'allow' | 'refuse';
}

export interface QuotasOptions {
  readonly bucket: (window: Window) => KeyValue<QuotaRecord>;
  /** The number of session workers that lease from the same quota. */
  readonly workers: () => number;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
}

/** Undefined: taken. `untaken`: the call may proceed although the remainder is unknown; there is nothing to return. */
export type Refused = { readonly retryAfterMs: number; readonly isUnknown?: boolean } | 'untaken' | undefined;

interface Lease {
  readonly key: string;
  readonly window: Window;
  readonly endsAt: number;
  left: number;
  /** The size of the next lease, if that much is left. */
  chunk: number;
  leasedAt: number;
  /** Whether it was used since the last `sweep`. */
  isUsed: boolean;
  asking: Promise<void> | undefined;
  /** The time before which the bucket is not asked again. */
  refusedUntil: number;
  isUnknown: boolean;
}

const firstChunk = 8;
/** Time that a lease should last: each new one costs a round trip. */
const lastsMs = 5_000;
const refusedMs = 1_000;
const maxLeases = 50_000;
/** Bound on concurrent returns of leases, since the bus carries calls too. */
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

  /** Takes from a lease; a promise only when a part must be leased first. @param amount that must be left; 0: any positive amount. */
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

  /** Takes after leasing. Several calls that wait for the same lease may use it up before the last of them gets any. */
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

  /** Counts amounts known only after the call, such as bytes, or returns them. @param amount negative for a return. */
  spend(key: string, quota: Quota, amount: number): void {
    const lease = this.#leaseOf(key, quota);
    lease.left -= amount;
    lease.isUsed = true;
  }

  /** Returns idle leases: others may need them. Called every few seconds. */
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

  /** Returns leases, and records excess usage. */
  async stop(): Promise<void> {
    const leases = [...this.#leases.values()];
    this.#leases.clear();
    const unsettled = leases.filter(({ left, endsAt }) => left !== 0 && endsAt > this.#options.clock());
    for (let from = 0; from < unsettled.length; from += atOnce)
      await Promise.all(unsettled.slice(from, from + atOnce).map((lease) => this.#giveBack(lease)));
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
    // The key is hashed, so that readers of the bucket do not learn the caller.
    const lease: Lease = {
      key: `${id}.${hash('sha256', key, 'base64url')}`,
      window,
      endsAt,
      left: 0,
      chunk: firstChunk,
      leasedAt: now,
      isUsed: true,
      asking: undefined,
      refusedUntil: 0,
      isUnknown: false,
    };
    this.#leases.set(name, lease);
    if (this.#leases.size > maxLeases) this.#evict();
    return lease;
  }

  /** Drops the lease used longest ago. */
  #evict(): void {
    const [name, lease] = this.#leases.entries().next().value as [string, Lease];
    this.#leases.delete(name);
    if (lease.left !== 0 && lease.endsAt > this.#options.clock()) void this.#giveBack(lease);
  }

  /** Leases another part; one request at a time for each key. */
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
      let size = 0;
      await changeValue(bucket(lease.window), lease.key, (record) => {
        const used = record?.used ?? 0;
        const remaining = most - used;
        lease.isUnknown = false;
        // A debt, from use that was counted afterwards, is paid first.
        size = Math.min(
          remaining,
          Math.max(1, -lease.left + 1, Math.min(lease.chunk, Math.ceil(remaining / (2 * workers())))),
        );
        return size <= 0 ? record : { used: used + size };
      });
      if (size <= 0) lease.refusedUntil = clock() + refusedMs;
      else lease.left += size;
    } catch {
      // The refusal and a metric say that the quota is unknown.
      lease.isUnknown = true;
      lease.refusedUntil = clock() + refusedMs;
    }
  }

  /** Returns the rest of a lease; a negative rest is a debt, and is added to the usage. */
  async #giveBack(lease: Lease): Promise<void> {
    const back = lease.left;
    lease.left = 0;
    try {
      await changeValue(this.#options.bucket(lease.window), lease.key, (record) =>
        record === undefined && back > 0 ? record : { used: Math.max(0, (record?.used ?? 0) - back) },
      );
    } catch {
      // An unreturned lease counts as used, so that the quota is not exceeded.
    }
  }
}

/** Days and months are those of UTC. */
function windowAt(window: Window, now: number): { readonly id: string; readonly endsAt: number } {
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const text = date.toISOString();
  return window === 'day'
    ? { id: text.slice(0, 10), endsAt: Date.UTC(year, month, day + 1) }
    : { id: text.slice(0, 7), endsAt: Date.UTC(year, month + 1, 1) };
}
