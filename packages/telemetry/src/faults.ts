/** Reports failures without a request to answer: one log line and one count each, and for many of the same kind one line with their number. */
import type { Logger } from './logger.ts';
import type { FaultPart } from './label-values.ts';
import type { Metrics } from './metrics.ts';

/** Time between two lines about the same failure. */
const quietMs = 10_000;
/** Bound on different failures that are logged separately; further ones are logged together. They come from a few places in our code. */
const maxTopics = 200;
/** Bound on lines about lasting conditions of one kind within `freshMs`: an installation has a few versions, but an attacker can invent any number. */
const maxStanding = 20;
const freshMs = 10 * 60_000;
const otherTopic = 'other problems';

interface Topic {
  readonly saidAt: number;
  /** How often it occurred since the last line about it. */
  count: number;
  last: unknown;
}

/** The logged conditions of one kind. */
interface Standing {
  /** The oldest comes first. */
  readonly said: Set<string>;
  /** Lines since then. */
  lines: number;
  since: number;
}

export interface FaultsOptions {
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export class Faults {
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #now: () => number;
  readonly #topics = new Map<string, Topic>();
  /** By kind. */
  readonly #standing = new Map<string, Standing>();

  constructor({ log, metrics, now = () => performance.now() }: FaultsOptions) {
    this.#log = log;
    this.#metrics = metrics;
    this.#now = now;
  }

  /** A bug in the gateway; each one is logged. @param incident the id in the caller's error. */
  bug(part: FaultPart, what: string, error: unknown, incident?: string): void {
    this.#metrics.faulted(part);
    this.#log.error({ err: error, ...(incident === undefined ? {} : { incident }) }, what);
  }

  /** A failure caused from outside, which may occur thousands of times: logged at once, and then as a number. @param details of the first one, for its line. */
  fromOutside(what: string, error: unknown, details: object = {}): void {
    const now = this.#now();
    const name = this.#topics.has(what) || this.#topics.size < maxTopics ? what : otherTopic;
    const topic = this.#topics.get(name);
    if (topic !== undefined && now - topic.saidAt < quietMs) {
      topic.count += 1;
      topic.last = error;
      return;
    }
    this.#topics.set(name, { saidAt: now, count: 0, last: undefined });
    this.#log.warn(
      {
        ...details,
        ...(error === undefined ? {} : { err: error }),
        ...(topic === undefined || topic.count === 0 ? {} : { times: topic.count + 1 }),
      },
      name,
    );
  }

  /**
   * A condition that lasts until an operator changes the installation; logged once.
   * @param kind of a closed set: conditions of one kind do not use up the lines of another.
   */
  once(kind: string, what: string): void {
    const now = this.#now();
    const standing = this.#standing.get(kind) ?? { said: new Set(), lines: 0, since: now };
    this.#standing.set(kind, standing);
    const { said } = standing;
    if (said.has(what)) return;
    if (now - standing.since >= freshMs) Object.assign(standing, { lines: 0, since: now });
    if (standing.lines >= maxStanding) return; // The condition is reported again by its source, and is logged when there is room.
    standing.lines += 1;
    if (said.size >= maxTopics) said.delete(said.values().next().value as string);
    said.add(what);
    this.#log.error(what);
  }

  /** Logs the numbers that are due, and forgets failures that did not occur again. */
  flush(): void {
    const now = this.#now();
    for (const [what, { saidAt, count, last }] of this.#topics) {
      if (now - saidAt < quietMs) continue;
      if (count === 0) {
        this.#topics.delete(what);
        continue;
      }
      this.#topics.set(what, { saidAt: now, count: 0, last: undefined });
      this.#log.warn({ err: last, times: count }, what);
    }
  }
}
