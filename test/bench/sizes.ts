/**
 * `npm run bench -- sizes [BYTES…] [one|nats]`: the processor time of a call by the size of its result, for clients of both eras, beside a minimal proxy of the same
 * traffic in the same rounds. `one` and `nats` choose one shape of the gateway.
 */
import { shapes, type Shape } from '../support/gateway.ts';
import { cpuSeconds } from './cpu.ts';
import { Load } from './load.ts';
import { startOmnibus, startThinProxy, startUpstream, type Measured } from './subjects.ts';

const asked = process.argv.slice(2);
const chosenSizes = asked.map(Number).filter((bytes) => bytes > 0);
const sizes = chosenSizes.length > 0 ? chosenSizes : [1_000, 20_000, 100_000, 1_000_000];
const names = { one: 'embedded', nats: 'nats' } as const;
const chosenShapes = shapes.filter((shape) => asked.some((name) => names[name as keyof typeof names] === shape));
const rounds = 5;
const roundMs = 1_000;
/** Enough for the engine to compile what takes most of a call. */
const warmUpCalls = 15_000;
/** Few where results are large: answers that come late are kept for clients that resume their streams, which is not measured here. */
const sessionsFor = (bytes: number): number => (bytes > 50_000 ? 4 : 16);
/** What the warm-up may take in milliseconds. */
const warmUpMs = 20_000;

interface Case {
  readonly name: string;
  readonly pids: readonly number[];
  readonly load: Load;
  readonly micros: number[];
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

async function casesOf(measured: readonly (readonly [name: string, of: Measured])[], bytes: number): Promise<Case[]> {
  const cases: Case[] = [];
  for (const [name, { url, pids }] of measured)
    for (const isModern of name === 'thin proxy' ? [false] : [false, true]) {
      const load = await Load.open({ url, sessions: sessionsFor(bytes), tools: ['tool-0'], bytes, isModern });
      cases.push({
        name: name === 'thin proxy' ? name : `${name}, ${isModern ? '2026' : '2025'}`,
        pids,
        load,
        micros: [],
      });
    }
  return cases;
}

await using upstream = await startUpstream(1);
await using proxy = await startThinProxy(upstream.url);
await using stack = new AsyncDisposableStack();
const measured: (readonly [string, Measured])[] = [['thin proxy', proxy]];
for (const shape of chosenShapes.length > 0 ? chosenShapes : (shapes as readonly Shape[]))
  measured.push([
    shape === 'embedded' ? 'one process' : 'NATS',
    stack.use(await startOmnibus(shape, { up: { url: `${upstream.url}/0` } })),
  ]);
// Until the tool is known.
for (const [name, { url }] of measured) if (name !== 'thin proxy') await Load.toolNames(url);
for (const bytes of sizes) {
  const cases = await casesOf(measured, bytes);
  for (const { load } of cases) {
    const until = performance.now() + (bytes > 50_000 ? warmUpMs / 4 : warmUpMs);
    let calls = 0;
    while (calls < warmUpCalls && performance.now() < until)
      ({ calls } = await load.run(500).then((ran) => ({ calls: calls + ran.calls })));
  }
  for (let round = 0; round < rounds; round += 1)
    for (const { pids, load, micros } of round % 2 === 0 ? cases : cases.toReversed()) {
      const before = cpuSeconds(pids);
      const { calls } = await load.run(roundMs);
      micros.push(((cpuSeconds(pids) - before) * 1e6) / calls);
    }
  const [thin] = cases as [Case, ...Case[]];
  for (const { name, micros, load } of cases) {
    const ratio = median(micros.map((each, round) => each / (thin.micros[round] as number)));
    console.log(
      `${String(bytes).padStart(8)} bytes  ${name.padEnd(18)} ${median(micros).toFixed(0).padStart(6)} µs CPU a call, ratio ${ratio.toFixed(2)}`,
    );
    await load.close();
  }
}
