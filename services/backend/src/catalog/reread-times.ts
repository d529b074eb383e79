/**
 * Decides when a server's lists are read again without an announcement. Announcements without a listener are lost, so lists are read after every
 * interruption; and a server that is replaced behind its address may announce nothing, so they are read from time to time while clients use the server.
 */
import { backoffMs, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';
import { interestMs } from '@omnibus/protocol';

export interface RereadTimesOptions {
  readonly wheel: DeadlineWheel;
  /** Milliseconds between two readings; 0: only after interruptions. The option `rereadLists` of the server. */
  readonly rereadMs: number;
  readonly read: () => void;
  /** A number in [0, 1). */
  readonly random?: () => number;
}

/** Shortest time, for servers that say that their lists are outdated at once. */
const minTtlMs = 30_000;
/** How long a server counts as used after a session worker has said so; two such messages may be lost. */
const wantedMs = 3 * interestMs;
/** Pauses between readings after interruptions: the first reading comes at once, and those for a stream that breaks again and again with growing pauses. */
const gapPause = { minMs: 1_000, maxMs: 60_000 };
/** Interruptions with less time between them count as consecutive. */
const quietMs = 120_000;

export class RereadTimes {
  readonly #options: Required<RereadTimesOptions>;
  #next: Deadline | undefined;
  #isOverdue = false;
  #wantedAt = -Infinity;
  /** Set while a reading after an interruption waits. */
  #afterGap: Deadline | undefined;
  #gaps = 0;
  #gapAt = -Infinity;

  constructor(options: RereadTimesOptions) {
    this.#options = { random: Math.random, ...options };
  }

  /** @param ttlMs for which the server says its lists may be used, if it announces no changes. */
  wasRead(ttlMs: number | undefined): void {
    const { wheel, rereadMs, random, read } = this.#options;
    this.#next?.cancel();
    this.#next = undefined;
    this.#isOverdue = false;
    const everyMs = Math.min(
      rereadMs === 0 ? Infinity : rereadMs,
      ttlMs === undefined ? Infinity : Math.max(ttlMs, minTtlMs),
    );
    if (everyMs === Infinity) return;
    // The time varies, so that servers that were read together are not read together without end.
    this.#next = wheel.schedule(everyMs * (0.9 + 0.2 * random()), () => {
      this.#next = undefined;
      if (performance.now() - this.#wantedAt < wantedMs) read();
      else this.#isOverdue = true;
    });
  }

  /** A client uses the server. */
  wanted(): void {
    this.#wantedAt = performance.now();
    if (!this.#isOverdue) return;
    this.#isOverdue = false;
    this.#options.read();
  }

  /** The server's announcements were interrupted for a while. */
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
