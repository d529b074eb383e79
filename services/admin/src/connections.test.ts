import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { principalOf } from '@omnibus/identity';
import type { ConnectCommand } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import type { AdminAccess } from './access.ts';
import { connectionsRoutes } from './connections.ts';

it('what a user has connected is ended under the principal that the user has, with the id in the file', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const heard: ConnectCommand[] = [];
  await bus.subscribe(subjects.connect, (command, reply) => {
    heard.push(command);
    reply({ kind: 'forgotten', count: 0, notRevoked: 0 });
  });
  const routes = connectionsRoutes({
    access: { of: () => ({ name: 'test|ann', roles: ['admin'], facts: undefined }) } as unknown as AdminAccess,
    bus: () => bus,
    userId: (issuer, subject) => (issuer === 'https://own.example' && subject === 'ben' ? 'second' : undefined),
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    audit: () => undefined,
  });
  const route = routes.find(({ method }) => method === 'POST');
  const principals: unknown[] = [];
  for (const issuer of ['https://own.example', 'https://other.example']) {
    const request = { socket: new Socket(), headers: {} } as IncomingMessage;
    await route?.run({ request, rest: undefined, body: JSON.stringify({ user: 'ben', issuer }) });
    const command = heard.at(-1);
    principals.push(command?.kind === 'forget' ? command.principal : command);
  }
  expect(principals).toEqual([
    principalOf({ issuer: 'https://own.example', subject: 'ben' }, undefined, [], 'second'),
    principalOf({ issuer: 'https://other.example', subject: 'ben' }),
  ]);
  await bus.drain();
});
