/** The search for the owner of a session while NATS loses messages: scripted workers, and a clock of the test. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus, subjects, type Watch } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newSessionId, newWorkerId, sessionKey, type AdoptReply, type WorkerId } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { OwnerSearch } from './owner-search.ts';
import { SessionAddress } from './session-addresses.ts';

class BreakingBus extends MemoryBus {
  readonly after = new Set<() => void>();
  isUp = true;

  override get connected(): boolean {
    return this.isUp;
  }

  override afterReconnect(run: () => void): Watch {
    this.after.add(run);
    return { close: () => void this.after.delete(run) };
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Begins a search. @returns its outcome, once there is one. */
function searched(bus: BreakingBus, worker: WorkerId): readonly string[] {
  const search = new OwnerSearch({
    bus,
    soon: new DeadlineWheel({ tickMs: 5, onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }),
    workers: { alive: [worker] },
  });
  const found: string[] = [];
  void search
    .find(new SessionAddress(sessionKey(newSessionId()), undefined))
    .then(({ outcome }) => found.push(outcome));
  return found;
}

it('a search ends after its time, though the connection is lost again and again', async () => {
  const bus = new BreakingBus(({ what }) => expect.fail(what));
  const worker = newWorkerId('session');
  await bus.subscribe(subjects.sessionAdopt(worker), () => undefined);
  const found = searched(bus, worker);
  for (let seconds = 1; seconds <= 12; seconds += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    for (const run of bus.after) run();
  }
  expect([found, bus.after.size]).toEqual([['nobody'], 0]);
});

it('a worker gets a question again that was lost with the connection, as soon as there is a connection', async () => {
  const bus = new BreakingBus(({ what }) => expect.fail(what));
  const worker = newWorkerId('session');
  const answers: ((reply: AdoptReply) => void)[] = [];
  await bus.subscribe(subjects.sessionAdopt(worker), (_session, reply) => void answers.push(reply));
  const found = searched(bus, worker);
  await vi.advanceTimersByTimeAsync(20);
  expect(answers.length).toBe(1);
  for (const run of bus.after) run();
  await vi.advanceTimersByTimeAsync(100);
  expect(answers.length).toBe(2);
  answers[1]?.({ outcome: 'held', worker });
  await vi.advanceTimersByTimeAsync(0);
  expect([found, bus.after.size]).toEqual([['held'], 0]);
});

it('a worker gets a question again that NATS lost with a node, and its answer to any of them counts', async () => {
  const bus = new BreakingBus(({ what }) => expect.fail(what));
  const worker = newWorkerId('session');
  const answers: ((reply: AdoptReply) => void)[] = [];
  await bus.subscribe(subjects.sessionAdopt(worker), (_session, reply) => void answers.push(reply));
  const found = searched(bus, worker);
  await vi.advanceTimersByTimeAsync(500);
  expect(answers.length).toBe(3);
  answers[1]?.({ outcome: 'held', worker });
  await vi.advanceTimersByTimeAsync(2_000);
  expect([found, answers.length]).toEqual([['held'], 3]);
});

it('a search that begins without a connection continues as soon as there is one', async () => {
  const bus = new BreakingBus(({ what }) => expect.fail(what));
  const worker = newWorkerId('session');
  await bus.subscribe(subjects.sessionAdopt(worker), (_session, reply) => reply({ outcome: 'held', worker }));
  bus.isUp = false;
  const found = searched(bus, worker);
  await vi.advanceTimersByTimeAsync(10);
  bus.isUp = true;
  for (const run of bus.after) run();
  await vi.advanceTimersByTimeAsync(100);
  expect([found, bus.after.size]).toEqual([['held'], 0]);
});
