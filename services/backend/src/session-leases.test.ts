import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus, sessionsBucket, subjects, type Subscription } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  newRequestKey,
  newWorkerId,
  ownFormats,
  presenceMs,
  type CallCommand,
  type ExchangeContext,
  type ExchangeId,
  type SessionKey,
  type SessionRecord,
  type WorkerId,
} from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { lookMs, SessionLeases } from './session-leases.ts';

let bus: MemoryBus;
let leases: SessionLeases;
let workers: SessionWorker[];
const kept = new Set<SessionKey>();
const forgotten: SessionKey[] = [];

/** A session worker that gives signs of life and reports its sessions. */
class SessionWorker {
  readonly worker: WorkerId = newWorkerId('session');
  readonly holds = new Set<SessionKey>();
  /** Requests without a session, and subscriptions. */
  readonly listens = new Set<SessionKey>();
  readonly #waiting: (() => void)[] = [];
  #subscriptions: Subscription[] = [];
  #isPaused = false;

  async start(): Promise<this> {
    this.#subscriptions = [
      await bus.subscribe(subjects.sessionFindAt(this.worker), ({ key }, reply) =>
        this.#answer(() => reply({ isHeld: this.holds.has(key) })),
      ),
      await bus.subscribe(subjects.modernHolds(this.worker), ({ keys }, reply) =>
        this.#answer(() => reply({ keys: keys.filter((key) => this.listens.has(key)) })),
      ),
    ];
    workers.push(this);
    return this;
  }

  beat(isLeaving = false): void {
    if (!this.#isPaused)
      bus.publish(subjects.presence, { worker: this.worker, formats: ownFormats, isLeaving, reconnects: 0 });
  }

  pause(): void {
    this.#isPaused = true;
  }

  goOn(): void {
    this.#isPaused = false;
    for (const answer of this.#waiting.splice(0)) answer();
  }

  /** Its process ends without a word. */
  kill(): void {
    for (const subscription of this.#subscriptions) subscription.close();
    workers.splice(workers.indexOf(this), 1);
  }

  leave(): void {
    this.kill();
    this.beat(true);
  }

  #answer(answer: () => void): void {
    if (this.#isPaused) this.#waiting.push(answer);
    else answer();
  }
}

const recordAt = async (key: SessionKey, { worker }: SessionWorker): Promise<void> => {
  await (await bus.keyValue(sessionsBucket)).put(key, { worker } as SessionRecord);
};
/** Lets time pass in which workers give their signs. */
const pass = async (ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += presenceMs) {
    for (const worker of workers) worker.beat();
    await vi.advanceTimersByTimeAsync(presenceMs);
  }
};
/** How many session workers the backend has heard of for the first time. */
let joined: number;
const manyLooks = 10 * lookMs;

beforeEach(async () => {
  vi.useFakeTimers();
  kept.clear();
  joined = 0;
  forgotten.length = 0;
  workers = [];
  bus = new MemoryBus(({ what }) => expect.fail(what));
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  leases = new SessionLeases({
    bus,
    wheel,
    log: createLogger({ level: 'silent', format: 'json' }),
    idleSessionMs: () => 0,
    kept: () => kept,
    forget: (session) => {
      forgotten.push(session);
      kept.delete(session);
    },
    joined: () => void (joined += 1),
  });
  await leases.start();
});

afterEach(() => {
  leases.stop();
  vi.useRealTimers();
});

it('each session worker is reported at its first sign', async () => {
  await new SessionWorker().start();
  await new SessionWorker().start();
  await pass(3 * presenceMs);
  expect(joined).toBe(2);
});

it('a worker that is gone while a look goes on is looked at once more', async () => {
  const [first, slow, dead] = [
    await new SessionWorker().start(),
    await new SessionWorker().start(),
    await new SessionWorker().start(),
  ];
  const [unrecorded, orphan] = [newRequestKey(), newRequestKey()];
  for (const key of [unrecorded, orphan]) kept.add(key);
  slow.holds.add(unrecorded);
  await recordAt(orphan, dead);
  await pass(lookMs);
  slow.pause();
  first.leave();
  // The look has seen that the worker of the one session is there, and waits for an answer about the other.
  await vi.advanceTimersByTimeAsync(1);
  dead.leave();
  await vi.advanceTimersByTimeAsync(1);
  slow.goOn();
  await pass(manyLooks);
  expect(forgotten).toEqual([orphan]);
});

it('state for a session whose worker is gone, and that no worker takes over, is released, and nothing before that', async () => {
  const [alive, dead] = [await new SessionWorker().start(), await new SessionWorker().start()];
  const [orphan, other] = [newRequestKey(), newRequestKey()];
  for (const key of [orphan, other]) kept.add(key);
  await recordAt(orphan, dead);
  await recordAt(other, alive);
  await pass(3 * lookMs);
  expect(forgotten).toEqual([]);
  dead.leave();
  await pass(lookMs / 2);
  expect(forgotten).toEqual([]);
  await pass(manyLooks);
  expect(forgotten).toEqual([orphan]);
  expect([...kept]).toEqual([other]);
});

it('a session that another worker takes over keeps everything', async () => {
  const [alive, dead] = [await new SessionWorker().start(), await new SessionWorker().start()];
  const moved = newRequestKey();
  kept.add(moved);
  await recordAt(moved, dead);
  await pass(lookMs);
  dead.leave();
  await pass(lookMs / 2);
  await recordAt(moved, alive);
  await pass(manyLooks);
  expect(forgotten).toEqual([]);
});

it('a session without a record is kept while somebody says to hold it, and given up when twice nobody does', async () => {
  const [alive, dead] = [await new SessionWorker().start(), await new SessionWorker().start()];
  const [unrecorded, listener, gone] = [newRequestKey(), newRequestKey(), newRequestKey()];
  for (const key of [unrecorded, listener, gone]) kept.add(key);
  alive.holds.add(unrecorded);
  alive.listens.add(listener);
  await pass(lookMs);
  dead.leave();
  await pass(manyLooks);
  expect(forgotten).toEqual([gone]);
});

it('a session keeps everything while the worker that holds it says nothing, and is not proven gone', async () => {
  const [slow, dead, other] = [
    await new SessionWorker().start(),
    await new SessionWorker().start(),
    await new SessionWorker().start(),
  ];
  const [recorded, unrecorded] = [newRequestKey(), newRequestKey()];
  for (const key of [recorded, unrecorded]) kept.add(key);
  await recordAt(recorded, slow);
  slow.holds.add(unrecorded);
  await pass(lookMs);
  // It runs and is believed to, and answers nothing for long.
  slow.pause();
  const beats = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += presenceMs) {
      bus.publish(subjects.presence, { worker: slow.worker, formats: ownFormats, isLeaving: false, reconnects: 0 });
      for (const each of [dead, other]) if (workers.includes(each)) each.beat();
      await vi.advanceTimersByTimeAsync(presenceMs);
    }
  };
  dead.leave();
  await beats(manyLooks);
  expect(forgotten).toEqual([]);
  slow.goOn();
  await pass(manyLooks);
  expect(forgotten).toEqual([]);
});

it('a worker whose signs stay out for a moment loses nothing, and one that is proven gone keeps nothing', async () => {
  const [slow, other] = [await new SessionWorker().start(), await new SessionWorker().start()];
  const [recorded, unrecorded] = [newRequestKey(), newRequestKey()];
  for (const key of [recorded, unrecorded]) kept.add(key);
  await recordAt(recorded, slow);
  slow.holds.add(unrecorded);
  await pass(lookMs);
  for (let turn = 0; turn < 5; turn += 1) {
    // Silent for longer than a look waits for an answer, and shorter than what proves that it is gone.
    slow.pause();
    await pass(6 * presenceMs);
    slow.goOn();
    await pass(lookMs);
  }
  expect(forgotten).toEqual([]);
  slow.kill();
  await pass(manyLooks);
  expect(new Set(forgotten)).toEqual(new Set([recorded, unrecorded]));
  expect(workers).toEqual([other]);
});

it('a call is waited for while its worker answers, and no longer once that is gone or silent', async () => {
  const [here, slow, dead] = await Promise.all([1, 2, 3].map(() => new SessionWorker().start()));
  await pass(lookMs);
  slow?.pause();
  dead?.kill();
  const made = [here, slow, dead].map((by) =>
    leases.isWaitedFor({
      owner: undefined,
      command: {
        exchange: `${by?.worker}-1` as ExchangeId,
        context: { session: newRequestKey() } as ExchangeContext,
      } as CallCommand,
    }),
  );
  await pass(20_000);
  expect(await Promise.all(made)).toEqual([true, false, false]);
});
