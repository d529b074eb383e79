/**
 * Says for each interrupted call of a chaos run to which fault it belongs. A call may be interrupted only if a process that held it was killed: a backend worker,
 * with the programs of its servers, or the edge of the client's connection. A client that has lost its connection to a killed edge can send its request again
 * (docs/reference/guarantees.md); those that do not count as interrupted.
 */
import type { Interruption } from './tally.ts';

/** A part that a fault kills, with the calls that it holds. */
export type Killed = 'backend' | 'edge';

export interface Struck {
  readonly name: string;
  readonly kills: readonly Killed[];
  readonly isSlow: boolean;
  /** When it began and ended, as `performance.now()`. */
  readonly from: number;
  to: number;
}

/** Milliseconds that a call of the run may take. */
export const callMs = 10_000;
const timeout = 'upstream.timeout';

/** The reason of an interruption by the end of such a part. */
const reasonOf: Readonly<Record<Killed, string>> = { backend: 'gateway.interrupted', edge: 'connection' };

/** Reasons of calls that no server has got: a client may make them again. */
const refusals = new Set(['upstream.unavailable', 'gateway.unavailable', 'HTTP 503']);

export interface Blame {
  /** For each fault and reason the number of interrupted calls. */
  readonly counts: ReadonlyMap<string, number>;
  /** Calls that no server has got, as their clients know. */
  readonly refused: number;
  /** Calls that no fault explains: each with its reason, its time and the faults of that time. */
  readonly unexplained: readonly string[];
}

/** @param repeatable tags of calls that a server may get twice: the gateway sends them again. */
export function blame(
  interruptions: readonly Interruption[],
  faults: readonly Struck[],
  repeatable: ReadonlySet<string>,
): Blame {
  const counts = new Map<string, number>();
  const unexplained: string[] = [];
  let refused = 0;
  for (const { reason, call, from, to } of interruptions) {
    const meanwhile = faults.filter((fault) => fault.from <= to && from <= fault.to);
    const cause = meanwhile.find(
      ({ kills, isSlow }) =>
        (isSlow && reason === timeout) ||
        kills.some((part) => reasonOf[part] === reason && (part === 'edge' || !repeatable.has(call))),
    );
    if (refusals.has(reason)) refused += 1;
    else if (cause === undefined) {
      const names = meanwhile.map(({ name }) => name).join(', ');
      unexplained.push(`${reason}: ${call}, ${seconds(from)} to ${seconds(to)} s, during ${names || 'no fault'}`);
    } else {
      const key = `${cause.name}, ${reason}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return { counts, refused, unexplained };
}

/**
 * The faults that made more calls reach their time limit than they may. Each client has one call at a time. At most a quarter of the clients may be stuck in a strike
 * that is shorter than the limit of a call, and in a longer one each of them, once for each time that the limit fits in.
 */
export function tooSlow({ counts }: Blame, faults: readonly Struck[], clients: number): readonly string[] {
  const allowed = new Map<string, number>();
  for (const { name, isSlow, from, to } of faults) {
    if (!isSlow) continue;
    const limits = Math.floor((to - from) / callMs);
    const may = limits === 0 ? Math.ceil(clients / 4) : clients * (limits + 1);
    allowed.set(name, (allowed.get(name) ?? 0) + may);
  }
  return [...allowed]
    .map(([name, most]) => ({ name, most, count: counts.get(`${name}, ${timeout}`) ?? 0 }))
    .filter(({ most, count }) => count > most)
    .map(({ name, most, count }) => `${name}: ${count} calls, of at most ${most}`);
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}
