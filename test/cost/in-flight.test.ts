/** A call costs about the same work when many others wait for the same server. The work is counted, not timed. */
import { expect, it } from 'vitest';
import { startUpstream } from '../bench/subjects.ts';
import { RawClient } from '../support/raw-client.ts';
import { countedOf, startCounting } from './counted.ts';
import { eras, ManyCalls } from './many-calls.ts';

const countedCalls = 4_096;
/** Before the bulkhead stopped to ask each waiting caller while it had no place, a call of 2026-07-28 took 5 to 7 times the steps. */
const most = 2;

it.each(eras)(
  `with 1,024 calls in flight a call of %s takes at most ${most} times the steps that it takes with 32`,
  async (era) => {
    await using upstream = await startUpstream(1);
    await using gateway = await startCounting({
      mcpServers: { up: { url: `${upstream.url}/0` } },
      limits: { maxInFlightPerSession: 2_000 },
    });
    using probe = await RawClient.open(gateway.url);
    await probe.untilTools((names) => names.includes('tool-0'));
    const stepsWith = async (inFlight: number): Promise<number> => {
      await using calls = await ManyCalls.open(gateway.url, era, inFlight);
      await calls.run(1_024);
      await countedOf(gateway.edge);
      await calls.run(countedCalls);
      // V8 does not count initializers of members once it has compiled them into their callers.
      const counted = (await countedOf(gateway.edge)).filter(({ name }) => !name.startsWith('<'));
      return counted.reduce((sum, { steps }) => sum + steps, 0) / countedCalls;
    };
    const [few, many] = [await stepsWith(32), await stepsWith(1_024)];
    process.stdout.write(
      `\n${era}: ${few.toFixed(0)} steps a call with 32 calls in flight, ${many.toFixed(0)} with 1,024\n`,
    );
    expect(few).toBeGreaterThan(100);
    expect(many).toBeLessThanOrEqual(most * few);
  },
);
