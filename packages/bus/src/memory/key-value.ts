import { BusError } from '../errors.ts';
import type { KeyValue, KeyValueChange, KeyValueEntry, Watch } from '../bus.ts';
import type { StoredBucket } from './bus-store.ts';

/** Bytes of a stored value: its characters as JSON; a hub stores JSON of other processes as bytes. */
export function sizeOf(value: unknown): number {
  return value instanceof Uint8Array ? value.length : JSON.stringify(value).length;
}

/** Bound on deleted keys that are remembered; NATS keeps such marks until the bucket's maximum age. */
const maxDeleted = 10_000;

interface Stored<Value> extends KeyValueEntry<Value> {
  /** When it expires. */
  readonly until: number;
  /** Characters of its JSON; counted only where they are bounded. */
  readonly size: number;
}

export interface MemoryKeyValueOptions<Value> {
  readonly deliver: (delivery: () => void) => void;
  readonly maxAgeMs?: number | undefined;
  readonly maxBytes?: number | undefined;
  /** Where the values outlive the process; without it, they end with it. */
  readonly stored?: StoredBucket<Value> | undefined;
}

export class MemoryKeyValue<Value> implements KeyValue<Value> {
  /** The entry that expires next comes first. */
  readonly #entries = new Map<string, Stored<Value>>();
  /** The key that was deleted the longest time ago comes first. */
  readonly #deleted = new Set<string>();
  readonly #maxAgeMs: number;
  readonly #watchers = new Set<(change: KeyValueChange<Value>) => void>();
  readonly #deliver: (delivery: () => void) => void;
  readonly #maxBytes: number;
  readonly #stored: StoredBucket<Value> | undefined;
  #bytes = 0;
  #revision = 0;

  constructor({ deliver, maxAgeMs = Infinity, maxBytes = Infinity, stored }: MemoryKeyValueOptions<Value>) {
    this.#deliver = deliver;
    this.#maxAgeMs = maxAgeMs;
    this.#maxBytes = maxBytes;
    this.#stored = stored;
    for (const { leftMs, ...entry } of stored?.load() ?? []) {
      const size = this.#sizeOf(entry.key, entry.value);
      this.#entries.set(entry.key, { ...entry, until: performance.now() + leftMs, size });
      this.#bytes += size;
      this.#revision = Math.max(this.#revision, entry.revision);
    }
  }

  /** Counted only where the bytes are bounded. */
  #sizeOf(key: string, value: Value): number {
    return this.#maxBytes === Infinity ? 0 : key.length + sizeOf(value);
  }

  #read(key: string): KeyValueEntry<Value> | undefined {
    const stored = this.#entries.get(key);
    if (stored === undefined) return undefined;
    const { until, size: _size, ...entry } = stored;
    if (performance.now() < until) return entry;
    this.#expire(key);
    return undefined;
  }

  #expire(key: string): void {
    this.#remove(key);
    try {
      this.#stored?.remove(key);
    } catch {
      // The next process removes it: it has expired there, too.
    }
  }

  #remove(key: string): boolean {
    this.#bytes -= this.#entries.get(key)?.size ?? 0;
    return this.#entries.delete(key);
  }

  /** Removes expired entries. */
  #sweep(): void {
    const now = performance.now();
    for (const [key, { until }] of this.#entries) {
      if (now < until) return;
      this.#expire(key);
    }
  }

  get(key: string): Promise<KeyValueEntry<Value> | undefined> {
    return Promise.resolve(this.#read(key));
  }

  wasDeleted(key: string): Promise<boolean> {
    return Promise.resolve(this.#deleted.has(key));
  }

  put(key: string, value: Value): Promise<number> {
    this.#sweep();
    const size = this.#sizeOf(key, value);
    if (this.#bytes - (this.#entries.get(key)?.size ?? 0) + size > this.#maxBytes)
      return Promise.reject(new BusError('overloaded', `there is no room for key ${key}`));
    const entry = { key, value, revision: this.#revision + 1 };
    try {
      this.#stored?.write({ ...entry, leftMs: this.#maxAgeMs });
    } catch (error) {
      return Promise.reject(error as BusError);
    }
    this.#revision += 1;
    this.#remove(key);
    this.#bytes += size;
    this.#entries.set(key, { ...entry, until: performance.now() + this.#maxAgeMs, size });
    this.#deleted.delete(key);
    this.#announce({ kind: 'put', ...entry });
    return Promise.resolve(entry.revision);
  }

  create(key: string, value: Value): Promise<number> {
    if (this.#read(key) !== undefined) return Promise.reject(new BusError('revision-conflict', `key ${key} exists`));
    return this.put(key, value);
  }

  update(key: string, value: Value, revision: number): Promise<number> {
    if (this.#read(key)?.revision !== revision) {
      return Promise.reject(new BusError('revision-conflict', `key ${key} is not at revision ${revision}`));
    }
    return this.put(key, value);
  }

  restore(key: string, value: Value): Promise<number> {
    return this.#deleted.has(key)
      ? Promise.reject(new BusError('revision-conflict', `key ${key} was deleted`))
      : this.create(key, value);
  }

  delete(key: string, revision?: number): Promise<void> {
    if (revision !== undefined && this.#read(key)?.revision !== revision) {
      return Promise.reject(new BusError('revision-conflict', `key ${key} is not at revision ${revision}`));
    }
    try {
      this.#stored?.remove(key);
    } catch (error) {
      return Promise.reject(error as BusError);
    }
    this.#deleted.delete(key);
    this.#deleted.add(key);
    if (this.#deleted.size > maxDeleted) this.#deleted.delete(this.#deleted.keys().next().value as string);
    if (this.#remove(key)) {
      this.#revision += 1;
      this.#announce({ kind: 'delete', key });
    }
    return Promise.resolve();
  }

  watch(observer: (change: KeyValueChange<Value>) => void): Promise<Watch> {
    let open = true;
    const guarded = (change: KeyValueChange<Value>): void => {
      if (open) observer(change);
    };
    this.#watchers.add(guarded);
    const present = [...this.#entries.keys()].flatMap((key) => this.#read(key) ?? []);
    // Each value is delivered separately, so that an observer that throws on one value still receives the others.
    for (const entry of present) this.#deliver(() => guarded({ kind: 'put', ...entry }));
    return new Promise((resolve) => {
      this.#deliver(() =>
        resolve({
          close: () => {
            open = false;
            this.#watchers.delete(guarded);
          },
        }),
      );
    });
  }

  #announce(change: KeyValueChange<Value>): void {
    for (const watcher of this.#watchers) this.#deliver(() => watcher(change));
  }
}
