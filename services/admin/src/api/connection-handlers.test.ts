import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { principalOf } from '@omnibus/identity';
import type { ConnectCommand } from '@omnibus/protocol';
import { connectionHandlers } from './connection-handlers.ts';
import { loadedFrom } from '@omnibus/config/testing';

it('what a user has connected is ended under the principal that the user has, with the id in the file', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const heard: ConnectCommand[] = [];
  await bus.subscribe(subjects.connect, (command, reply) => {
    heard.push(command);
    reply({ kind: 'forgotten', count: 0, notRevoked: 0 });
  });
  const loaded = loadedFrom('{}');
  const { forget } = connectionHandlers({
    config: () => loaded.config,
    edgeBus: () => bus,
    userId: (issuer, subject) => (issuer === 'https://own.example' && subject === 'ben' ? 'second' : undefined),
    note: () => undefined,
  });
  const principals: unknown[] = [];
  for (const issuer of ['https://own.example', 'https://other.example']) {
    const request = { socket: new Socket(), headers: {} } as IncomingMessage;
    await forget({ request, response: {} as ServerResponse, given: '', query: {}, body: { user: 'ben', issuer } });
    const command = heard.at(-1);
    principals.push(command?.kind === 'forget' ? command.principal : command);
  }
  expect(principals).toEqual([
    principalOf({ issuer: 'https://own.example', subject: 'ben' }, undefined, [], 'second'),
    principalOf({ issuer: 'https://other.example', subject: 'ben' }),
  ]);
  await bus.drain();
});
