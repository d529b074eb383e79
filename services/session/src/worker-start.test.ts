/** The order in which a session worker starts, on a bus in memory that stands for NATS. */
import { expect, it, vi } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { WorkerUnderTest } from './worker-under-test.ts';

class SharedBus extends MemoryBus {
  override readonly isShared = true;
}

it('a worker watches the backend workers before it takes requests, so that the first call waits for one that gave no sign yet', async () => {
  const order: string[] = [];
  const worker = await WorkerUnderTest.start(['bank'], {}, undefined, (onFault) => {
    const bus = new SharedBus(onFault);
    const subscribe = bus.subscribe.bind(bus);
    vi.spyOn(bus, 'subscribe').mockImplementation((to, handler, options) => {
      order.push(to.name);
      return subscribe(to, handler, options);
    });
    return bus;
  });
  await worker.stop();
  const [signs, calls, sessions] = [
    subjects.backendPresence,
    subjects.modern(undefined),
    subjects.sessionOpen(undefined),
  ];
  const wanted = [signs.name, calls.name, sessions.name];
  expect(order.filter((name) => wanted.includes(name))).toEqual(wanted);
  expect(worker.faults).toEqual([]);
});
