/**
 * `npm run bench -- workers`: two workers on one machine beside one. Neither the load generator nor the server is counted, and the figures need no idle processors: a
 * process uses one of them at most, so the one that takes the most time for a call bounds the calls a second. Capacity is the inverse of that time.
 */
import { workersOf, startWorkers } from '../support/worker-processes.ts';
import type { GatewayUnderTest } from '../support/gateway.ts';
import { cpuSeconds } from './cpu.ts';
import { Load } from './load.ts';
import { startUpstream } from './subjects.ts';

const sessions = 32;
const rounds = 7;
const roundMs = 1_500;
/** Enough for the engine to compile what takes most of a call. */
const warmUpCalls = 20_000;

const clients = {
  '2025-11-25, each with its own connection': { ownConnections: true },
  '2025-11-25, any connection for each call': {},
  '2026-07-28': { isModern: true },
} as const;

interface Case {
  readonly pids: readonly number[];
  readonly load: Load;
  /** By round, the microseconds of each process for a call. */
  readonly micros: number[][];
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
const pidsOf = (gateway: GatewayUnderTest): number[] => [gateway.edge.pid, ...workersOf(gateway).map(({ pid }) => pid)];
const sumOf = (micros: readonly number[]): number => micros.reduce((sum, each) => sum + each, 0);

await using upstream = await startUpstream(1);
await using stack = new AsyncDisposableStack();
const gateways: GatewayUnderTest[] = [];
for (const workers of [1, 2]) {
  const gateway = stack.use(await startWorkers({ mcpServers: { up: { url: `${upstream.url}/0` } } }, workers));
  await Load.toolNames(gateway.url);
  gateways.push(gateway);
}
for (const [who, how] of Object.entries(clients)) {
  const cases: Case[] = [];
  for (const gateway of gateways) {
    const load = await Load.open({ url: gateway.url, sessions, tools: ['tool-0'], bytes: 1_000, ...how });
    for (let calls = 0; calls < warmUpCalls;) calls += (await load.run(500)).calls;
    cases.push({ pids: pidsOf(gateway), load, micros: [] });
  }
  for (let round = 0; round < rounds; round += 1)
    for (const { pids, load, micros } of round % 2 === 0 ? cases : cases.toReversed()) {
      const before = pids.map((pid) => cpuSeconds([pid]));
      const { calls } = await load.run(roundMs);
      micros.push(pids.map((pid, index) => ((cpuSeconds([pid]) - (before[index] as number)) * 1e6) / calls));
    }
  const [one, two] = cases as [Case, Case];
  const ratios = (of: (micros: readonly number[]) => number): number =>
    median(one.micros.map((micros, round) => of(micros) / of(two.micros[round] as number[])));
  for (const [workers, { micros }] of cases.entries()) {
    const each = (micros[0] as number[]).map((_, index) => median(micros.map((of) => of[index] as number)).toFixed(0));
    console.log(
      `${who.padEnd(42)} ${workers + 1} worker${workers === 0 ? ' ' : 's'}  ${median(micros.map(sumOf)).toFixed(0)} µs CPU a call: supervisor and workers ${each.join(', ')}`,
    );
  }
  console.log(
    `${who.padEnd(42)} 2 workers beside 1: ${(1 / ratios(sumOf)).toFixed(2)} of the CPU a call, ${ratios((micros) => Math.max(...micros)).toFixed(2)} of the capacity`,
  );
  for (const { load } of cases) await load.close();
}
