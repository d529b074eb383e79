/**
 * `npm run bench -- workers`: two workers on one machine beside one, by processor time. A process uses one processor at most, so the process that takes the most time
 * for a call bounds the calls a second: capacity is the inverse of that time. All processes of a gateway share one processor, and the load generator and the server
 * share another, so neither is counted. So a worker nearly always has more to do, as at its capacity. A process that waits between two calls wakes for each,
 * which is a likely cause of the differences between earlier runs. Two workers have twice the calls in flight of one, and sessions over any connection are all of one
 * worker. Other load only adds time, so a figure is that of the quickest quarter of many short rounds.
 */
import { execFileSync } from 'node:child_process';
import { workersOf, startWorkers } from '../support/worker-processes.ts';
import type { GatewayUnderTest } from '../support/gateway.ts';
import { cpuSeconds } from './cpu.ts';
import { Load } from './load.ts';
import { startUpstream } from './subjects.ts';

/** For each worker. */
const sessions = 32;
const rounds = 24;
const roundMs = 500;
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

/** The figure that a quarter of the rounds does not exceed. */
const quick = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 4)] ?? 0;
const pidsOf = (gateway: GatewayUnderTest): number[] => [gateway.edge.pid, ...workersOf(gateway).map(({ pid }) => pid)];
/** Binds all threads of processes to one processor. */
const bind = (pids: readonly number[], processor: number): void => {
  for (const pid of pids) execFileSync('taskset', ['-acp', String(processor), String(pid)], { stdio: 'ignore' });
};
const sumOf = (micros: readonly number[]): number => micros.reduce((sum, each) => sum + each, 0);

await using upstream = await startUpstream(1);
bind([process.pid, ...upstream.pids], 1);
await using stack = new AsyncDisposableStack();
const gateways: GatewayUnderTest[] = [];
for (const workers of [1, 2]) {
  const gateway = stack.use(await startWorkers({ mcpServers: { up: { url: `${upstream.url}/0` } } }, workers));
  await Load.toolNames(gateway.url);
  bind(pidsOf(gateway), 0);
  gateways.push(gateway);
}
for (const [who, how] of Object.entries(clients)) {
  const cases: Case[] = [];
  for (const [index, gateway] of gateways.entries()) {
    const inFlight = sessions * (index + 1);
    const load = await Load.open({ url: gateway.url, sessions: inFlight, tools: ['tool-0'], bytes: 1_000, ...how });
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
  const busiest = ({ micros }: Case): number => quick(micros.map((of) => Math.max(...of)));
  const all = ({ micros }: Case): number => quick(micros.map(sumOf));
  for (const [workers, each] of cases.entries()) {
    const byProcess = each.pids.map((_, index) => quick(each.micros.map((of) => of[index] as number)).toFixed(0));
    console.log(
      `${who.padEnd(42)} ${workers + 1} worker${workers === 0 ? ' ' : 's'}  ${all(each).toFixed(0)} µs CPU a call: supervisor and workers ${byProcess.join(', ')}; ${(1e6 / busiest(each)).toFixed(0)} calls a second of its busiest process`,
    );
  }
  console.log(
    `${who.padEnd(42)} 2 workers beside 1: ${(all(two) / all(one)).toFixed(2)} of the CPU a call, ${(busiest(one) / busiest(two)).toFixed(2)} of the capacity`,
  );
  for (const { load } of cases) await load.close();
}
