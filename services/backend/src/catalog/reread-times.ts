/**
 * When a server's lists are read again although it has announced nothing. What it announces while nobody hears it is lost, so they are
 * read after every gap; and a server that is replaced behind its address may never say so, so they are read now and then, as long as
 * somebody is there for whom.
 */
import { backoffMs, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';
import { interestMs } from '@omnibus/protocol';

export interface RereadTimesOptions {
  readonly wheel: DeadlineWheel;
  /** Milliseconds between two readings; 0: never, but after gaps. The option `rereadLists` of the server. */
  readonly rereadMs: number;
  readonly read: () => void;
  /** A number in [0, 1). */
  readonly random?: () => number;
}

/** A server that says its lists are old at once is not asked all the time. */
const minTtlMs = 30_000;
/** After the last word of a worker whose clients use the server, this long it counts as used: two words may be lost. */
const wantedMs = 3 * interestMs;
/** Between two readings after gaps: the first is made at once, those of a stream that breaks again and again ever more seldom. */
const gapPause = { minMs: 1_000, maxMs: 60_000 };
/** Gaps in a row are those with less between them. */
const quietMs = 120_000;

export class RereadTimes {
  readonly #options: Required<RereadTimesOptions>;
  #next: Deadline | undefined;
  #isOverdue = false;
  #wantedAt = -Infinity;
  /** Set while a reading after a gap waits. */
  #afterGap: Deadline | undefined;
  #gaps = 0;
  #gapAt = -Infinity;

  constructor(options: RereadTimesOptions) {
    this.#options = { random: Math.random, ...options };
  }

  /** @param ttlMs what the server says its lists can be used for, where it does not announce changes. */
  wasRead(ttlMs: number | undefined): void {
    const { wheel, rereadMs, random, read } = this.#options;
    this.#next?.cancel();
    this.#next = undefined;
    this.#isOverdue = false;
    const everyMs = Math.min(rereadMs === 0 ? Infinity : rereadMs, ttlMs === undefined ? Infinity : Math.max(ttlMs, minTtlMs));
    if (everyMs === Infinity) return;
    // Servers that were read together are not read together for ever.
    this.#next = wheel.schedule(everyMs * (0.9 + 0.2 * random()), () => {
      this.#next = undefined;
      if (performance.now() - this.#wantedAt < wantedMs) read();
      else this.#isOverdue = true;
    });
  }

  /** Somebody uses the server. */
  wanted(): void {
    this.#wantedAt = performance.now();
    if (!this.#isOverdue) return;
    this.#isOverdue = false;
    this.#options.read();
  }

  /** What the server said for a while was not heard. */
  missed(): void {
    if (this.#afterGap !== undefined) return;
    const { wheel, random, read } = this.#options;
    const now = performance.now();
    if (now - this.#gapAt > quietMs) this.#gaps = 0;
    this.#gapAt = now;
    const pauseMs = this.#gaps === 0 ? 0 : backoffMs(this.#gaps - 1, gapPause, random());
    this.#gaps += 1;
    this.#afterGap = wheel.schedule(pauseMs, () => {
      this.#afterGap = undefined;
      read();
    });
  }

  stop(): void {
    this.#next?.cancel();
    this.#afterGap?.cancel();
    this.#next = undefined;
    this.#afterGap = undefined;
  }
}
