/** The bytes of objects that a call makes, and those that it leaves to the old generation, whose collections are expensive. V8 counts both. */
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { startUpstream } from '../bench/subjects.ts';
import { startGateway } from '../support/gateway.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { ManyCalls, type Era } from './many-calls.ts';

/** Before the counted calls V8 has compiled what runs for each call, and tables have their size. */
const callsBefore = 12_000;
const countedCalls = 8_000;
/** Most bytes of objects of a call of 2025-11-25: half as much again as the 20,600 that were measured with decision 90. */
const mostMade = 31_000;
/** Most bytes of a call that survive two collections. A table that wears out promotes thousands. */
const mostPromoted = 200;

it('a call of either era leaves nearly nothing to the old generation, and one of 2026-07-28 makes few more objects than one of 2025-11-25', async () => {
  await using upstream = await startUpstream(1);
  await using gateway = await startGateway(
    'embedded',
    { mcpServers: { up: { url: `${upstream.url}/0` } } },
    { NODE_OPTIONS: `--import ${pathToFileURL(fixturePath('counted-garbage')).href}` },
  );
  using probe = await RawClient.open(gateway.url);
  await probe.untilTools((names) => names.includes('tool-0'));
  let times = 0;
  const said = async (): Promise<string> => {
    times += 1;
    gateway.edge.kill('SIGUSR2');
    return (await gateway.edge.line(new RegExp(`^garbage ${times}: (.+)$`)))[1] as string;
  };
  const bytesOf = async (era: Era): Promise<{ readonly made: number; readonly promoted: number }> => {
    await using calls = await ManyCalls.open(gateway.url, era, 32);
    await calls.run(callsBefore);
    await said();
    await calls.run(countedCalls);
    const { made, promoted, collections } = JSON.parse(await said()) as Record<string, number>;
    expect(collections).toBeGreaterThan(1);
    return { made: (made as number) / countedCalls, promoted: (promoted as number) / countedCalls };
  };
  const [legacy, modern] = [await bytesOf('2025-11-25'), await bytesOf('2026-07-28')];
  const inWords = ({ made, promoted }: typeof legacy): string =>
    `${made.toFixed(0)} made, ${promoted.toFixed(1)} promoted`;
  process.stdout.write(`\nbytes a call: 2025-11-25 ${inWords(legacy)}; 2026-07-28 ${inWords(modern)}\n`);
  expect(legacy.promoted).toBeLessThan(mostPromoted);
  expect(modern.promoted).toBeLessThan(mostPromoted);
  expect(legacy.made).toBeLessThan(mostMade);
  expect(modern.made).toBeLessThan(1.35 * legacy.made);
});

it('over NATS, a call leaves nearly nothing to the old generation of the edge and of the session worker', async () => {
  await using upstream = await startUpstream(1);
  await using gateway = await startGateway(
    'nats',
    { mcpServers: { up: { url: `${upstream.url}/0` } } },
    { NODE_OPTIONS: `--import ${pathToFileURL(fixturePath('counted-garbage')).href}` },
  );
  using probe = await RawClient.open(gateway.url);
  await probe.untilTools((names) => names.includes('tool-0'));
  const { edge, backend } = gateway;
  const session = gateway.processes.find((process) => process !== edge && process !== backend) as typeof edge;
  const said = (time: number): Promise<number[]> =>
    Promise.all(
      [edge, session].map(async (process) => {
        process.kill('SIGUSR2');
        const [, words] = await process.line(new RegExp(`^garbage ${time}: (.+)$`));
        if (words === 'begun') return 0;
        const { promoted, collections } = JSON.parse(words as string) as Record<string, number>;
        expect(collections).toBeGreaterThan(0);
        return (promoted as number) / countedCalls;
      }),
    );
  await using legacy = await ManyCalls.open(gateway.url, '2025-11-25', 16);
  await using modern = await ManyCalls.open(gateway.url, '2026-07-28', 16);
  const run = (calls: number) => Promise.all([legacy.run(calls / 2), modern.run(calls / 2)]);
  await run(callsBefore);
  await said(1);
  await run(countedCalls);
  const promoted = await said(2);
  process.stdout.write(
    `\nbytes a call that are promoted over NATS: edge ${promoted[0]?.toFixed(1)}, session worker ${promoted[1]?.toFixed(1)}\n`,
  );
  // A request that is an object literal with a getter promotes thousands.
  for (const bytes of promoted) expect(bytes).toBeLessThan(mostPromoted);
});
