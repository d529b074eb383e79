/**
 * A call that a script makes (`run_code`) costs the gateway less work than a call of a client: it starts where calls of clients start, after the edge. Counted
 * on the main thread, so nothing depends on the load of the machine; `services/session/src/features/code/sandbox.test.ts` counts the messages of the script's thread.
 * `npm run bench -- scripts` measures the time of both.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startUpstream, type Measured } from '../bench/subjects.ts';
import type { GatewayUnderTest } from '../support/gateway.ts';
import { RawClient } from '../support/raw-client.ts';
import { countedOf, startCounting } from './counted.ts';

const calls = 150;

let upstream: Measured;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startUpstream(1);
  gateway = await startCounting({
    mcpServers: { up: { url: `${upstream.url}/0` } },
    listing: 'code',
    profiles: { all: { listing: 'full' } },
  });
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

/** The blocks of functions that run in the gateway during an act. */
async function stepsOf(act: () => Promise<void>): Promise<number> {
  await countedOf(gateway.edge);
  await act();
  return (await countedOf(gateway.edge)).reduce((sum, { steps }) => sum + steps, 0);
}

it('an inner call runs less than 0.95 times the blocks of an outer one', async () => {
  using outer = await RawClient.open(`${gateway.url}/all`);
  await outer.untilTools((names) => names.includes('tool-0'));
  using inner = await RawClient.open(gateway.url);
  const call = async (): Promise<void> => {
    const { last } = await outer.callTool('tool-0', { text: 'hello' });
    expect(last.result).toMatchObject({ content: [{ text: 'hello' }] });
  };
  const script = async (count: number): Promise<void> => {
    const code = `for (let at = 0; at < ${count}; at += 1) await servers.up.tool_0({ text: 'hello' }); return ${count};`;
    const { last } = await inner.callTool('run_code', { code });
    expect(last.result).toMatchObject({ content: [{ text: String(count) }] });
  };
  await call();
  await script(1);
  const start = await stepsOf(() => script(0));
  const [made, wanted] = [
    ((await stepsOf(() => script(calls))) - start) / calls,
    (await stepsOf(async () => {
      for (let count = 0; count < calls; count += 1) await call();
    })) / calls,
  ];
  process.stdout.write(`\nan inner call ${made.toFixed(0)} blocks, an outer call ${wanted.toFixed(0)}\n`);
  expect(made).toBeGreaterThan(100);
  expect(made).toBeLessThan(0.95 * wanted);
});
