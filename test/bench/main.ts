/**
 * `npm run bench [-- quick|rivals|callers|tap|SERVERSxTOOLS]`: measures the cost of a call through the gateway, compared with a minimal proxy of the same
 * traffic. Rounds alternate between the two, so that other load on the machine affects both; figures are medians over rounds.
 */
import { Load, type LoadResult } from './load.ts';
import { cpuSeconds, residentBytes } from './cpu.ts';
import {
  startKnowing,
  startOmnibus,
  startThinProxy,
  startUpstream,
  startWatched,
  stdioUpstream,
  type Measured,
} from './subjects.ts';
import { report, type Row } from './report.ts';
import { startRivals } from './rivals.ts';
import { shapes } from '../support/gateway.ts';

const isQuick = process.argv.includes('quick');
const onlyRivals = process.argv.includes('rivals');
const onlyCallers = process.argv.includes('callers');
const onlyTap = process.argv.includes('tap');
const sessions = 64;
const roundMs = isQuick ? 1_000 : 3_000;
const rounds = isQuick ? 3 : 5;
const warmUpMs = isQuick ? 1_000 : 3_000;
/**
 * The least number of calls before the first round. The engine compiles what takes a good part of each call within some 15,000 calls, but what runs for two
 * microseconds of each, as the making of its record does, only within some 50,000.
 */
const warmUpCalls = isQuick ? 0 : 80_000;
/** How often the gateways of `callers` are started. */
const starts = isQuick ? 1 : 6;
/** The rounds of `callers`: their cases differ by a few percent, and the speed of a machine changes by more within a second. */
const brief = { rounds: isQuick ? 8 : 15, ms: 250 };

interface Sample {
  readonly cpuMicros: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

function sampleOf({ calls, seconds, latencies }: LoadResult, cpu: number): Sample {
  const quantile = (q: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? 0;
  return {
    cpuMicros: (cpu * 1e6) / calls,
    perSecond: calls / seconds,
    p50: quantile(0.5),
    p95: quantile(0.95),
    p99: quantile(0.99),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function shuffled<Value>(values: readonly Value[]): Value[] {
  return values
    .map((value) => ({ value, at: Math.random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ value }) => value);
}

/**
 * Measures several gateways in alternating rounds.
 * @param isReversed whether the last one is opened and warmed up first: of two loads of one gateway, the first was dearer by a few percent.
 * @returns the samples of each.
 */
async function sample(
  measured: readonly Measured[],
  { rounds, ms, isReversed = false }: { readonly rounds: number; readonly ms: number; readonly isReversed?: boolean },
): Promise<Sample[][]> {
  const loads: Load[] = [];
  const indices = [...measured.keys()];
  for (const index of isReversed ? indices.toReversed() : indices) {
    const each = measured[index] as Measured;
    const names =
      each === measured[0] && each.name === 'thin proxy' ? ['tool-0'] : await Load.toolNames(each.url, each.headers);
    // Those with an odd number only read.
    const tools =
      each.tools === undefined
        ? names
        : names.filter((name) => /[13579]$/.test(name) === (each.tools === 'only reading'));
    const load = await Load.open({ url: each.url, sessions, tools, headers: each.headers });
    loads[index] = load;
    await using _lasting = await each.during?.();
    let { calls } = await load.run(warmUpMs);
    while (calls < warmUpCalls) calls += (await load.run(1_000)).calls;
  }
  const samples: Sample[][] = measured.map(() => []);
  let last: Load | undefined;
  for (let round = 0; round < rounds; round += 1) {
    // In another order each time, and never the same one twice in a row, which would find everything as it has just left it.
    const order = shuffled([...loads.entries()]);
    if (order[0]?.[1] === last) order.push(...order.splice(0, 1));
    last = order.at(-1)?.[1];
    for (const [index, load] of order) {
      const { pids, during } = measured[index] as Measured;
      await using _lasting = await during?.();
      const before = cpuSeconds(pids);
      const result = await load.run(ms);
      (samples[index] as Sample[]).push(sampleOf(result, cpuSeconds(pids) - before));
    }
  }
  for (const load of loads) await load.close();
  return samples;
}

/** The median ratio of processor time, round by round. */
function ratioOf(samples: readonly Sample[], to: readonly Sample[]): number {
  return median(samples.map(({ cpuMicros }, round) => cpuMicros / (to[round] as Sample).cpuMicros));
}

/** Medians of samples. Ratios refer to the first of the gateways. */
function rowsOf(scenario: string, measured: readonly Measured[], samples: readonly (readonly Sample[])[]): Row[] {
  return measured.map(({ name, pids }, index): Row => {
    const own = samples[index] as readonly Sample[];
    const of = (field: keyof Sample): number => median(own.map((each) => each[field]));
    return {
      scenario,
      name,
      cpuMicros: of('cpuMicros'),
      perSecond: of('perSecond'),
      p50: of('p50'),
      p95: of('p95'),
      p99: of('p99'),
      ratio: ratioOf(own, samples[0] as readonly Sample[]),
      megabytes: residentBytes(pids) / 1e6,
    };
  });
}

async function compare(scenario: string, measured: readonly Measured[]): Promise<Row[]> {
  return rowsOf(scenario, measured, await sample(measured, { rounds, ms: roundMs }));
}

const rows: Row[] = [];
/** A size from the command line. */
const chosen = process.argv.map((argument) => /^(\d+)x(\d+)$/.exec(argument)).find((match) => match !== null);
const sizes: readonly (readonly [servers: number, tools: number])[] =
  chosen !== undefined
    ? [[Number(chosen[1]), Number(chosen[2])]]
    : onlyRivals || onlyCallers || onlyTap
      ? []
      : isQuick
        ? [[1, 10]]
        : [
            [1, 10],
            [1, 1_000],
            [1, 10_000],
            [10, 1_000],
            [100, 1_000],
            [100, 10_000],
          ];
for (const [servers, tools] of sizes) {
  await using upstream = await startUpstream(tools / servers);
  await using proxy = await startThinProxy(upstream.url);
  const mcpServers = Object.fromEntries(
    Array.from({ length: servers }, (_, index) => [`s${index}`, { url: `${upstream.url}/${index}` }]),
  );
  await using stack = new AsyncDisposableStack();
  const measured = [proxy];
  for (const shape of shapes) measured.push(stack.use(await startOmnibus(shape, mcpServers)));
  const found = await compare(`HTTP, ${servers} server${servers === 1 ? '' : 's'}, ${tools} tools`, measured);
  rows.push(...found);
  for (const row of found)
    console.log(
      `${row.scenario.padEnd(32)} ${row.name.padEnd(36)} ${row.cpuMicros.toFixed(1)} µs CPU a call, ${row.perSecond.toFixed(0)}/s, ratio ${row.ratio.toFixed(2)}`,
    );
}
if (onlyCallers) {
  await using upstream = await startUpstream(10);
  const mcpServers = { s0: { url: `${upstream.url}/0` } };
  for (const shape of shapes) {
    const scenario = `callers, ${shape === 'embedded' ? 'one process' : 'over NATS'}`;
    const samples: Sample[][] = [];
    let found: Row[] = [];
    // Processes that were started alike differ by more than some of these checks cost, so each gateway is started several times.
    for (let start = 0; start < starts; start += 1) {
      await using stack = new AsyncDisposableStack();
      // The costs of authentication and of each rule are compared with anonymous callers.
      const measured = [
        stack.use(await startOmnibus(shape, mcpServers)),
        ...(await startKnowing(shape, mcpServers, stack)),
      ];
      for (const [index, more] of (await sample(measured, { ...brief, isReversed: start % 2 === 1 })).entries())
        (samples[index] ??= []).push(...more);
      found = rowsOf(scenario, measured, samples);
      const steps = samples.slice(1).map((each, index) => ratioOf(each, samples[index] as readonly Sample[]));
      console.log(
        `${scenario}, start ${start + 1} of ${starts}: ${found.map(({ ratio }) => ratio.toFixed(3)).join(', ')} so far; each beside the one before it ${steps.map((step) => step.toFixed(3)).join(', ')}`,
      );
    }
    rows.push(...found);
    for (const row of found)
      console.log(
        `${row.scenario.padEnd(32)} ${row.name.padEnd(36)} ${row.cpuMicros.toFixed(1)} µs CPU a call, ${row.perSecond.toFixed(0)}/s, ratio ${row.ratio.toFixed(3)}`,
      );
  }
}
if (onlyTap) {
  await using upstream = await startUpstream(10);
  const mcpServers = { s0: { url: `${upstream.url}/0` } };
  for (const shape of shapes) {
    await using stack = new AsyncDisposableStack();
    const measured = await startWatched(shape, mcpServers, 'server=s0&tool=tool-0&rate=50');
    for (const each of measured) stack.use(each);
    const found = await compare(`watched, ${shape === 'embedded' ? 'one process' : 'over NATS'}`, measured);
    rows.push(...found);
    for (const row of found)
      console.log(
        `${row.scenario.padEnd(32)} ${row.name.padEnd(36)} ${row.cpuMicros.toFixed(1)} µs CPU a call, ${row.perSecond.toFixed(0)}/s, ratio ${row.ratio.toFixed(3)}`,
      );
  }
}
if (!isQuick && !onlyCallers && !onlyTap && chosen === undefined) {
  await using upstream = await startUpstream(1);
  await using proxy = await startThinProxy(upstream.url);
  await using stack = new AsyncDisposableStack();
  const measured = [proxy, stack.use(await startOmnibus('embedded', { up: stdioUpstream }))];
  for (const rival of await startRivals()) measured.push(stack.use(rival));
  rows.push(...(await compare('stdio upstream, 1 tool, beside other gateways', measured)));
}
await report(rows, {
  isQuick: isQuick || onlyRivals || onlyCallers || onlyTap || chosen !== undefined,
  sessions,
  ...(onlyCallers ? { rounds: brief.rounds * starts, roundMs: brief.ms } : { rounds, roundMs }),
});
