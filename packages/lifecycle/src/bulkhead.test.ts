import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { Bulkhead, type Place } from './bulkhead.ts';

function setUp(concurrency: number, maxWaiting: number) {
  const bulkhead = new Bulkhead({ concurrency, maxWaiting });
  /** In the order of their start. */
  const started: { readonly name: string; readonly place: Place }[] = [];
  const enter = (owner: string, name = owner): Place | undefined =>
    bulkhead.enter(owner, (place) => started.push({ name, place }));
  const names = (): string[] => started.map(({ name }) => name);
  return { bulkhead, started, enter, names };
}

describe('the bulkhead', () => {
  it('runs up to its concurrency, lets some wait and refuses the rest', () => {
    const { bulkhead, started, enter, names } = setUp(2, 1);
    expect(['a', 'b', 'c', 'd'].map((name) => enter('one', name) !== undefined)).toEqual([true, true, true, false]);
    expect(names()).toEqual(['a', 'b']);
    started[0]?.place.leave();
    expect(names()).toEqual(['a', 'b', 'c']);
    expect(bulkhead.waiting).toBe(0);
  });

  it('keeps room for a third owner, to run and to wait, whatever two others have in flight', () => {
    const { bulkhead, enter, names } = setUp(128, 1_000);
    for (let count = 0; count < 1_130; count += 1) enter(count % 2 === 0 ? 'one' : 'two');
    expect(bulkhead.waiting).toBeGreaterThan(800);
    expect(enter('three')).toBeDefined();
    expect(names()).toContain('three');
  });

  it('gives one owner alone everything where there is little', () => {
    const { enter, names } = setUp(8, 0);
    for (let count = 0; count < 9; count += 1) enter('one');
    expect(names()).toHaveLength(8);
  });

  it('gives places by turns to the owners that wait, not by the order in which they came', () => {
    const { started, enter, names } = setUp(1, 100);
    enter('first');
    for (let count = 0; count < 20; count += 1) enter('greedy', `greedy ${count}`);
    enter('modest', 'modest 0');
    enter('modest', 'modest 1');
    for (let index = 0; index < 5; index += 1) started[index]?.place.leave();
    expect(names()).toEqual(['first', 'greedy 0', 'modest 0', 'greedy 1', 'modest 1', 'greedy 2']);
  });

  it('has room again at once for each waiter that was cancelled', () => {
    const { bulkhead, started, enter, names } = setUp(1, 2);
    enter('one', 'runs');
    const [second, third] = [enter('one', 'second'), enter('one', 'third')];
    expect(enter('one', 'refused')).toBeUndefined();
    second?.leave();
    third?.leave();
    second?.leave();
    expect(bulkhead.waiting).toBe(0);
    expect(enter('one', 'late')).toBeDefined();
    started[0]?.place.leave();
    expect(names()).toEqual(['runs', 'late']);
    expect(bulkhead.running).toBe(1);
  });

  it('starts everything that waits when tasks end as soon as they have started', () => {
    const bulkhead = new Bulkhead({ concurrency: 1, maxWaiting: 4_000 });
    const first = bulkhead.enter('one', () => undefined);
    let ended = 0;
    for (let count = 0; count < 2_000; count += 1) {
      bulkhead.enter(`owner ${count % 10}`, (place) => {
        ended += 1;
        place.leave();
      });
    }
    first?.leave();
    expect([ended, bulkhead.running, bulkhead.waiting]).toEqual([2_000, 0, 0]);
  });

  it('never runs or keeps more than it may, forgets nobody, and is empty when all have left', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('enter' as const), owner: fc.integer({ min: 0, max: 3 }) }),
      fc.record({ kind: fc.constant('leave' as const), owner: fc.integer({ min: 0, max: 50 }) }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 0, max: 12 }),
        fc.array(step, { maxLength: 120 }),
        (concurrency, maxWaiting, steps) => {
          const { bulkhead, enter } = setUp(concurrency, maxWaiting);
          const places: Place[] = [];
          for (const { kind, owner } of steps) {
            if (kind === 'leave') {
              places.splice(owner % Math.max(places.length, 1), 1)[0]?.leave();
            } else {
              const place = enter(String(owner));
              if (place !== undefined) places.push(place);
            }
            expect(bulkhead.running).toBeLessThanOrEqual(concurrency);
            expect(bulkhead.waiting).toBeLessThanOrEqual(maxWaiting);
            expect(bulkhead.running + bulkhead.waiting).toBe(places.length);
            if (bulkhead.waiting > 0) expect(bulkhead.running).toBeGreaterThan(0);
          }
          for (const place of places.splice(0)) place.leave();
          expect([bulkhead.running, bulkhead.waiting]).toEqual([0, 0]);
        },
      ),
    );
  });
});
