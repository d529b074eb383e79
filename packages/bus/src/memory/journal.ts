import type { Bus, Journal, JournalDefinition, Watch } from '../bus.ts';
import type { Subject } from '../subject.ts';
import { sizeOf } from './key-value.ts';

interface Kept<Entry> {
  readonly entry: Entry;
  readonly at: number;
  readonly bytes: number;
}

export class MemoryJournal<Entry> implements Journal<Entry> {
  readonly #bus: Bus;
  readonly #definition: JournalDefinition<Entry>;
  /** Entries by the name of their subject; the subject that was appended to the longest time ago comes first. */
  readonly #kept = new Map<string, readonly Kept<Entry>[]>();
  #bytes = 0;

  constructor(bus: Bus, definition: JournalDefinition<Entry>) {
    this.#bus = bus;
    this.#definition = definition;
  }

  append(to: Subject<Entry>, entry: Entry): void {
    const bytes = sizeOf(entry);
    const before = this.#read(to);
    const { maxEntries, maxBytes } = this.#definition;
    for (const { bytes: freed } of before.slice(0, Math.max(0, before.length + 1 - maxEntries))) this.#bytes -= freed;
    this.#kept.delete(to.name);
    this.#kept.set(to.name, [
      ...before.slice(Math.max(0, before.length + 1 - maxEntries)),
      { entry, at: performance.now(), bytes },
    ]);
    this.#bytes += bytes;
    for (const name of this.#kept.keys()) {
      if (this.#bytes <= maxBytes) break;
      this.#drop(name);
    }
    this.#bus.publish(to, entry);
  }

  async follow(subject: Subject<Entry>, observer: (entry: Entry) => void): Promise<Watch> {
    const subscription = await this.#bus.subscribe(subject, observer);
    for (const { entry } of this.#read(subject)) observer(entry);
    return subscription;
  }

  #read({ name }: Subject<Entry>): readonly Kept<Entry>[] {
    const kept = this.#kept.get(name) ?? [];
    const oldest = performance.now() - this.#definition.maxAgeMs;
    const fresh = kept.filter(({ at }) => at >= oldest);
    if (fresh.length === kept.length) return kept;
    this.#drop(name);
    if (fresh.length > 0) this.#kept.set(name, fresh);
    for (const { bytes } of fresh) this.#bytes += bytes;
    return fresh;
  }

  #drop(name: string): void {
    for (const { bytes } of this.#kept.get(name) ?? []) this.#bytes -= bytes;
    this.#kept.delete(name);
  }
}
