import { describe, expect, it } from 'vitest';
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
