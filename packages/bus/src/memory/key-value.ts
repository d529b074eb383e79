import { BusError } from '../errors.ts';
import type { KeyValue, KeyValueChange, KeyValueEntry, Watch } from '../bus.ts';

export class MemoryKeyValue<Value> implements KeyValue<Value> {
  readonly #entries = new Map<string, KeyValueEntry<Value>>();
  readonly #watchers = new Set<(change: KeyValueChange<Value>) => void>();
  readonly #deliver: (delivery: () => void) => void;
  #revision = 0;

  constructor(deliver: (delivery: () => void) => void) {
    this.#deliver = deliver;
  }

  get(key: string): Promise<KeyValueEntry<Value> | undefined> {
    return Promise.resolve(this.#entries.get(key));
  }

  put(key: string, value: Value): Promise<number> {
    this.#revision += 1;
    const entry = { key, value, revision: this.#revision };
    this.#entries.set(key, entry);
    this.#announce({ kind: 'put', ...entry });
    return Promise.resolve(entry.revision);
  }

  create(key: string, value: Value): Promise<number> {
    if (this.#entries.has(key)) return Promise.reject(new BusError('revision-conflict', `key ${key} exists`));
    return this.put(key, value);
  }

  update(key: string, value: Value, revision: number): Promise<number> {
    if (this.#entries.get(key)?.revision !== revision) {
      return Promise.reject(new BusError('revision-conflict', `key ${key} is not at revision ${revision}`));
    }
    return this.put(key, value);
  }

  delete(key: string): Promise<void> {
    if (this.#entries.delete(key)) {
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
    // One delivery each: an observer that throws over one hears the others.
    for (const entry of [...this.#entries.values()]) this.#deliver(() => guarded({ kind: 'put', ...entry }));
    return new Promise((resolve) => {
      this.#deliver(() => resolve({
        close: () => {
          open = false;
          this.#watchers.delete(guarded);
        },
      }));
    });
  }

  #announce(change: KeyValueChange<Value>): void {
    for (const watcher of this.#watchers) this.#deliver(() => watcher(change));
  }
}
