/** Tools that pages call by their server's own names (extension io.modelcontextprotocol/ui). */
import { View, type Sight } from '@omnibus/catalog';
import {
  noAnnouncements,
  noLists,
  rootEndpoint,
  type CatalogRecord,
  type JsonObject,
  type ServerName,
  type ToolEntry,
} from '@omnibus/protocol';
import { expect, it } from 'vitest';
import type { Plan } from '../plan.ts';
import { route } from '../route.ts';
import { LinkedResources } from './linked-resources.ts';

const [shop, bank, plain] = ['shop', 'bank', 'plain'] as [ServerName, ServerName, ServerName];
const tool = (name: string, ui?: JsonObject): ToolEntry => ({
  name,
  inputSchema: { type: 'object' },
  ...(ui === undefined ? {} : { _meta: { ui } }),
});
const record = (server: ServerName, tools: readonly ToolEntry[]): [ServerName, CatalogRecord] => [
  server,
  { server, status: 'up', capabilities: { tools: {} }, lists: { ...noLists, tools }, announcements: noAnnouncements },
];
const shows = { resourceUri: 'ui://page' };
const view = new View(
  {
    endpoint: rootEndpoint,
    servers: [shop, bank, plain],
    prefix: 'auto',
    rename: new Map(),
    pin: new Map([['shop/refresh', { fixed: true }]]),
    pageSize: 100,
  },
  new Map([
    record(shop, [
      tool('show', shows),
      tool('refresh', { visibility: ['app'] }),
      tool('secret', { visibility: ['model'] }),
    ]),
    record(bank, [tool('open', shows), tool('refresh'), tool('pay')]),
    record(plain, [tool('erase')]),
  ]),
);

function call(name: string, shown: readonly ServerName[], seen = view, hasSession = true): Plan {
  const linkedResources = hasSession ? new LinkedResources() : new LinkedResources(() => undefined);
  for (const server of shown) linkedResources.showPage(server);
  return route(
    { method: 'tools/call', view: seen },
    { name, arguments: {} },
    {
      tasks: { open: () => undefined },
      port: { linkedResources, dialect: { unknownMethod: 'method.unknown' }, taskMode: () => 'none' },
    },
  );
}

const refused = (words: string): object => ({
  kind: 'refuse',
  fault: expect.objectContaining({ reason: 'tool.unknown', message: expect.stringContaining(words) as string }),
});

it('a page calls a tool of its own server by the name that the server gives it, as the endpoint offers the tool', () => {
  expect(call('refresh', [shop])).toMatchObject({
    kind: 'send',
    server: shop,
    tool: 'refresh',
    publicName: 'shop__refresh',
    subject: ['tool', 'shop__refresh'],
    params: { name: 'refresh', arguments: { fixed: true } },
  });
  expect(call('refresh', [bank])).toMatchObject({ kind: 'send', server: bank, publicName: 'bank__refresh' });
});

it('a name of a server whose pages the client does not have leads nowhere, nor does one hidden from pages', () => {
  expect(call('pay', [shop])).toMatchObject(refused('unknown tool'));
  expect(call('secret', [shop])).toMatchObject(refused('unknown tool'));
  expect(call('erase', [plain])).toMatchObject(refused('unknown tool'));
  expect(call('refresh', [])).toMatchObject(refused('unknown tool'));
});

it('where pages of two servers may mean it, none is guessed', () => {
  expect(call('refresh', [shop, bank])).toMatchObject(refused('"shop__refresh", "bank__refresh"'));
});

it('a tool that the caller may not see is not found by its own name either', () => {
  const sight: Sight = {
    name: 'some',
    sees: (_kind, _server, name) => name !== 'refresh',
    seesServer: () => true,
    mayEverythingOf: () => false,
  };
  expect(call('refresh', [shop], view.seenBy(sight))).toMatchObject(refused('unknown tool'));
});

it('a client without session may have been given the page by another worker: one server is enough', () => {
  expect(call('pay', [], view, false)).toMatchObject({ kind: 'send', server: bank });
  expect(call('refresh', [], view, false)).toMatchObject(refused('several servers'));
  expect(call('refresh', [bank], view, false)).toMatchObject({ kind: 'send', server: bank });
});
