/** Questions for sessions without a record, on a bus in memory with workers that are there, leave, or vanish. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BusError, MemoryBus, sessionsBucket, subjects, type KeyValue } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  newSessionId,
  newWorkerId,
  ownFormats,
  presenceMs,
  rootEndpoint,
  sessionKey,
  type SessionRecord,
  type WorkerId,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Adoption } from './adoption.ts';
import { Peers } from './peers.ts';
import { SessionRecords } from './records.ts';
import type { Sessions } from './sessions.ts';

class SharedBus extends MemoryBus {
  override readonly isShared = true;
}

/** Holds no session, and answers so. */
const [here, there, vanishing] = [newWorkerId('session'), newWorkerId('session'), newWorkerId('session')];
const key = sessionKey(newSessionId());

let bus: SharedBus;
let store: KeyValue<SessionRecord>;
let peers: Peers;
let adoption: Adoption;
/** The other worker that holds it; undefined if none does. */
let holder: WorkerId | undefined;
/** Number of sessions that were taken over. */
let restored: number;

const record = (worker: WorkerId): SessionRecord => ({
  caller: { principal: anonymous, endpoint: rootEndpoint },
  revision: '2025-11-25',
  capabilities: {},
  offered: [],
  isReady: true,
  worker,
  touched: [],
  subscriptions: [],
});

beforeEach(async () => {
  vi.useFakeTimers();
  bus = new SharedBus(({ what }) => expect.fail(what));
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  const log = createLogger({ level: 'silent', format: 'json' });
  store = await bus.keyValue(sessionsBucket);
  const records = new SessionRecords({
    records: store,
    worker: here,
    wheel,
    log,
    maxAgeMs: undefined,
    taken: () => undefined,
  });
  peers = new Peers({ bus, wheel, worker: here, answer: () => undefined });
  await peers.start();
  holder = undefined;
  for (const worker of [there, vanishing])
    await bus.subscribe(subjects.sessionFindAt(worker), (_session, reply) => reply({ isHeld: worker === holder }));
  restored = 0;
  const sessions = {
    find: () => undefined,
    hold: () => ({ restore: () => void (restored += 1) }),
    held: { weigh: () => undefined },
  } as unknown as Sessions;
  adoption = new Adoption({
    bus,
    wheel,
    log,
    metrics: new Metrics({ processMetrics: false }),
    worker: here,
    records,
    peers,
    sessions,
    hasRoom: () => true,
  });
  await pass(10_000, here, there, vanishing);
});

afterEach(() => {
  peers.stop();
  vi.useRealTimers();
});

/** Lets time pass in which these workers give their signs of life. */
async function pass(ms: number, ...workers: readonly WorkerId[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += presenceMs) {
    for (const worker of workers)
      bus.publish(subjects.presence, { worker, formats: ownFormats, isLeaving: false, reconnects: 0 });
    await vi.advanceTimersByTimeAsync(presenceMs);
  }
}

async function outcome(lost?: WorkerId, of = key): Promise<string> {
  const asked = adoption.adopt({ key: of, lost });
  await vi.advanceTimersByTimeAsync(0);
  return (await asked).outcome;
}

it('where all workers say that they do not hold it, it is unknown', async () => {
  expect([await outcome(), await outcome(vanishing)]).toEqual(['unknown', 'unknown']);
});

it('where a worker has vanished, that one may hold it until it is given up: nobody is told that it is unknown', async () => {
  await pass(10_000, here, there);
  expect(peers.workers.state(vanishing)).toBe('lost');
  expect([await outcome(), await outcome(vanishing)]).toEqual(['busy', 'busy']);
  // A request that names a live earlier owner without the session fails.
  expect(await outcome(there)).toBe('unknown');
  await pass(60_000, here, there);
  expect([await outcome(), await outcome(vanishing)]).toEqual(['unknown', 'unknown']);
});

it('one that has ended is unknown at once, whoever has vanished', async () => {
  await store.create(key, record(there));
  await store.delete(key);
  await pass(10_000, here, there);
  expect([await outcome(), await outcome(vanishing)]).toEqual(['unknown', 'unknown']);
});

it.each([undefined, there])(
  'one that another worker holds is found there while the store elects a leader, though the edge that asks says that %s has lost it',
  async (lost) => {
    vi.spyOn(store, 'get').mockReturnValue(new Promise(() => undefined));
    holder = there;
    const answers: unknown[] = [];
    void adoption.adopt({ key, lost }).then((answer) => answers.push(answer));
    await vi.advanceTimersByTimeAsync(500);
    expect(answers).toEqual([{ outcome: 'held', worker: there }]);
  },
);

it('one is taken over when the store answers late, if no other worker holds it', async () => {
  await store.create(key, record(vanishing));
  const read = await store.get(key);
  const late = Promise.withResolvers<typeof read>();
  vi.spyOn(store, 'get').mockReturnValueOnce(late.promise);
  const asked = adoption.adopt({ key, lost: vanishing });
  await vi.advanceTimersByTimeAsync(500);
  late.resolve(read);
  expect(await asked).toEqual({ outcome: 'held', worker: here });
});

/** The answers to takeovers of a session. */
async function takenOver(lost: WorkerId): Promise<unknown[]> {
  const answers: unknown[] = [];
  void adoption.adopt({ key, lost }).then((answer) => answers.push(answer));
  await vi.advanceTimersByTimeAsync(500);
  return answers;
}

it.each(['before', 'after'])(
  'one is taken over soon and once, though the store loses the first request for that %s it is done',
  async (when) => {
    await store.create(key, record(vanishing));
    const update = store.update.bind(store);
    vi.spyOn(store, 'update').mockImplementationOnce(async (...written) => {
      if (when === 'after') await update(...written);
      return new Promise(() => undefined);
    });
    expect(await takenOver(vanishing)).toEqual([{ outcome: 'held', worker: here }]);
    expect([(await store.get(key))?.value.worker, restored]).toEqual([here, 1]);
  },
);

it('one is taken over once when the store has the request, refuses its copies, and does it late', async () => {
  await store.create(key, record(vanishing));
  const late = Promise.withResolvers<void>();
  const update = store.update.bind(store);
  vi.spyOn(store, 'update')
    .mockRejectedValue(new BusError('revision-conflict', 'it is being written'))
    .mockImplementationOnce(async (...written) => {
      await late.promise;
      return update(...written);
    });
  const answers = await takenOver(vanishing);
  expect(answers).toEqual([]);
  late.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect([answers, restored]).toEqual([[{ outcome: 'held', worker: here }], 1]);
});

it('one whose worker lives stays there, if the store takes no request for a while, and no later takeover of it counts', async () => {
  await store.create(key, record(there));
  holder = there;
  const late = Promise.withResolvers<void>();
  const update = store.update.bind(store);
  const updates = vi
    .spyOn(store, 'update')
    .mockReturnValue(new Promise(() => undefined))
    .mockImplementationOnce(async (...written) => {
      await late.promise;
      return update(...written);
    });
  expect(await takenOver(there)).toEqual([{ outcome: 'held', worker: there }]);
  updates.mockRestore();
  late.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect([(await store.get(key))?.value, restored]).toEqual([record(there), 0]);
});

it('one that several edges ask for at the same time is taken over once, and none of them has to ask again', async () => {
  await store.create(key, record(vanishing));
  const asked = [1, 2, 3].map(() => adoption.adopt({ key, lost: vanishing }));
  await vi.advanceTimersByTimeAsync(0);
  expect(await Promise.all(asked)).toEqual([1, 2, 3].map(() => ({ outcome: 'held', worker: here })));
  expect(restored).toBe(1);
});

it('one that another worker takes over in the same moment is at that worker', async () => {
  await store.create(key, record(vanishing));
  const get = store.get.bind(store);
  vi.spyOn(store, 'get').mockImplementationOnce(async (of) => {
    const entry = await get(of);
    await store.put(of, record(there));
    return entry;
  });
  const asked = adoption.adopt({ key, lost: vanishing });
  await vi.advanceTimersByTimeAsync(0);
  expect(await asked).toEqual({ outcome: 'held', worker: there });
});

it('a worker that says that it leaves has given its sessions away, and keeps none', async () => {
  bus.publish(subjects.presence, { worker: vanishing, formats: ownFormats, isLeaving: true, reconnects: 0 });
  await pass(10_000, here, there);
  expect([await outcome(), await outcome(vanishing)]).toEqual(['unknown', 'unknown']);
});
