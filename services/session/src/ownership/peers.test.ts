/** When a session worker gives a sign of life for another one, on a bus in memory that stands for NATS. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus, subjects, type Watch } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newRequestKey, newWorkerId, ownFormats, type WorkerId } from '@omnibus/protocol';
import { WorkerUnderTest } from '../worker-under-test.ts';
import { Peers } from './peers.ts';

class SharedBus extends MemoryBus {
  override readonly isShared = true;
  override reconnects = 0;
  readonly #after = new Set<() => void>();

  override afterReconnect(run: () => void): Watch {
    this.#after.add(run);
    return { close: () => void this.#after.delete(run) };
  }

  reconnect(): void {
    this.reconnects += 1;
    for (const run of this.#after) run();
  }
}

const [here, there] = [newWorkerId('session'), newWorkerId('session')];
let bus: SharedBus;
let peers: Peers;
let answers: number;

beforeEach(async () => {
  vi.useFakeTimers();
  answers = 0;
  bus = new SharedBus(({ what }) => expect.fail(what));
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  peers = new Peers({ bus, wheel, worker: here, answer: () => void (answers += 1) });
  await peers.start();
});

afterEach(() => {
  peers.stop();
  vi.useRealTimers();
});

async function sign(worker: WorkerId, reconnects = 0, on = bus): Promise<void> {
  on.publish(subjects.presence, { worker, formats: ownFormats, isLeaving: false, reconnects });
  await vi.advanceTimersByTimeAsync(0);
}

it('another worker that starts or is connected to NATS again gets an answer, and its next sign gets none', async () => {
  const counts: number[] = [];
  for (const reconnects of [0, 0, 1, 1]) {
    await sign(there, reconnects);
    counts.push(answers);
  }
  expect(counts).toEqual([1, 1, 2, 2]);
});

it('a worker does not answer its own signs', async () => {
  await sign(here, 0);
  await sign(here, 1);
  expect(answers).toBe(0);
});

it('a worker that gave no sign so far is found by a question to all, which lasts for 300 ms and leaves out the asker', async () => {
  const [key, elsewhere] = [newRequestKey(), newRequestKey()];
  // This worker holds both, and the other one a session that it took over.
  await bus.subscribe(subjects.sessionFind, (_question, reply) => reply({ worker: here }));
  await bus.subscribe(subjects.sessionFind, (asked, reply) => {
    if (asked.key === elsewhere) reply({ worker: there });
  });
  const found: unknown[] = [];
  void peers.find(elsewhere).then((worker) => found.push(worker));
  await vi.advanceTimersByTimeAsync(0);
  expect(found).toEqual([there]);
  void peers.find(key).then((worker) => found.push(worker));
  await vi.advanceTimersByTimeAsync(250);
  expect(found).toEqual([there]);
  await vi.advanceTimersByTimeAsync(150);
  expect(found).toEqual([there, undefined]);
});

it('after a short cut, NATS says at once that no worker has started meanwhile, if all known ones are of a version that would have it said', async () => {
  const say = async (worker: WorkerId, sessions?: number): Promise<void> => {
    const counted = sessions === undefined ? {} : { sessions };
    bus.publish(subjects.presence, {
      worker,
      formats: ownFormats,
      isLeaving: false,
      reconnects: bus.reconnects,
      ...counted,
    });
    await vi.advanceTimersByTimeAsync(0);
  };
  const key = newRequestKey();
  /** @returns whether it is known at once that no other worker holds the session. */
  const isKnown = async (): Promise<boolean> => {
    const found: unknown[] = [];
    void peers.findNew(key).then((worker) => found.push(worker));
    await vi.advanceTimersByTimeAsync(0);
    const atOnce = found.length;
    await vi.advanceTimersByTimeAsync(400);
    expect(found).toEqual([undefined]);
    return atOnce === 1;
  };
  await bus.subscribe(subjects.sessionFind, (_question, reply) => reply({ worker: here }));
  await say(there, 4);
  // It was not cut off.
  expect(await isKnown()).toBe(false);
  await say(there, 4);
  bus.reconnect();
  expect(await isKnown()).toBe(true);
  const young = await bus.subscribe(subjects.sessionFindYoung, (_question, reply) => reply({ isHeld: false }));
  expect(await isKnown()).toBe(false);
  young.close();
  await say(there);
  expect(await isKnown()).toBe(false);
  await say(there, 4);
  expect(await isKnown()).toBe(true);
  await vi.advanceTimersByTimeAsync(1_000);
  await say(there, 4);
  expect(await isKnown()).toBe(false);
});

it('a worker that starts gives no sign of life for another one before it takes sessions', async () => {
  vi.useRealTimers();
  const order: string[] = [];
  const worker = await WorkerUnderTest.start(['bank'], {}, undefined, (onFault) => {
    const shared = new SharedBus(onFault);
    const [subscribe, publish] = [shared.subscribe.bind(shared), shared.publish.bind(shared)];
    vi.spyOn(shared, 'publish').mockImplementation((to, payload) => {
      if (to.name === subjects.presence.name && (payload as { worker: WorkerId }).worker !== there) order.push('sign');
      publish(to, payload);
    });
    vi.spyOn(shared, 'subscribe').mockImplementation(async (to, handler, options) => {
      // Another session worker gives a sign of life as soon as this one can hear it.
      const subscribed = await subscribe(to, handler, options);
      if (to.name === subjects.presence.name)
        shared.publish(subjects.presence, { worker: there, formats: ownFormats, isLeaving: false, reconnects: 0 });
      if (to.name === subjects.backendPresence.name) order.push('watch');
      if (to.name === subjects.sessionFindYoung.name) order.push('answers as a young worker');
      return subscribed;
    });
    return shared;
  });
  await worker.stop();
  expect(order.slice(0, order.indexOf('sign')).toSorted()).toEqual(['answers as a young worker', 'watch']);
});
