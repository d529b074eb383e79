/** Where everything ends up that is nobody's answer: one log line, one count, and for storms one line with a number. */
import type { Logger } from './logger.ts';
import type { FaultPart, Metrics } from './metrics.ts';

/** Between two lines about the same thing. */
const quietMs = 10_000;
/** Different things said apart at once; beyond them they are said together. They come from a few places of our code. */
const maxTopics = 200;
const otherTopic = 'other problems';

interface Topic {
  readonly saidAt: number;
  /** Not said yet. */
  count: number;
  last: unknown;
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
  readonly #saidOnce = new Set<string>();

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

  /** What comes from outside may come in thousands: said at once, then as a number. */
  fromOutside(what: string, error: unknown): void {
    const now = this.#now();
    const name = this.#topics.has(what) || this.#topics.size < maxTopics ? what : otherTopic;
    const topic = this.#topics.get(name);
    if (topic !== undefined && now - topic.saidAt < quietMs) {
      topic.count += 1;
      topic.last = error;
      return;
    }
    this.#topics.set(name, { saidAt: now, count: 0, last: undefined });
    this.#log.warn({ err: error, ...(topic === undefined || topic.count === 0 ? {} : { times: topic.count + 1 }) }, name);
  }

  /** What stays as it is until somebody changes the installation is said once. */
  once(what: string): void {
    if (this.#saidOnce.has(what) || this.#saidOnce.size >= maxTopics) return;
    this.#saidOnce.add(what);
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
