import { expect, it } from 'vitest';
import { metaKeys, rootEndpoint, type JsonObject, type ModernCommand, type Principal } from '@omnibus/protocol';
import { RecentClients } from './recent-clients.ts';

const commandOf = (name: string | undefined, principal = 'p', capabilities: JsonObject = {}) =>
  ({
    caller: { principal: principal as Principal, endpoint: rootEndpoint },
    context: { capabilities, logLevel: undefined },
    request: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: { _meta: name === undefined ? {} : { [metaKeys.clientInfo]: { name, version: '1' } } },
    },
  }) as unknown as ModernCommand;

it('a client without a session is listed with its name, its requests and its age, and forgotten after five minutes', () => {
  const clients = new RecentClients();
  clients.note(commandOf('editor', 'p', { elicitation: {} }), 0);
  clients.note(commandOf('editor'), 1_000);
  clients.note(commandOf(undefined), 2_000);
  expect(clients.list(3_000)).toEqual([
    {
      client: { name: 'editor', version: '1' },
      revision: '2026-07-28',
      endpoint: '',
      principal: 'p',
      declared: ['elicitation'],
      requests: 2,
      idleMs: 2_000,
    },
    { revision: '2026-07-28', endpoint: '', principal: 'p', declared: [], requests: 1, idleMs: 1_000 },
  ]);
  expect(clients.list(301_500)).toHaveLength(1);
  expect(clients.list(400_000)).toEqual([]);
});

it('a caller with many names, and many callers, take a bounded place, which later clients get once it is free', () => {
  const clients = new RecentClients();
  for (let at = 0; at < 100; at += 1) clients.note(commandOf(`name-${at}`), 0);
  for (let at = 0; at < 600; at += 1) clients.note(commandOf('editor', `caller-${at}`), 0);
  expect(clients.list(1)).toHaveLength(20 + 499);
  clients.note(commandOf('late', 'later'), 400_000);
  expect(clients.list(400_000)).toMatchObject([{ principal: 'later' }]);
});

it('what a client says of itself is remembered only as far as it is short', () => {
  const clients = new RecentClients();
  const long = 'x'.repeat(100_000);
  for (const name of [long, `${long}y`]) clients.note(commandOf(name, 'p', { [long]: {} }), 0);
  for (const said of [{ name: { no: 'text' } }, { name: { no: 'text' } }]) {
    const command = commandOf(undefined);
    const params = { _meta: { [metaKeys.clientInfo]: said } };
    clients.note({ ...command, request: { ...command.request, params } }, 0);
  }
  const [one, ...others] = clients.list(1);
  expect(one).toMatchObject({ requests: 4, declared: [] });
  expect(one).not.toHaveProperty('client');
  expect(others).toEqual([]);
});
