/** Which worker opens a session: scripted workers. */
import { expect, it } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  newSessionId,
  newWorkerId,
  rootEndpoint,
  type OpenCommand,
  type OpenReply,
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
