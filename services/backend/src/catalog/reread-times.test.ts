import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { RereadTimes } from './reread-times.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp(rereadMs: number) {
  let readings = 0;
  const wheel = new DeadlineWheel({ tickMs: 50, onFault: (error) => expect.fail(String(error)) });
  const times: RereadTimes = new RereadTimes({
    wheel,
    rereadMs,
    random: () => 0.5,
    read: () => {
      readings += 1;
      times.wasRead(undefined);
    },
  });
  return { times, readings: () => readings, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

describe('lists of a server that announces nothing', () => {
  it('are read again after their time while somebody uses it, and not while nobody does', async () => {
    const { times, readings, pass } = setUp(300_000);
    times.wasRead(undefined);
    times.wanted();
    await pass(280_000);
    times.wanted();
    await pass(20_100);
    expect(readings()).toBe(1);
    await pass(3_600_000);
    expect(readings()).toBe(1);
    times.wanted();
    expect(readings()).toBe(2);
    times.wanted();
    expect(readings()).toBe(2);
  });

  it('are read again when their time to live is over, but no more than every 30 seconds', async () => {
    const { times, readings, pass } = setUp(300_000);
    times.wasRead(0);
    times.wanted();
    await pass(29_000);
    expect(readings()).toBe(0);
    await pass(1_100);
    expect(readings()).toBe(1);
  });

  it('are not, where the operator wants none of it', async () => {
    const { times, readings, pass } = setUp(0);
    times.wasRead(undefined);
    times.wanted();
    await pass(3_600_000);
    expect(readings()).toBe(0);
  });
});

describe('after a gap', () => {
  it('lists are read at once, whoever uses the server', async () => {
    const { times, readings, pass } = setUp(300_000);
    times.missed();
    times.missed();
    await pass(100);
    expect(readings()).toBe(1);
  });

  it('of a stream that breaks all the time they are read ever more seldom, and the last gap is not forgotten', async () => {
    const { times, readings, pass } = setUp(0);
    for (let second = 0; second < 600; second += 1) {
      times.missed();
      await pass(1_000);
    }
    const flapping = readings();
    expect(flapping).toBeLessThan(25);
    await pass(61_000);
    expect(readings()).toBe(flapping + 1);
    await pass(120_001);
    times.missed();
    await pass(100);
    expect(readings()).toBe(flapping + 2);
  });
});
