import { expect, it } from 'vitest';
import { DeadlineWheel } from './deadline.ts';
import { Drain } from './drain.ts';

/** Things that are open, and a clock the test turns. */
function drained() {
  const clock = { now: 0 };
  const wheel = new DeadlineWheel({ tickMs: 1, now: () => clock.now, onFault: (error) => expect.fail(String(error)) });
  const drain = new Drain(wheel);
  const open = new Set<string>();
  let isOver = false;
  return {
    open,
    end(name: string): void {
      open.delete(name);
      drain.ended();
    },
    wait: (limitMs: number): void => void drain.until(() => open.size === 0, limitMs).then(() => (isOver = true)),
    pass(ms: number): void {
      clock.now += ms;
      wheel.tick();
    },
    async isOver(): Promise<boolean> {
      await new Promise(setImmediate);
      return isOver;
    },
  };
}

it('resolves at once when nothing is open, and else with the last end', async () => {
  const nothing = drained();
  nothing.wait(1_000);
  expect(await nothing.isOver()).toBe(true);
  const two = drained();
  two.open.add('one').add('other');
  two.wait(1_000);
  two.end('one');
  expect(await two.isOver()).toBe(false);
  two.end('other');
  expect(await two.isOver()).toBe(true);
});

it('goes on waiting when what ends begins something else in the same breath', async () => {
  const chain = drained();
  chain.open.add('first');
  chain.wait(1_000);
  chain.end('first');
  chain.open.add('second');
  expect(await chain.isOver()).toBe(false);
  chain.end('second');
  expect(await chain.isOver()).toBe(true);
});

it('resolves when the time is over, whatever is open, and not before', async () => {
  const stuck = drained();
  stuck.open.add('stuck');
  stuck.wait(1_000);
  stuck.pass(990);
  expect(await stuck.isOver()).toBe(false);
  stuck.pass(20);
  expect(await stuck.isOver()).toBe(true);
});
