/** Which worker opens a session: scripted workers. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  fault,
  newSessionId,
  newWorkerId,
  rootEndpoint,
  type OpenCommand,
  type OpenReply,
  type WorkerId,
} from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import type { WorkersThere } from './choose-worker.ts';
import { openSession, type OpenSessionOptions } from './open-session.ts';

const command: OpenCommand = {
  kind: 'open',
  caller: { principal: anonymous, endpoint: rootEndpoint },
  request: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} },
};

function optionsOf(bus: MemoryBus, workers: WorkersThere, isSteady = true): OpenSessionOptions {
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  const log = createLogger({ level: 'silent', format: 'json' });
  return { bus, wheel, soon: wheel, log, workers, connection: { isSteady } };
}

it('a worker that listens opens a session, however many workers start that give signs and do not listen yet', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const opened: OpenReply = { kind: 'opened', session: newSessionId(), worker: newWorkerId('session'), text: '{}' };
  await bus.subscribe(subjects.sessionOpen(undefined), (_command, reply) => reply(opened), { queue: 'session' });
  const starting = Array.from({ length: 5 }, () => newWorkerId('session'));
  const { promise, resolve } = Promise.withResolvers<OpenReply>();
  openSession(optionsOf(bus, { here: () => undefined, near: starting, alive: starting }), command, resolve);
  expect(await promise).toEqual(opened);
});

it.each([
  ['another worker has room', true, 2],
  ['all workers are full', false, 3],
])('a session that the nearest worker has no room for goes to the others: %s', async (_which, hasRoom, most) => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const [here, full, free] = [newWorkerId('session'), newWorkerId('session'), newWorkerId('session')];
  const limit: OpenReply = { kind: 'refused', fault: fault('session.limit') };
  const opened: OpenReply = { kind: 'opened', session: newSessionId(), worker: free, text: '{}' };
  const asked: WorkerId[] = [];
  for (const [worker, reply] of [
    [here, limit],
    [full, limit],
    [free, hasRoom ? opened : limit],
  ] as const)
    await bus.subscribe(subjects.sessionOpen(worker), (_command, answer) => {
      asked.push(worker);
      answer(reply);
    });
  const { promise, resolve } = Promise.withResolvers<OpenReply>();
  const alive = hasRoom ? [here, free] : [here, full, free];
  openSession(optionsOf(bus, { here: () => here, near: [here, free], alive }), command, resolve);
  expect([await promise, asked.length, asked[0], new Set(asked).size]).toEqual([
    hasRoom ? opened : limit,
    most,
    here,
    most,
  ]);
});

describe('without a worker that listens', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const opened: OpenReply = { kind: 'opened', session: newSessionId(), worker: newWorkerId('session'), text: '{}' };
  const known = [newWorkerId('session'), newWorkerId('session')];

  async function repliesTo(isSteady: boolean, isBackAfterMs: number): Promise<unknown[]> {
    const bus = new MemoryBus(({ what }) => expect.fail(what));
    const replies: OpenReply[] = [];
    const workers = { here: () => undefined, near: known, alive: known };
    openSession(optionsOf(bus, workers, isSteady), command, (reply) => void replies.push(reply));
    await vi.advanceTimersByTimeAsync(isBackAfterMs);
    await bus.subscribe(subjects.sessionOpen(undefined), (_command, reply) => reply(opened), { queue: 'session' });
    await vi.advanceTimersByTimeAsync(2_000);
    return replies.map((reply) => (reply.kind === 'refused' ? reply.fault.reason : reply.kind));
  }

  it('a session is opened by the first that is back, if NATS was lost a moment ago', async () => {
    expect(await repliesTo(false, 500)).toEqual(['opened']);
  });

  it('a session is refused at once if NATS was not lost, and after a while if it was', async () => {
    expect([await repliesTo(true, 500), await repliesTo(false, 1_500)]).toEqual([
      ['gateway.unavailable'],
      ['gateway.unavailable'],
    ]);
  });
});
