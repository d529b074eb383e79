/** The attempts (calls from the console) that run in this process, and how many each person may have. */
import { randomBytes } from 'node:crypto';
import type { Guest } from '@omnibus/edge';
import { TryRun, type Attempt } from './try-run.ts';

/** Bounds on the attempts of one person and of all; ended ones that can still be read count too. */
const maxPerPerson = 8;
const maxInAll = 32;
/** Bound on the time of one attempt. */
const maxMs = 10 * 60_000;
/** How long an attempt that is over can still be read. */
const keptMs = 60_000;
/** How long an attempt continues without a reader: a page that is reloaded comes back within this time. */
const unfollowedMs = 15_000;

interface Kept {
  readonly run: TryRun;
  readonly person: string;
  readonly limit: NodeJS.Timeout;
  unfollowed: NodeJS.Timeout | undefined;
}

export class TryDesk {
  readonly #kept = new Map<string, Kept>();

  /** Starts an attempt. @returns its id; undefined when there are too many. */
  start(
    person: string,
    attempt: Attempt,
    enter: (write: (text: string) => void, ended: () => void) => Promise<Guest>,
  ): string | undefined {
    const own = [...this.#kept.values()].filter((each) => each.person === person);
    if (own.length >= maxPerPerson || this.#kept.size >= maxInAll) {
      const over = [...this.#kept].find(
        ([, each]) => each.run.isOver && (each.person === person || own.length < maxPerPerson),
      );
      if (over === undefined) return undefined;
      this.#forget(over[0]);
    }
    const id = randomBytes(16).toString('hex');
    const run = new TryRun(attempt);
    const limit = setTimeout(() => run.cancel(`it took longer than ${maxMs / 60_000} minutes`), maxMs).unref();
    const kept: Kept = { run, person, limit, unfollowed: undefined };
    this.#kept.set(id, kept);
    this.#watch(kept);
    void run.run(enter).then(() => {
      clearTimeout(limit);
      setTimeout(() => this.#forget(id), keptMs).unref();
    });
    return id;
  }

  /** Finds an attempt of that person; for others' attempts the result is the same as for unknown ids. */
  find(id: string, person: string): TryRun | undefined {
    const kept = this.#kept.get(id);
    return kept?.person === person ? kept.run : undefined;
  }

  /** Called when the number of followers of an attempt may have changed. */
  followed(id: string): void {
    const kept = this.#kept.get(id);
    if (kept !== undefined) this.#watch(kept);
  }

  /** Ends all attempts. */
  stop(): void {
    for (const id of this.#kept.keys()) this.#forget(id);
  }

  #watch(kept: Kept): void {
    clearTimeout(kept.unfollowed);
    kept.unfollowed =
      kept.run.followers > 0 || kept.run.isOver
        ? undefined
        : setTimeout(() => kept.run.cancel('nobody follows it any more'), unfollowedMs).unref();
  }

  #forget(id: string): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.delete(id);
    clearTimeout(kept.limit);
    clearTimeout(kept.unfollowed);
    if (!kept.run.isOver) kept.run.cancel('the gateway stops');
  }
}
