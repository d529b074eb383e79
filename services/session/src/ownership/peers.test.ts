/** When a session worker gives a sign of life for another one, on a bus in memory that stands for NATS. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { subjects } from '@omnibus/bus';
import { LosableBus } from '@omnibus/bus/testing';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newRequestKey, newWorkerId, ownFormats, type Presence, type WorkerId } from '@omnibus/protocol';
import { WorkerUnderTest } from '../worker-under-test.ts';
import { Peers } from './peers.ts';

class SharedBus extends LosableBus {
  override readonly isShared = true;
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

type Members = Partial<Presence>;
const current: Members = { sessions: 4, hearsYoung: true };

async function say(worker: WorkerId, members: Members): Promise<void> {
  const { reconnects } = bus;
  bus.publish(subjects.presence, { worker, formats: ownFormats, isLeaving: false, reconnects, ...members });
  await vi.advanceTimersByTimeAsync(0);
}

/** @returns how often NATS was asked for young workers, and whether that was enough to know that no other one holds the session. */
async function askedForNew(): Promise<{ readonly times: number; readonly isKnown: boolean }> {
  let isKnown = true;
  const everyone = await bus.subscribe(subjects.sessionFind, () => void (isKnown = false));
  const asked = vi.spyOn(bus, 'request');
  const found: unknown[] = [];
  void peers.findNew(newRequestKey()).then((worker) => found.push(worker));
  await vi.advanceTimersByTimeAsync(600);
  expect(found).toEqual([undefined]);
  const times = asked.mock.calls.filter(([to]) => to.name === subjects.sessionFindYoung.name).length;
  asked.mockRestore();
  everyone.close();
  return { times, isKnown };
}

const notKnown = { times: 0, isKnown: false };

it('after a short cut, NATS says twice that no worker has started meanwhile, and no worker is waited for', async () => {
  await say(there, current);
  // It was not cut off.
  expect(await askedForNew()).toEqual(notKnown);
  await say(there, current);
  bus.reconnect();
  expect(await askedForNew()).toEqual({ times: 2, isKnown: true });
  const young = await bus.subscribe(subjects.sessionFindYoung, (_question, reply) => reply({ isHeld: false }));
  expect(await askedForNew()).toEqual({ times: 1, isKnown: false });
  young.close();
  // The cut began more than two seconds ago.
  await vi.advanceTimersByTimeAsync(900);
  await say(there, current);
  expect(await askedForNew()).toEqual(notKnown);
});

it('a young worker that NATS knows of at the second question alone is found', async () => {
  await say(there, current);
  bus.reconnect();
  const asked = askedForNew();
  await vi.advanceTimersByTimeAsync(20);
  await bus.subscribe(subjects.sessionFindYoung, (_question, reply) => reply({ isHeld: false }));
  expect(await asked).toEqual({ times: 2, isKnown: false });
});

it.each([
  [
    'is of 0.3.0, which counts its sessions in its signs',
    { sessions: 4, formats: { ...ownFormats, version: '0.3.0' } },
  ],
  ['speaks another format', { ...current, formats: { version: '9.0.0', says: 9, reads: [9, 9] } }],
] as const)('while a worker may be there that %s, new ones of its version are waited for', async (_why, members) => {
  await say(there, current);
  await say(newWorkerId('session'), members);
  bus.reconnect();
  expect(await askedForNew()).toEqual(notKnown);
});

it('after a cut that no other worker bounds by its signs, new ones are waited for', async () => {
  await say(here, current);
  bus.reconnect();
  expect(await askedForNew()).toEqual(notKnown);
  await say(there, current);
  // It hears itself and a third worker across the one NATS node that it reaches.
  await vi.advanceTimersByTimeAsync(1_900);
  await say(here, current);
  await say(newWorkerId('session'), current);
  bus.reconnect();
  await vi.advanceTimersByTimeAsync(200);
  await say(there, current);
  expect(await askedForNew()).toEqual(notKnown);
});

it('a worker that starts gives no sign of life for another one before it takes sessions', async () => {
  vi.useRealTimers();
  const order: string[] = [];
  const worker = await WorkerUnderTest.start(['bank'], {}, undefined, (onFault) => {
    const shared = new SharedBus(onFault);
    const [subscribe, publish] = [shared.subscribe.bind(shared), shared.publish.bind(shared)];
    vi.spyOn(shared, 'publish').mockImplementation((to, payload) => {
      if (to.name === subjects.presence.name && (payload as Presence).worker !== there) {
        order.push('sign');
        expect(payload).toMatchObject({ hearsYoung: true });
      }
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
