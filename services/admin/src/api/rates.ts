/** How many calls there were, how many failed, and how long they took, computed from the added counters of all processes: percentiles of each process cannot be combined. */
import type { Rates, Summary } from '@omnibus/admin-api';
import { durationBuckets, type CallCounts } from '@omnibus/telemetry';
import { z } from 'zod';

const counted = z.number().nonnegative();
const counts = z.object({ calls: counted, failed: counted, seconds: counted });
export const countsOfProcess = z.object({
  servers: z.array(counts.extend({ server: z.string(), buckets: z.array(counted) })),
  tools: z.array(counts.extend({ server: z.string(), tool: z.string() })),
});

export interface Counts {
  readonly calls: number;
  readonly failed: number;
  readonly seconds: number;
  readonly buckets?: readonly number[];
}

export function summaryOf(processes: readonly CallCounts[]): Pick<Summary, 'servers' | 'tools' | 'all'> {
  const servers = processes.flatMap((each) => each.servers);
  const tools = processes.flatMap((each) => each.tools);
  return {
    servers: [...Map.groupBy(servers, ({ server }) => server)].map(([server, rows]) => ({
      server,
      rates: ratesOf(rows),
    })),
    tools: [...Map.groupBy(tools, ({ server, tool }) => `${server}/${tool}`).values()].map((rows) => ({
      server: rows[0]?.server ?? '',
      tool: rows[0]?.tool ?? '',
      rates: ratesOf(rows),
    })),
    all: ratesOf(servers),
  };
}

export function ratesOf(rows: readonly Counts[]): Rates {
  const sum = (of: (row: Counts) => number): number => rows.reduce((all, row) => all + of(row), 0);
  const calls = sum((row) => row.calls);
  const buckets = durationBuckets.map((_, index) => sum((row) => row.buckets?.[index] ?? 0));
  const percentiles =
    rows.some((row) => row.buckets !== undefined) && calls > 0
      ? {
          p50: percentile(buckets, calls, 0.5),
          p95: percentile(buckets, calls, 0.95),
          p99: percentile(buckets, calls, 0.99),
        }
      : {};
  return {
    calls,
    failed: sum((row) => row.failed),
    ...(calls === 0 ? {} : { mean: rounded((sum((row) => row.seconds) * 1_000) / calls) }),
    ...percentiles,
  };
}

/** A percentile, interpolated within its bucket as Prometheus does (`histogram_quantile`); beyond the last bound, that bound. @returns milliseconds. */
function percentile(buckets: readonly number[], calls: number, part: number): number {
  const rank = part * calls;
  const index = buckets.findIndex((count) => count >= rank);
  if (index === -1) return (durationBuckets.at(-1) ?? 0) * 1_000;
  const [below, lower] = index === 0 ? [0, 0] : [buckets[index - 1] as number, durationBuckets[index - 1] as number];
  const inside = (buckets[index] as number) - below;
  const upper = durationBuckets[index] as number;
  return rounded((lower + (upper - lower) * (inside === 0 ? 0 : (rank - below) / inside)) * 1_000);
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
