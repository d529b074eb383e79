/** Writes lines to a sink. Each sink has a position of its own among the waiting lines, and gets lines again that it could not store. */
import type { Batch, Lines } from './lines.ts';
import { watched } from './overdue.ts';

export interface Sink {
  /** Name in messages and metrics: the kind, with a number if there are several of one kind. */
  readonly name: string;
  /** Most lines and bytes of one write. */
  readonly batch: { readonly lines: number; readonly bytes: number };
  /** Stores lines, in order. After a failure the same lines come again, and a part of them may have been stored. @param from the number of the first line. */
  write(lines: Batch, from: number): Promise<void>;
  /**
   * Makes written lines survive a crash of the machine; left out if a write does so. It runs a few times a second, and at once if a call waits for a
   * record. After a failure, everything written since the last success comes again.
   */
  sync?(): Promise<void>;
  close(): Promise<void>;
}

export interface SinkObserver {
  wrote(sink: string, records: number): void;
  /** Called with the number of records that a sink has missed because it was too far behind, and that others have. */
  skipped(sink: string, records: number): void;
  failed(sink: string, error: unknown): void;
  /** Called when the sink works again. */
  recovered(sink: string): void;
}

/** Written lines are synced when the first has waited so long, in milliseconds, since a sync costs more than the writes of many lines. */
const unsyncedMs = 250;
/** Pause between two attempts; it doubles. */
const retryMs = { first: 250, longest: 30_000 };

export class Pump {
  readonly sink: Sink;
  /** Whether the sink misses records when it is behind by the whole ring, so that it holds up no other. */
  readonly isOptional: boolean;
  readonly #lines: Lines;
  readonly #observer: SinkObserver;
  readonly #moved: () => void;
  #written: number;
  #safe: number;
  #isRunning = false;
  #isSyncing = false;
  #pause: NodeJS.Timeout | undefined;
  /** Number of the line before which every line must be safe as soon as possible. */
  #wanted = 0;
  #isClosed = false;
  /** End of the write that failed; the same lines are written again. */
  #attempted: number | undefined;
  /** Whether written lines that were not synced have to be written again. */
  #isBack = false;
  #failures = 0;
  /** Writes and syncs that take too long and may still end. */
  #overdue = 0;
  #retry: { readonly timer: NodeJS.Timeout; readonly go: () => void } | undefined;

  /** @param moved called when more lines are stored safely. */
  constructor(sink: Sink, isOptional: boolean, lines: Lines, observer: SinkObserver, moved: () => void) {
    this.sink = sink;
    this.isOptional = isOptional;
    this.#lines = lines;
    this.#observer = observer;
    this.#moved = moved;
    this.#written = lines.next;
    this.#safe = lines.next;
  }

  /** The number of the first line that is not stored safely. */
  get safe(): number {
    return this.#safe;
  }

  get behind(): number {
    return this.#lines.next - this.#safe;
  }

  get isFailing(): boolean {
    return this.#failures > 0 || this.#overdue > 0;
  }

  /** There are new lines. */
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
        await this.#watched(this.sink.write(lines, this.#written), 'a write');
        this.#attempted = undefined;
        if (this.#isBack) {
          this.#goBack();
          continue;
        }
        this.#written += lines.length;
        this.#worked();
        this.#observer.wrote(this.sink.name, lines.length);
        if (this.sink.sync === undefined) this.#isSafeUpTo(this.#written);
        else this.#syncSoon();
      } catch (error) {
        await this.#failed(error);
      }
    }
    // Set at once, so that a line added in between wakes the sink again.
    this.#isRunning = false;
  }

  /** Skips lines that were dropped before they could be written. */
  #skip(): void {
    const missed = this.#lines.first - this.#written;
    if (missed <= 0) return;
    this.#observer.skipped(this.sink.name, missed);
    this.#attempted = undefined;
    this.#written = this.#lines.first;
    this.#safe = Math.max(this.#safe, this.#written);
  }

  /** A call waits until all lines before a number are safe. */
  want(upTo: number): void {
    this.#wanted = Math.max(this.#wanted, upTo);
    if (this.sink.sync !== undefined) this.#syncSoon();
  }

  #syncSoon(): void {
    if (this.#isSyncing || this.#isBack || this.#written <= this.#safe) return;
    if (this.#lines.isFilling || this.#wanted > this.#safe) this.#sync();
    else this.#pause ??= setTimeout(() => this.#sync(), unsyncedMs).unref();
  }

  /** Runs one sync at a time; lines written meanwhile are synced by the next. */
  #sync(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    if (this.#isSyncing || this.#isClosed) return;
    this.#isSyncing = true;
    const upTo = this.#written;
    this.#watched(this.sink.sync?.(), 'a sync').then(
      () => {
        this.#isSyncing = false;
        this.#isSafeUpTo(upTo);
        if (!this.#isClosed) this.#syncSoon();
      },
      (error: unknown) => {
        this.#isBack = true;
        void this.#failed(error).then(() => {
          this.#isSyncing = false;
          if (!this.#isRunning) this.#goBack();
          this.wake();
        });
      },
    );
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
    const wasFailing = this.#failures > 0;
    this.#failures = 0;
    if (wasFailing && !this.isFailing) this.#observer.recovered(this.sink.name);
  }

  async #watched(work: Promise<void> | undefined, what: string): Promise<void> {
    let isOverdue = false;
    try {
      await watched(work, what, (error) => {
        isOverdue = true;
        if (!this.isFailing) this.#observer.failed(this.sink.name, error);
        this.#overdue += 1;
      });
      if (isOverdue && this.#overdue === 1 && this.#failures === 0) this.#observer.recovered(this.sink.name);
    } finally {
      if (isOverdue) this.#overdue -= 1;
    }
  }

  async #failed(error: unknown): Promise<void> {
    if (!this.isFailing) this.#observer.failed(this.sink.name, error);
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

  /** Retries at once instead of after the pause. */
  hurry(): void {
    this.#retry?.go();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    this.hurry();
    await this.sink.close();
  }
}
