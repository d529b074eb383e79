/**
 * How many calls there were in each ten seconds of the last half hour, how many failed, and how long they took. Each process reads its own counters now and then, which
 * costs a call nothing; the points of all processes are added before percentiles are computed.
 */
import type { RateHistory as Answer } from '@omnibus/admin-api';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { JsonObject } from '@omnibus/protocol';
import { durationBuckets, type CallCounts } from '@omnibus/telemetry';
import { z } from 'zod';
import type { Assembly } from './assembly.ts';
import type { Question } from './process-desk.ts';
import { ratesOf, type Counts } from './rates.ts';

type ServerCounts = CallCounts['servers'][number];

/** A step that shows a burst, and half an hour of them: the first view of an operator with a problem. */
const everyMs = 10_000;
const maxPoints = 180;
/** Servers with points of their own in one step, those with the most calls. All others are in the points of all servers together. */
const maxServers = 200;
/** Name of the points of all servers together. */
const all = '';

type Delta = Required<Counts>;

/** The history of one process. */
export class RateHistory {
  readonly #read: () => Promise<readonly ServerCounts[]>;
  readonly #wheel: DeadlineWheel;
  readonly #failed: (error: unknown) => void;
  readonly #now: () => number;
  /** By step, the oldest first: the number of a step is its time divided by its length. */
  readonly #steps = new Map<number, ReadonlyMap<string, Delta>>();
  #before: ReadonlyMap<string, ServerCounts> | undefined;
  #next: Deadline | undefined;

  /** @param read reads the counters of this process. @param now milliseconds since 1970. */
  constructor(
    read: () => Promise<readonly ServerCounts[]>,
    wheel: DeadlineWheel,
    failed: (error: unknown) => void,
    now = Date.now,
  ) {
    this.#read = read;
    this.#wheel = wheel;
    this.#failed = failed;
    this.#now = now;
    this.step().catch(failed);
    this.#wait(0);
  }

  get questions(): Readonly<Record<string, Question>> {
    return { 'rate-history': ({ server }) => this.since(typeof server === 'string' ? server : all) };
  }

  stop(): void {
    this.#next?.cancel();
  }

  /** Ends a step: counts since the last one belong to it. The first only begins. */
  async step(): Promise<void> {
    const counts = await this.#read();
    const before = this.#before;
    this.#before = new Map(counts.map((each) => [each.server, each]));
    if (before === undefined) return;
    const deltas = counts
      .map((each): readonly [string, Delta] => [each.server, since(before.get(each.server), each)])
      .filter(([, { calls }]) => calls > 0);
    const busiest =
      deltas.length <= maxServers
        ? deltas
        : deltas.toSorted(([, one], [, other]) => other.calls - one.calls).slice(0, maxServers);
    this.#steps.set(
      Math.round(this.#now() / everyMs) - 1,
      new Map([...busiest, [all, added(deltas.map(([, delta]) => delta))]]),
    );
    for (const step of this.#steps.keys()) {
      if (this.#steps.size <= maxPoints) break;
      this.#steps.delete(step);
    }
  }

  /** What this process has of a server, or of all (empty), for the question `rate-history`. */
  since(server: string): JsonObject {
    const points = [...this.#steps].flatMap(([step, servers]) => {
      const { calls = 0, failed = 0, seconds = 0, buckets = [] } = servers.get(server) ?? {};
      return calls === 0 ? [] : [[step, calls, failed, seconds, ...buckets]];
    });
    const [first] = this.#steps.keys();
    return { points, ...(first === undefined ? {} : { first, last: [...this.#steps.keys()].at(-1) as number }) };
  }

  /**
   * Steps end at the same moments in every process, so that points can be added. The wheel's clock and that of the machine differ: a step that ends a little
   * before its moment does not end a second time at it.
   */
  #wait(leastMs: number): void {
    const restMs = everyMs - (this.#now() % everyMs);
    this.#next = this.#wheel.schedule(restMs < leastMs ? restMs + everyMs : restMs, () => {
      this.#wait(everyMs / 2);
      this.step().catch(this.#failed);
    });
  }
}

/** A counter that has become smaller has begun again. */
function since(before: ServerCounts | undefined, now: ServerCounts): Delta {
  const from = before === undefined || before.calls > now.calls ? undefined : before;
  return {
    calls: now.calls - (from?.calls ?? 0),
    failed: now.failed - (from?.failed ?? 0),
    seconds: now.seconds - (from?.seconds ?? 0),
    buckets: now.buckets.map((count, index) => count - (from?.buckets[index] ?? 0)),
  };
}

function added(deltas: readonly Delta[]): Delta {
  const sum = (of: (delta: Delta) => number): number => deltas.reduce((total, delta) => total + of(delta), 0);
  return {
    calls: sum(({ calls }) => calls),
    failed: sum(({ failed }) => failed),
    seconds: sum(({ seconds }) => seconds),
    buckets: durationBuckets.map((_, index) => sum(({ buckets }) => buckets[index] ?? 0)),
  };
}

const said = z.object({
  points: z.array(z.array(z.number())).max(maxPoints),
  first: z.number().optional(),
  last: z.number().optional(),
});

/** The history of all processes. @param server undefined for all servers together. */
export async function historyOf(assembly: Pick<Assembly, 'ask'>, server: string | undefined): Promise<Answer> {
  const heard = await assembly.ask('rate-history', server === undefined ? {} : { server }, said);
  const bodies = heard.said.map(({ body }) => body);
  const firsts = bodies.map(({ first }) => first).filter((step) => step !== undefined);
  const lasts = bodies.map(({ last }) => last).filter((step) => step !== undefined);
  if (firsts.length === 0) return { everyMs, points: [], missing: heard.missing };
  const last = Math.max(...lasts);
  const first = Math.max(Math.min(...firsts), last - maxPoints + 1);
  const rows = Map.groupBy(
    bodies.flatMap(({ points }) => points),
    ([step]) => step as number,
  );
  const points = Array.from({ length: last - first + 1 }, (_, index) => {
    const step = first + index;
    const deltas = (rows.get(step) ?? []).map(([, calls = 0, failed = 0, seconds = 0, ...buckets]): Delta => ({
      calls,
      failed,
      seconds,
      buckets,
    }));
    const { calls, failed, p50, p95 } = ratesOf(deltas);
    return {
      at: new Date(step * everyMs).toISOString(),
      calls,
      failed,
      ...(p50 === undefined || p95 === undefined ? {} : { p50, p95 }),
    };
  });
  return { everyMs, points, missing: heard.missing };
}
