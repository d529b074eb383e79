import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadlineWheel } from './deadline.ts';

function wheelAt(start: number) {
  const clock = { now: start };
  const wheel = new DeadlineWheel({
    tickMs: 10,
    now: () => clock.now,
    onFault: (error) => {
      throw error;
    },
  });
  return {
    wheel,
    advance: (ms: number) => {
      for (const end = clock.now + ms; clock.now < end;) {
        clock.now += 1;
        wheel.tick();
      }
    },
  };
}

describe('the deadline wheel', () => {
  it('runs a deadline once, not before its time and within a tick', () => {
    const { wheel, advance } = wheelAt(3);
    let runs = 0;
    wheel.schedule(25, () => {
      runs += 1;
    });
    advance(24);
    expect(runs).toBe(0);
    advance(11);
    expect(runs).toBe(1);
    advance(100);
    expect(runs).toBe(1);
  });

  it('moves an extended deadline on', () => {
    const { wheel, advance } = wheelAt(0);
    let runs = 0;
    const deadline = wheel.schedule(20, () => {
      runs += 1;
    });
    advance(15);
    deadline.extend(30);
    advance(25);
    expect(runs).toBe(0);
    advance(20);
    expect(runs).toBe(1);
  });

  it('never runs a cancelled deadline', () => {
    const { wheel, advance } = wheelAt(0);
    let runs = 0;
    wheel
      .schedule(20, () => {
        runs += 1;
      })
      .cancel();
    wheel.schedule(20, () => undefined);
    advance(100);
    expect(runs).toBe(0);
  });

  it('catches up after the event loop was held', () => {
    const clock = { now: 0 };
    const wheel = new DeadlineWheel({ tickMs: 10, now: () => clock.now, onFault: () => undefined });
    const ran: number[] = [];
    for (const delay of [5, 50, 500]) wheel.schedule(delay, () => ran.push(delay));
    clock.now = 400;
    wheel.tick();
    expect(ran).toEqual([5, 50]);
  });
});

describe('the timer of the wheel', () => {
  beforeEach(
    () =>
      void vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] }),
  );
  afterEach(() => void vi.useRealTimers());

  /** A wheel that counts how often its timer fires. */
  function counted() {
    const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
    const tick = vi.spyOn(wheel, 'tick');
    return { wheel, wakes: () => tick.mock.calls.length };
  }

  it('fires four times a second while the next deadline is far away, so that an idle process sleeps', () => {
    const { wheel, wakes } = counted();
    let runs = 0;
    wheel.schedule(60_000, () => (runs += 1));
    vi.advanceTimersByTime(60_050);
    expect(runs).toBe(1);
    expect(wakes()).toBeLessThanOrEqual(4 * 60 + 1);
  });

  it('fires at each deadline, whenever it was made, and within a tick', () => {
    const { wheel } = counted();
    const late: number[] = [];
    const schedule = (delayMs: number, then?: () => void): void => {
      const dueAt = performance.now() + delayMs;
      wheel.schedule(delayMs, () => {
        late.push(performance.now() - dueAt);
        then?.();
      });
    };
    schedule(10_000);
    vi.advanceTimersByTime(20);
    schedule(60, () => schedule(10));
    schedule(120);
    vi.advanceTimersByTime(9_000);
    schedule(1);
    vi.advanceTimersByTime(2_000);
    expect(late.filter((ms) => ms < 0 || ms > 51)).toEqual([]);
    expect(late).toHaveLength(5);
  });

  it('is never asked for a negative time, which Node warns of, if callbacks take longer than the next deadline', () => {
    const clock = { now: 0 };
    const wheel = new DeadlineWheel({
      tickMs: 10,
      now: () => clock.now,
      onFault: (error) => expect.fail(String(error)),
    });
    const { setTimeout } = globalThis;
    const asked: unknown[] = [];
    globalThis.setTimeout = ((callback: () => void, delayMs: number) => {
      asked.push(delayMs);
      return setTimeout(callback, delayMs);
    }) as typeof setTimeout;
    let runs = 0;
    wheel.schedule(20, () => (clock.now += 100));
    wheel.schedule(40, () => (runs += 1));
    clock.now = 20;
    wheel.tick();
    globalThis.setTimeout = setTimeout;
    expect(asked).toEqual([20, 1]);
    vi.advanceTimersByTime(1);
    expect(runs).toBe(1);
  });

  it('stops with the last deadline', () => {
    const { wheel } = counted();
    wheel.schedule(1_000, () => undefined);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1_050);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('runs what is due when its clock was set to another month, and counts no ticks between; set back, it looks at the clock within 250 ms', () => {
    const monthMs = 30 * 86_400_000;
    const clock = { now: 0 };
    const wheel = new DeadlineWheel({
      tickMs: 1,
      now: () => clock.now,
      onFault: (error) => expect.fail(String(error)),
    });
    const runs: string[] = [];
    wheel.schedule(2_000, () => runs.push('second'));
    wheel.schedule(1_000, () => {
      runs.push('first');
      wheel.schedule(0, () => runs.push('third'));
    });
    wheel.schedule(monthMs * 3, () => runs.push('later'));
    clock.now = monthMs;
    // A wheel that counts each tick of a month does not come to an end here.
    wheel.tick();
    expect(runs.toSorted()).toEqual(['first', 'second', 'third']);
    clock.now = 0;
    wheel.tick();
    const ticks = vi.spyOn(wheel, 'tick');
    vi.advanceTimersByTime(250);
    expect(ticks).toHaveBeenCalled();
    clock.now = monthMs * 4;
    wheel.tick();
    expect(runs).toContain('later');
  });
});
