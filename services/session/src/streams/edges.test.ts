/** Edges and the streams that they read, with a clock of the test. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, ownFormats, presenceMs, type WorkerId } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { Edges } from './edges.ts';

class SharedBus extends MemoryBus {
  override readonly isShared = true;
}

const count = 100;
const edge = newWorkerId('edge');
let bus: SharedBus;
let edges: Edges;
/** How often a stream was looked at. */
let looks: number;
let detached: number;
let beat: NodeJS.Timeout;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  looks = 0;
  detached = 0;
  bus = new SharedBus(({ what }) => expect.fail(what));
  const streams = {
    detachFrom: (isGone: (each: WorkerId) => boolean) => {
      looks += 1;
      return isGone(edge) ? 1 : 0;
    },
    readers: () => undefined,
    detachReaders: () => 0,
  };
  edges = new Edges({
    bus,
    wheel: new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }),
    sessions: () => Array.from({ length: count }, () => ({ streams })),
    onDetach: (gone) => void (detached += gone),
  });
  await edges.start();
  // Another edge stays, so that signs still arrive.
  const others = newWorkerId('edge');
  const sign = (worker: WorkerId, isLeaving = false): void =>
    bus.publish(subjects.edgePresence, { worker, formats: ownFormats, isLeaving, reconnects: 0 });
  setInterval(() => sign(others), presenceMs);
  beat = setInterval(() => sign(edge), presenceMs);
});

afterEach(() => {
  edges.stop();
  vi.useRealTimers();
});

it('while edges give signs of life, an idle stream is looked at six times a minute', async () => {
  await vi.advanceTimersByTimeAsync(20_000);
  looks = 0;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(looks).toBeLessThanOrEqual(6 * count);
  expect(detached).toBe(0);
});

it('streams at an edge that gives no signs of life any more are let go within seconds', async () => {
  await vi.advanceTimersByTimeAsync(20_000);
  clearInterval(beat);
  await vi.advanceTimersByTimeAsync(8 * presenceMs + 2_000);
  expect(detached).toBeGreaterThanOrEqual(count);
});
