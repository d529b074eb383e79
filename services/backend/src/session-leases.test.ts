import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus, sessionsBucket, subjects } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newRequestKey, newWorkerId, type SessionKey, type SessionRecord, type WorkerId } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { lookMs, SessionLeases } from './session-leases.ts';

let now = 0;
let bus: MemoryBus;
let wheel: DeadlineWheel;
let leases: SessionLeases;
const kept = new Set<SessionKey>();
const forgotten: SessionKey[] = [];
const [alive, dead] = [newWorkerId('session'), newWorkerId('session')];

const sign = (worker: WorkerId, isLeaving: boolean): void => bus.publish(subjects.presence, { worker, isLeaving, reconnects: 0 });
const recordAt = async (key: SessionKey, worker: WorkerId): Promise<void> => {
  await (await bus.keyValue(sessionsBucket)).put(key, { worker } as SessionRecord);
};
/** Lets time pass until nothing more follows from it. */
const pass = async (ms: number): Promise<void> => {
  for (let step = 0; step < 4; step += 1) {
    now += ms / 4;
    wheel.tick();
    await new Promise(setImmediate);
  }
};

beforeEach(async () => {
  now = 0;
  kept.clear();
  forgotten.length = 0;
  bus = new MemoryBus(({ what }) => expect.fail(what));
  wheel = new DeadlineWheel({ tickMs: 1, now: () => now, onFault: (error) => expect.fail(String(error)) });
  leases = new SessionLeases({ bus, wheel, log: createLogger({ level: 'silent', format: 'json' }), idleSessionMs: () => 0, kept: () => kept, forget: (session) => {
    forgotten.push(session);
    kept.delete(session);
  } });
  await leases.start();
  sign(alive, false);
  sign(dead, false);
  await new Promise(setImmediate);
});

afterEach(() => leases.stop());

it('what is kept for a session whose worker is gone and that nobody takes over is given up, and nothing before that', async () => {
  const [orphan, other] = [newRequestKey(), newRequestKey()];
  for (const key of [orphan, other]) kept.add(key);
  await recordAt(orphan, dead);
  await recordAt(other, alive);
  await pass(lookMs * 3);
  expect(forgotten).toEqual([]);
  sign(dead, true);
  await pass(100);
  expect(forgotten).toEqual([]);
  await vi.waitFor(async () => {
    sign(alive, false);
    await pass(lookMs);
    expect(forgotten).toEqual([orphan]);
  });
  expect([...kept]).toEqual([other]);
});

it('a session that another worker takes over keeps everything', async () => {
  const moved = newRequestKey();
  kept.add(moved);
  await recordAt(moved, dead);
  sign(dead, true);
  await pass(100);
  await recordAt(moved, alive);
  for (let turn = 0; turn < 4; turn += 1) await pass(lookMs);
  expect(forgotten).toEqual([]);
});

it('a session without a record is kept while somebody says to hold it, and given up when twice nobody does', async () => {
  const [unrecorded, listener, gone] = [newRequestKey(), newRequestKey(), newRequestKey()];
  for (const key of [unrecorded, listener, gone]) kept.add(key);
  await bus.subscribe(subjects.sessionFind, ({ key }, reply) => {
    if (key === unrecorded) reply({ worker: alive });
  });
  await bus.subscribe(subjects.modernHolds(undefined), ({ keys }, reply) => reply({ keys: keys.filter((key) => key === listener) }));
  sign(dead, true);
  await vi.waitFor(async () => {
    await pass(lookMs);
    expect(forgotten).toEqual([gone]);
  });
  await pass(lookMs * 3);
  expect(forgotten).toEqual([gone]);
});
