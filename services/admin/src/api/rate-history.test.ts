import { expect, it } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { durationBuckets } from '@omnibus/telemetry';
import type { Assembly } from './assembly.ts';
import { historyOf, RateHistory } from './rate-history.ts';

const start = Date.parse('2026-11-22T08:00:00Z');

/** A process with counters of a test. */
function processUnderTest() {
  let now = start;
  const counts = new Map<string, { calls: number; failed: number; seconds: number; buckets: number[] }>();
  const wheel = new DeadlineWheel({
    onFault: (error) => {
      throw error as Error;
    },
  });
  const history = new RateHistory(
    () => Promise.resolve([...counts].map(([server, each]) => ({ server, ...each, buckets: [...each.buckets] }))),
    wheel,
    (error) => {
      throw error as Error;
    },
    () => now,
  );
  history.stop();
  return {
    history,
    call(server: string, seconds: number, isFailed = false): void {
      const each = counts.get(server) ?? { calls: 0, failed: 0, seconds: 0, buckets: durationBuckets.map(() => 0) };
      counts.set(server, {
        calls: each.calls + 1,
        failed: each.failed + (isFailed ? 1 : 0),
        seconds: each.seconds + seconds,
        buckets: each.buckets.map((count, index) => count + (seconds <= (durationBuckets[index] as number) ? 1 : 0)),
      });
    },
    forget: (server: string) => counts.delete(server),
    async step(): Promise<void> {
      now += 10_000;
      await history.step();
    },
  };
}

const ask = (processes: readonly ReturnType<typeof processUnderTest>[], server?: string) =>
  historyOf(
    {
      ask: (_about: string, _args: object, shape: { parse(body: unknown): unknown }) =>
        Promise.resolve({
          said: processes.map(({ history }, index) => ({
            process: `backend-${index}`,
            role: 'backend',
            body: shape.parse(history.since(server ?? '')),
          })),
          missing: [],
        }),
    } as unknown as Assembly,
    server,
  );

it('what processes counted in the same ten seconds is one point, with percentiles of all calls together', async () => {
  const [one, other] = [processUnderTest(), processUnderTest()];
  for (let call = 0; call < 9; call += 1) one.call('shop', 0.002);
  other.call('shop', 4, true);
  other.call('mail', 0.02);
  for (const each of [one, other]) await each.step();
  for (const each of [one, other]) await each.step();
  const { points, everyMs } = await ask([one, other], 'shop');
  expect(everyMs).toBe(10_000);
  expect(points).toMatchObject([
    { at: '2026-11-22T08:00:00.000Z', calls: 10, failed: 1 },
    { at: '2026-11-22T08:00:10.000Z', calls: 0, failed: 0 },
  ]);
  expect(points[0]?.p50).toBeLessThan(3);
  expect(points[0]?.p95).toBeGreaterThan(2_500);
  expect(points[1]).not.toHaveProperty('p50');
  expect((await ask([one, other])).points[0]).toMatchObject({ calls: 11, failed: 1 });
});

it('a counter that begins anew is no negative rate, and only the last half hour is kept', async () => {
  const process = processUnderTest();
  for (let call = 0; call < 5; call += 1) process.call('shop', 0.01);
  await process.step();
  process.forget('shop');
  process.call('shop', 0.01);
  await process.step();
  expect((await ask([process], 'shop')).points.map(({ calls }) => calls)).toEqual([5, 1]);
  for (let step = 0; step < 200; step += 1) await process.step();
  const { points } = await ask([process], 'shop');
  expect({ length: points.length, calls: points.reduce((sum, { calls }) => sum + calls, 0) }).toEqual({
    length: 180,
    calls: 0,
  });
});

it('before the first ten seconds are over there is no point', async () => {
  expect(await ask([processUnderTest()])).toMatchObject({ points: [] });
});

it('a step that ends a moment early on the clock of the machine does not end a second time at its moment', async () => {
  const waits: { readonly delayMs: number; end(): void }[] = [];
  const wheel = { schedule: (delayMs: number, end: () => void) => waits.push({ delayMs, end }) };
  let now = start + 3;
  const history = new RateHistory(
    () => Promise.resolve([]),
    wheel as unknown as DeadlineWheel,
    (error) => {
      throw error as Error;
    },
    () => now,
  );
  expect(waits.map(({ delayMs }) => delayMs)).toEqual([9_997]);
  now = start + 9_999;
  waits[0]?.end();
  await Promise.resolve();
  expect(waits.map(({ delayMs }) => delayMs)).toEqual([9_997, 10_001]);
  expect(history.since('')).toMatchObject({ first: start / 10_000, last: start / 10_000 });
});
