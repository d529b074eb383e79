import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { principalOf } from '@omnibus/identity';
import type { ConnectCommand, ConnectionRow } from '@omnibus/protocol';
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

const publicUrl = 'https://mcp.example';
const auth = { issuers: [{ issuer: 'https://login.example' }] };
const mcpServers = { one: { url: 'http://127.0.0.1:9/mcp', disabled: true, credentials: { kind: 'oauth' } } };

it.each([
  ['were never any', { publicUrl, auth }, 0],
  ['are disabled', { publicUrl, auth, mcpServers }, 1],
  ['were removed', { publicUrl, auth, vault: {} }, 1],
  // Only with known callers do backend workers open the vault for them.
  ['are disabled, and callers are not known', { mcpServers }, 0],
])(
  'where servers at which users sign in %s, as many connections are listed as are stored',
  async (_what, options, count) => {
    const bus = new MemoryBus(({ what }) => expect.fail(what));
    const row = { server: 'one', principal: 'p_ann', host: 'one.example', issuer: 'i', since: 0, state: 'connected' };
    if (count > 0)
      await bus.subscribe(subjects.connect, (_command, reply) =>
        reply({ kind: 'connections', connections: [row as ConnectionRow], total: 1 }),
      );
    const { config } = loadedFrom(options);
    const { connections } = connectionHandlers({
      config: () => config,
      edgeBus: () => bus,
      userId: () => undefined,
      note: () => undefined,
    });
    const request = { socket: new Socket(), headers: {} } as IncomingMessage;
    const response = {} as ServerResponse;
    const listed = await connections({ request, response, given: '', query: {}, body: undefined });
    expect(listed?.connections).toHaveLength(count);
    await bus.drain();
  },
);
