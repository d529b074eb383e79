/**
 * Spreads sessions over session workers. A worker that has just started holds none, and open sessions stay where they are. So each worker that holds more than its
 * share gives idle sessions to those that hold much less, a few in each round. Each worker gives no more than it holds above the mean, so sessions do not
 * go back and forth.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { SessionKey, WorkerId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';

export interface Share {
  readonly worker: WorkerId;
  readonly sessions: number;
}

export interface BalanceOptions {
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'sessionsBalanced'>;
  /** The other workers of this region that say how many sessions they hold. */
  readonly others: () => readonly Share[];
  readonly sessions: {
    readonly held: { readonly size: number };
    /** Up to this number of sessions without an open request or a task of a script, the one that is idle for longest first. */
    quiet(most: number): readonly SessionKey[];
    /** Hands a session to another worker. @returns false if it stays here. */
    moveTo(key: SessionKey, worker: WorkerId): Promise<boolean>;
  };
}

/** Milliseconds between two rounds. */
const roundMs = 10_000;
/** A worker with fewer sessions than this part of the mean gets some. */
const fewPart = 0.8;
/** Sessions that a worker gives in one round: a part of its own, and at least a few. */
const roundPart = 0.05;
const leastInRound = 5;
/** Sessions that are moved at a time. */
const movedAtOnce = 5;

/**
 * How many sessions a worker gives to which other one in a round.
 * @param start from 0 to below 1: chooses the workers that get a session for the fractions of their shares.
 */
export function sharesOf(own: number, others: readonly Share[], start = Math.random()): readonly Share[] {
  const mean = others.reduce((sum, { sessions }) => sum + sessions, own) / (others.length + 1);
  const poor = others.filter(({ sessions }) => sessions < fewPart * mean);
  const lacking = poor.reduce((sum, { sessions }) => sum + mean - sessions, 0);
  const given = Math.min(Math.floor(own - mean), Math.max(leastInRound, Math.ceil(own * roundPart)));
  if (given <= 0) return [];
  let upTo = start;
  return poor
    .map(({ worker, sessions }) => {
      const before = Math.floor(upTo);
      upTo += (given * (mean - sessions)) / lacking;
      return { worker, sessions: Math.floor(upTo) - before };
    })
    .filter(({ sessions }) => sessions > 0);
}

export class Balance {
  readonly #options: BalanceOptions;
  #next: Deadline | undefined;
  #isStopped = false;

  constructor(options: BalanceOptions) {
    this.#options = options;
  }

  start(): void {
    this.#next = this.#options.wheel.schedule(roundMs, () => {
      void this.round().finally(() => {
        if (!this.#isStopped) this.start();
      });
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#next?.cancel();
  }

  /** Gives other workers what they lack, as far as sessions are idle. */
  async round(): Promise<void> {
    const { sessions, others, metrics, log } = this.#options;
    const shares = sharesOf(sessions.held.size, others());
    if (shares.length === 0) return;
    const targets = shares.flatMap(({ worker, sessions: count }) => Array.from({ length: count }, () => worker));
    const keys = sessions.quiet(targets.length);
    let moved = 0;
    for (let start = 0; start < keys.length && !this.#isStopped; start += movedAtOnce) {
      const those = keys.slice(start, start + movedAtOnce);
      const done = await Promise.all(
        those.map((key, index) => sessions.moveTo(key, targets[start + index] as WorkerId)),
      );
      moved += done.filter(Boolean).length;
    }
    metrics.sessionsBalanced.inc(moved);
    if (moved > 0) log.info({ sessions: moved, workers: shares.length }, 'idle sessions were given to other workers');
  }
}
