import type { Bucket, Bus, Journal, JournalDefinition, KeyValueEntry } from '../bus.ts';

/** A value that an earlier process has stored. */
export interface StoredEntry<Value> extends KeyValueEntry<Value> {
  /** Milliseconds until it expires. */
  readonly leftMs: number;
}

export interface StoredBucket<Value> {
  /** The values of earlier processes, without expired and unreadable ones. The value that expires next comes first. */
  load(): readonly StoredEntry<Value>[];
  /** Resolves nothing: when it returns, the value outlives this process. @throws {BusError} `overloaded` when there is no room. */
  write(entry: StoredEntry<Value>): void;
  /** @throws {BusError} as `write` does. */
  remove(key: string): void;
}

/** Where a bus of one process stores what is to outlive it. */
export interface BusStore {
  /** @returns undefined for a bucket whose values concern this process only. */
  bucket<Value>(bucket: Bucket<Value>): StoredBucket<Value> | undefined;
  journal<Entry>(bus: Bus, definition: JournalDefinition<Entry>): Journal<Entry>;
  close(): void;
}
