/**
 * `npm run bench -- scripts [one|nats]`: the processor time of a call that a script makes (`run_code`), beside a call that a client makes, in the same gateway
 * and in alternating rounds. The start of a script is measured with scripts that make no calls, and counts apart.
 */
import { shapes } from '../support/gateway.ts';
import { RawClient } from '../support/raw-client.ts';
import { processSeconds } from './cpu.ts';
import { Load } from './load.ts';
import { startOmnibus, startUpstream, type Measured } from './subjects.ts';

const names = { one: 'embedded', nats: 'nats' } as const;
const chosen = shapes.filter((shape) =>
  process.argv.slice(2).some((name) => names[name as keyof typeof names] === shape),
);
const rounds = 7;
/** Calls at once, of clients and of a script. */
const atOnce = 16;
const callsOfScript = 9_000;
const roundMs = 1_500;
/** Enough for the engine to compile what takes most of a call. */
const warmUpMs = 15_000;

const codeOf = (calls: number): string => `
  let made = 0;
  const next = async () => {
    while (made < ${calls}) {
      made += 1;
      const text = 'hello ' + made;
      if (await servers.up.tool_0({ text }) !== text) throw new Error('a wrong answer');
    }
  };
  await Promise.all(Array.from({ length: ${atOnce} }, next));
  return made;`;

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

/** Microseconds of processor time that an act takes. */
async function microsOf({ pids }: Measured, act: () => Promise<unknown>): Promise<number> {
  const before = processSeconds(pids);
  await act();
  return (processSeconds(pids) - before) * 1e6;
}

async function run(client: RawClient, calls: number): Promise<void> {
  const { last } = await client.callTool('run_code', { code: codeOf(calls) });
  const [first] = (last.result?.['content'] ?? []) as { readonly text?: string }[];
  if (first?.text !== String(calls)) throw new Error(`a script was answered ${JSON.stringify(last)}`);
}

await using upstream = await startUpstream(1);
for (const shape of chosen.length > 0 ? chosen : shapes) {
  await using gateway = await startOmnibus(
    shape,
    { up: { url: `${upstream.url}/0` } },
    {
      listing: 'code',
      code: { calls: 10_000, cpu: '60s' },
      profiles: { all: { listing: 'full' } },
    },
  );
  const url = `${gateway.url}/all`;
  await Load.toolNames(url);
  const load = await Load.open({ url, sessions: atOnce, tools: ['tool-0'] });
  using client = await RawClient.open(gateway.url);
  await load.run(warmUpMs);
  for (let warm = 0; warm < 4; warm += 1) await run(client, callsOfScript);
  const found = { outer: [] as number[], inner: [] as number[], start: [] as number[], ratio: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    let calls = 0;
    const all = await microsOf(gateway, async () => {
      ({ calls } = await load.run(roundMs));
    });
    const outer = all / calls;
    const start = await microsOf(gateway, () => run(client, 0));
    const inner = ((await microsOf(gateway, () => run(client, callsOfScript))) - start) / callsOfScript;
    found.outer.push(outer);
    found.inner.push(inner);
    found.start.push(start);
    found.ratio.push(inner / outer);
  }
  await load.close();
  console.log(
    `${gateway.name}: a call of a client ${median(found.outer).toFixed(0)} µs, a call of a script ${median(found.inner).toFixed(0)} µs, ratio ${median(found.ratio).toFixed(2)} (${found.ratio.map((each) => each.toFixed(2)).join(', ')}); the start of a script ${(median(found.start) / 1_000).toFixed(0)} ms`,
  );
}
