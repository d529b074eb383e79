/** Which worker opens a session: scripted workers. */
import { expect, it } from 'vitest';
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
import { openSession } from './open-session.ts';

const command: OpenCommand = {
  kind: 'open',
  caller: { principal: anonymous, endpoint: rootEndpoint },
  request: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} },
};

it('a worker that listens opens a session, however many workers start that give signs and do not listen yet', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const opened: OpenReply = { kind: 'opened', session: newSessionId(), worker: newWorkerId('session'), text: '{}' };
  await bus.subscribe(subjects.sessionOpen(undefined), (_command, reply) => reply(opened), { queue: 'session' });
  const starting = Array.from({ length: 5 }, () => newWorkerId('session'));
  const { promise, resolve } = Promise.withResolvers<OpenReply>();
  const options = {
    bus,
    wheel: new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }),
    workers: { here: () => undefined, near: starting, alive: starting },
  };
  openSession(options, command, resolve);
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
  const options = {
    bus,
    wheel: new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }),
    workers: { here: () => here, near: [here, free], alive: hasRoom ? [here, free] : [here, full, free] },
  };
  openSession(options, command, resolve);
  expect([await promise, asked.length, asked[0], new Set(asked).size]).toEqual([
    hasRoom ? opened : limit,
    most,
    here,
    most,
  ]);
});
