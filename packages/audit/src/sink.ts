/** Where records go. Each sink has a position of its own among the lines that wait, and is asked again for what it could not take. */
import type { Lines } from './lines.ts';

export interface Sink {
  /** For people and metrics: its kind, and a number where there are several of one. */
  readonly name: string;
  /** Lines and bytes of one write. */
  readonly batch: { readonly lines: number; readonly bytes: number };
  /** Takes lines, in order. When it fails, the same lines come again, and may have been taken partly. @param from the number of the first. */
  write(lines: readonly string[], from: number): Promise<void>;
  /** Makes what was written survive the machine; left out where a write does. When it fails, what was written since the last time comes again. */
  sync?(): Promise<void>;
  close(): Promise<void>;
}

export interface SinkObserver {
  /** How many records it has taken. */
  wrote(sink: string, records: number): void;
  /** Records that it was too far behind for, and that others have. */
  skipped(sink: string, records: number): void;
  failed(sink: string, error: unknown): void;
  /** It works again. */
  recovered(sink: string): void;
}

/** Between two attempts; the wait doubles. */
const retryMs = { first: 250, longest: 30_000 };

export class Pump {
  readonly sink: Sink;
  /** Records may pass it by when it is behind by all that is kept: it holds up no other. */
  readonly isOptional: boolean;
  readonly #lines: Lines;
  readonly #observer: SinkObserver;
  readonly #moved: () => void;
  #written: number;
  #safe: number;
  #isRunning = false;
  #isSyncing = false;
  #isClosed = false;
  /** Lines of the write that failed: they come again as they were. */
  #attempted: number | undefined;
  /** What was written and is not safe has to be written again. */
  #isBack = false;
  #failures = 0;
  #retry: { readonly timer: NodeJS.Timeout; readonly go: () => void } | undefined;

  /** @param moved is called when more of the lines is safe. */
  constructor(sink: Sink, isOptional: boolean, lines: Lines, observer: SinkObserver, moved: () => void) {
    this.sink = sink;
    this.isOptional = isOptional;
    this.#lines = lines;
    this.#observer = observer;
    this.#moved = moved;
    this.#written = lines.next;
    this.#safe = lines.next;
  }

  /** The number of the first line that is not safe there. */
  get safe(): number {
    return this.#safe;
  }

  get behind(): number {
    return this.#lines.next - this.#safe;
  }

  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** There is something to write. */
  wake(): void {
    if (this.#isRunning || this.#isClosed) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    while (this.#written < this.#lines.next && !this.#isClosed) {
      this.#skip();
      const lines = this.#lines.from(this.#written, this.#attempted ?? this.sink.batch.lines, this.sink.batch.bytes);
      if (lines.length === 0) break;
      try {
        this.#attempted = lines.length;
        await this.sink.write(lines, this.#written);
        this.#attempted = undefined;
        if (this.#isBack) {
          this.#goBack();
          continue;
        }
        this.#written += lines.length;
        this.#worked();
        this.#observer.wrote(this.sink.name, lines.length);
        if (this.sink.sync === undefined) this.#isSafeUpTo(this.#written);
        else this.#sync(() => this.sink.sync?.());
      } catch (error) {
        await this.#failed(error);
      }
    }
    // At once, so that nobody who has added a line in between believes that it is still looked at.
    this.#isRunning = false;
  }

  /** What was let go of before it could be written. */
  #skip(): void {
    const missed = this.#lines.first - this.#written;
    if (missed <= 0) return;
    this.#observer.skipped(this.sink.name, missed);
    this.#attempted = undefined;
    this.#written = this.#lines.first;
    this.#safe = Math.max(this.#safe, this.#written);
  }

  /** One at a time; what is written meanwhile is synced with the next. */
  #sync(sync: () => Promise<void> | undefined): void {
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    const upTo = this.#written;
    (sync() ?? Promise.resolve()).then(() => {
      this.#isSyncing = false;
      this.#isSafeUpTo(upTo);
      if (this.#written > upTo && !this.#isClosed) this.#sync(sync);
    }, (error: unknown) => {
      this.#isBack = true;
      void this.#failed(error).then(() => {
        this.#isSyncing = false;
        if (!this.#isRunning) this.#goBack();
        this.wake();
      });
    });
  }

  #goBack(): void {
    this.#isBack = false;
    this.#written = this.#safe;
  }

  #isSafeUpTo(number: number): void {
    if (number <= this.#safe) return;
    this.#safe = number;
    this.#moved();
  }

  #worked(): void {
    if (this.#failures > 0) this.#observer.recovered(this.sink.name);
    this.#failures = 0;
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#failures === 0) this.#observer.failed(this.sink.name, error);
    const waitMs = Math.min(retryMs.longest, retryMs.first * 2 ** this.#failures);
    this.#failures += 1;
    if (this.#isClosed) return;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        clearTimeout(this.#retry?.timer);
        this.#retry = undefined;
        resolve();
      };
      this.#retry = { timer: setTimeout(go, waitMs).unref(), go };
    });
  }

  /** Tries at once what waits to be tried again. */
  hurry(): void {
    this.#retry?.go();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.hurry();
    await this.sink.close();
  }
}
