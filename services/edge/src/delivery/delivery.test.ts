/** An edge that does not run for a while. */
import { afterEach, expect, it, vi } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, ownFormats } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { Delivery } from './delivery.ts';

class SharedBus extends MemoryBus {
  override readonly isShared = true;
}

afterEach(() => {
  vi.restoreAllMocks();
});

it('an edge that was paused looks after all its streams, though signs of workers come before it notices the time', async () => {
  const clock = performance.now.bind(performance);
  let pausedMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => clock() + pausedMs);
  const bus = new SharedBus(({ what, error }) => expect.fail(`${what}: ${String(error)}`));
  const wheel = new DeadlineWheel({ tickMs: 5, onFault: (error) => expect.fail(String(error)) });
  const delivery = new Delivery({
    bus,
    wheel,
    log: createLogger({ level: 'silent', format: 'json' }),
    watcher: undefined,
  });
  const worker = newWorkerId('session');
  const sign = (): void =>
    bus.publish(subjects.presence, { worker, formats: ownFormats, isLeaving: false, reconnects: 0 });
  await delivery.start();
  sign();
  await vi.waitUntil(() => delivery.sessionWorkers.includes(worker));
  const looked = vi.spyOn(delivery.sessions, 'disturbed');
  pausedMs = 5_000;
  sign();
  await vi.waitUntil(() => looked.mock.calls.length > 0, { timeout: 3_000 });
  delivery.stop();
  expect(looked).toHaveBeenCalled();
});
