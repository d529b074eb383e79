/**
 * Follows a bucket: reads stored values, and then new ones, in the order of the stream. Writers announce writes (`store.ts`), and from time to time the
 * follower reads the bucket in any case: announcements may be lost.
 */
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import type { Watch } from '../bus.ts';
import type { Store, StoredEntry } from './store.ts';

/** Milliseconds between two looks at a bucket of which nothing is heard. */
const lookMs = 2_000;
/** Longest pause between two attempts to pass on what could not be read; it doubles. */
const longestRetryMs = 30_000;

const nothing = new Uint8Array(0);

interface TailOptions {
  readonly connection: NatsConnection;
  readonly store: Pick<Store, 'changedSubject' | 'state' | 'from' | 'keys'>;
  /** Milliseconds for which the store keeps the marks of deleted keys; undefined if it keeps all. */
  readonly forgetsMs: number | undefined;
  /** An entry for which it rejects is passed on again later, unless another entry has replaced it by then. */
  readonly observer: (entry: StoredEntry) => Promise<void>;
  /** The bucket or an entry could not be read; it is tried again. Called once for a reason, until reading succeeds or fails for another. */
  readonly failed: (error: unknown) => void;
}

/**
 * Resolves when everything that was stored at the call has been passed on, except for what cannot be read yet. What is written meanwhile comes afterwards, so that
 * a bucket which others write all the time holds up no start.
 */
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
  /** The keys that were passed on, where the store forgets that they were deleted. */
  readonly #keys = new Set<string>();
  /** Start of the last look that read all, by `Date.now`: that clock continues while a machine sleeps. */
  #lookedAt = Date.now();
  /** Whether there may be more than was read. */
  #isDue = true;
  #isReading = true;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;
  /** The last entry of each key that could not be passed on; the one that failed last comes last. At most one for each key of the bucket. */
  readonly #unread = new Map<string, StoredEntry>();
  #retryAt = 0;
  #retryMs = lookMs;
  /** Why reading fails at present, as it was reported. */
  #problem: string | undefined;

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
      await this.#readOnce();
    } catch (error) {
      this.close();
      throw error;
    }
    this.#readNew();
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
    this.#readNew();
  }

  /** Reads until nothing is new, and then rests. */
  #readNew(): void {
    void this.#readAll()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => this.#rest());
  }

  #fail(error: unknown): void {
    const problem = String(error);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.failed(error);
  }

  #rest(): void {
    this.#isReading = false;
    if (!this.#isOver) this.#timer = setTimeout(() => this.#look(), lookMs).unref();
  }

  async #readAll(): Promise<void> {
    const { connection } = this.#options;
    while (this.#isDue && !this.#isOver && !connection.isClosed() && !connection.isDraining()) await this.#readOnce();
  }

  async #readOnce(): Promise<void> {
    this.#isDue = false;
    await this.#readOn();
    await this.#retry();
    if (this.#unread.size === 0) this.#problem = undefined;
  }

  async #pass(entry: StoredEntry): Promise<boolean> {
    this.#note(entry);
    const isFirst = this.#unread.size === 0;
    this.#unread.delete(entry.key);
    try {
      await this.#options.observer(entry);
      return true;
    } catch (error) {
      if (isFirst) this.#retryLater(lookMs);
      this.#unread.set(entry.key, entry);
      this.#fail(error);
      return false;
    }
  }

  #note({ key, isDeleted }: StoredEntry): void {
    if (this.#options.forgetsMs === undefined) return;
    if (isDeleted) this.#keys.delete(key);
    else this.#keys.add(key);
  }

  /** Passes on that keys are gone whose marks may have come and gone since the last look, as while this process was cut off. */
  async #passGone(): Promise<void> {
    const { store, forgetsMs = Infinity } = this.#options;
    // Half of the time is room for clocks.
    if (Date.now() - this.#lookedAt < forgetsMs / 2 || this.#keys.size === 0) return;
    const left = new Set(await store.keys('>'));
    for (const key of [...this.#keys]) {
      if (this.#isOver) return;
      if (!left.has(key)) await this.#pass({ key, value: nothing, revision: 0, isDeleted: true });
    }
  }

  /** Passes on values that could not be read before. It stops at the first failure, so that new values do not wait for all. */
  async #retry(): Promise<void> {
    if (this.#unread.size === 0 || performance.now() < this.#retryAt) return;
    for (const entry of [...this.#unread.values()]) {
      if (this.#isOver) return;
      if (await this.#pass(entry)) continue;
      this.#retryLater(Math.min(2 * this.#retryMs, longestRetryMs));
      return;
    }
  }

  #retryLater(ms: number): void {
    this.#retryMs = ms;
    this.#retryAt = performance.now() + ms;
  }

  async #readOn(): Promise<void> {
    const { store } = this.#options;
    const startedAt = Date.now();
    const state = await store.state();
    // Another stream of the same name: the one before was lost.
    if (state.created !== this.#created || state.last < this.#next - 1) {
      this.#next = 1;
      this.#unread.clear();
      // What was lost with it is not deleted: processes write it again.
      this.#keys.clear();
    }
    this.#created = state.created;
    if (state.last >= this.#next) {
      for await (const entry of store.from(this.#next, state)) {
        if (this.#isOver) return;
        this.#next = entry.revision + 1;
        await this.#pass(entry);
      }
      this.#next = state.last + 1;
    }
    await this.#passGone();
    this.#lookedAt = startedAt;
  }
}
