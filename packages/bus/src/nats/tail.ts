/**
 * Follows a bucket: reads what is stored, and then what is written, in the order of the stream. Who writes says so (`store.ts`), and from time to time the
 * bucket is looked at in any case: what is said may be lost, and processes of an older version say nothing.
 */
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import type { Watch } from '../bus.ts';
import type { Store, StoredEntry } from './store.ts';

/** Milliseconds between two looks at a bucket of which nothing is heard. */
const lookMs = 2_000;

interface TailOptions {
  readonly connection: NatsConnection;
  readonly store: Store;
  readonly observer: (entry: StoredEntry) => Promise<void>;
  /** The bucket could not be read; it is tried again. */
  readonly failed: (error: unknown) => void;
}

/** Resolves when everything that was stored has been passed on. */
export async function followStore(options: TailOptions): Promise<Watch> {
  const tail = new Tail(options);
  await tail.begin();
  return tail;
}

class Tail implements Watch {
  readonly #options: TailOptions;
  readonly #subscription: Subscription;
  /** When the stream was created that is followed. */
  #created: string | undefined;
  #next = 1;
  /** Whether there may be more than was read. */
  #isDue = true;
  #isReading = true;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TailOptions) {
    this.#options = options;
    // The subscription comes first, so that nothing is missed between the first look and the first change.
    this.#subscription = options.connection.subscribe(options.store.changedSubject, {
      callback: (error) => (error === null ? this.#look() : options.failed(error)),
    });
  }

  async begin(): Promise<void> {
    try {
      await this.#options.connection.flush();
      await this.#readAll();
    } catch (error) {
      this.close();
      throw error;
    }
    this.#rest();
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    if (!this.#subscription.isClosed()) this.#subscription.unsubscribe();
  }

  #look(): void {
    this.#isDue = true;
    if (this.#isReading || this.#isOver) return;
    this.#isReading = true;
    clearTimeout(this.#timer);
    void this.#readAll()
      .catch(this.#options.failed)
      .finally(() => this.#rest());
  }

  #rest(): void {
    this.#isReading = false;
    if (!this.#isOver) this.#timer = setTimeout(() => this.#look(), lookMs).unref();
  }

  async #readAll(): Promise<void> {
    const { connection } = this.#options;
    while (this.#isDue && !this.#isOver && !connection.isClosed() && !connection.isDraining()) {
      this.#isDue = false;
      await this.#readOn();
    }
  }

  async #readOn(): Promise<void> {
    const { store, observer } = this.#options;
    const state = await store.state();
    // Another stream of the same name: the one before was lost.
    if (state.created !== this.#created || state.last < this.#next - 1) this.#next = 1;
    this.#created = state.created;
    if (state.last < this.#next) return;
    for await (const entry of store.from(this.#next, state)) {
      if (this.#isOver) return;
      this.#next = entry.revision + 1;
      await observer(entry);
    }
    this.#next = state.last + 1;
  }
}
