/** How long a session worker answers questions for young ones, on a bus in memory that stands for NATS. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newRequestKey } from '@omnibus/protocol';
import { answerWhileYoung, youngMs } from './young.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a worker is young until its signs have come back for three seconds over one connection, however late that begins', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  /** When a sign came back over the present connection. */
  let heardAt: number | undefined;
  const heart = {
    get heardForMs(): number {
      return heardAt === undefined ? 0 : performance.now() - heardAt;
    },
  };
  await answerWhileYoung({ bus, wheel, heart, answer: (_question, reply) => reply({ isHeld: false }) });
  const isYoung = async (): Promise<boolean> => {
    const answered: boolean[] = [];
    bus.request(
      subjects.sessionFindYoung,
      { key: newRequestKey() },
      { reply: () => answered.push(true), failed: () => answered.push(false) },
    );
    await vi.advanceTimersByTimeAsync(0);
    expect(answered.length).toBe(1);
    return answered[0] === true;
  };
  await vi.advanceTimersByTimeAsync(3 * youngMs);
  expect(await isYoung()).toBe(true);
  heardAt = performance.now();
  await vi.advanceTimersByTimeAsync(youngMs - 200);
  // The connection breaks, and another one is made.
  heardAt = undefined;
  await vi.advanceTimersByTimeAsync(2 * youngMs);
  heardAt = performance.now();
  await vi.advanceTimersByTimeAsync(youngMs - 200);
  expect(await isYoung()).toBe(true);
  await vi.advanceTimersByTimeAsync(youngMs);
  expect(await isYoung()).toBe(false);
});
