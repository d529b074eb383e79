/** A large result passes as the bytes in which it came. The load of the machine decides only how soon its chunks are collected. */
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startUpstream, type Measured } from '../bench/subjects.ts';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { ModernClient } from '../support/modern-client.ts';
import { fixturePath, type RunningProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import type { Copies } from './copies.ts';

const calls = 10;

/** What a process has counted since the time before. @param time the number of this time, from 1. */
async function copiesOf(process: RunningProcess, time: number): Promise<Copies> {
  process.kill('SIGUSR2');
  return JSON.parse((await process.line(new RegExp(`^copies ${time}: (.+)$`)))[1] as string) as Copies;
}

describe('a large result, in one process', () => {
  let upstream: Measured;
  let gateway: GatewayUnderTest;
  let times = 0;

  beforeAll(async () => {
    upstream = await startUpstream(1);
    gateway = await startGateway(
      'embedded',
      { mcpServers: { up: { url: `${upstream.url}/0` } } },
      { NODE_OPTIONS: `--import ${pathToFileURL(fixturePath('counted-copies')).href}` },
    );
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('tool-0'));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const copies = (): Promise<Copies> => copiesOf(gateway.edge, (times += 1));

  it.each(['2025-11-25', '2026-07-28'] as const)(
    'of 200 kB is not parsed, not written and not joined in a new buffer for a client of %s',
    async (revision) => {
      using legacy = await RawClient.open(gateway.url);
      using modern = new ModernClient(gateway.url, {});
      const args = { text: 'hello', bytes: 200_000 };
      const call = () =>
        revision === '2025-11-25' ? legacy.callTool('tool-0', args) : modern.call('tool-0', { arguments: args });
      expect(JSON.stringify((await call()).last.result)).toContain(`hello${'x'.repeat(200_000)}`);
      await copies();
      for (let made = 0; made < calls; made += 1) await call();
      expect(await copies()).toMatchObject({ parsed: 0, written: 0, decoded: 0, encoded: 0, copied: 0 });
    },
  );

  it('of 10 MB takes the process at most five times its size more memory than it had', async () => {
    using client = await RawClient.open(gateway.url);
    const { peak: before } = await copies();
    const answer = await client.callTool('tool-0', { text: 'hello', bytes: 10_000_000 });
    expect(answer.body.length).toBeGreaterThan(10_000_000);
    const { peak, parsed, written } = await copies();
    process.stdout.write(`\n10 MB: ${((peak - before) / 1e6).toFixed(0)} MB more at the peak\n`);
    expect({ parsed, written }).toEqual({ parsed: 0, written: 0 });
    expect(peak - before).toBeLessThan(50_000_000);
  });
});

it('a result of 200 kB is not parsed and not written by any process, over NATS', async () => {
  await using upstream = await startUpstream(1);
  await using gateway = await startGateway(
    'nats',
    { mcpServers: { up: { url: `${upstream.url}/0` } } },
    { NODE_OPTIONS: `--import ${pathToFileURL(fixturePath('counted-copies')).href}` },
  );
  using legacy = await RawClient.open(gateway.url);
  using modern = new ModernClient(gateway.url, {});
  await legacy.untilTools((names) => names.includes('tool-0'));
  const args = { text: 'hello', bytes: 200_000 };
  const all = [() => legacy.callTool('tool-0', args), () => modern.call('tool-0', { arguments: args })];
  for (const call of all) expect(JSON.stringify((await call()).last.result)).toContain(`hello${'x'.repeat(200_000)}`);
  const counted = (time: number): Promise<Copies[]> =>
    Promise.all(gateway.processes.map((process) => copiesOf(process, time)));
  await counted(1);
  for (const call of all) for (let made = 0; made < calls; made += 1) await call();
  const found = await counted(2);
  expect(found).toHaveLength(3);
  for (const each of found) expect(each).toMatchObject({ parsed: 0, written: 0, decoded: 0, encoded: 0 });
  // The process that has got its chunks from the server joins them, and keeps them until the edge has fetched them.
  expect(found.reduce((sum, { copied }) => sum + copied, 0)).toBeLessThanOrEqual(all.length * calls);
});
