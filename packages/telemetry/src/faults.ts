/** Reports what goes wrong without anybody to answer: one log line and one count each, and for storms one line with a number. */
import type { Logger } from './logger.ts';
import type { FaultPart, Metrics } from './metrics.ts';

/** Between two lines about the same thing. */
const quietMs = 10_000;
/** Different things said apart at once; beyond them they are said together. They come from a few places of our code. */
const maxTopics = 200;
/** Lines about what stays as it is, of one kind within `freshMs`: an installation has a few versions, and whoever makes them up has as many as he likes. */
const maxStanding = 20;
const freshMs = 10 * 60_000;
const otherTopic = 'other problems';

interface Topic {
  readonly saidAt: number;
  /** How often it came since the last line about it. */
  count: number;
  last: unknown;
}

/** What was said of one kind of things that stay as they are. */
interface Standing {
  /** The oldest first. */
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

  /** A bug of ours: each is logged. @param incident what the caller was told to name it by. */
  bug(part: FaultPart, what: string, error: unknown, incident?: string): void {
    this.#metrics.faulted(part);
    this.#log.error({ err: error, ...(incident === undefined ? {} : { incident }) }, what);
  }

  /** What comes from outside may come in thousands: said at once, then as a number. @param details of the first, for its line. */
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
    this.#log.warn({ ...details, ...(error === undefined ? {} : { err: error }), ...(topic === undefined || topic.count === 0 ? {} : { times: topic.count + 1 }) }, name);
  }

  /**
   * What stays as it is until somebody changes the installation is said once.
   * @param kind of a closed set: what is made up of one kind uses up the lines of no other.
   */
  once(kind: string, what: string): void {
    const now = this.#now();
    const standing = this.#standing.get(kind) ?? { said: new Set(), lines: 0, since: now };
    this.#standing.set(kind, standing);
    const { said } = standing;
    if (said.has(what)) return;
    if (now - standing.since >= freshMs) Object.assign(standing, { lines: 0, since: now });
    if (standing.lines >= maxStanding) return; // Who says it goes on saying it, and has a line when there is room.
    standing.lines += 1;
    if (said.size >= maxTopics) said.delete(said.values().next().value as string);
    said.add(what);
    this.#log.error(what);
  }

  /** Says the numbers that are due, and forgets what did not come again. */
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
