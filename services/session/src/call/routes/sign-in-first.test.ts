/** Answers for names of a server that lists nothing before the user's sign-in. */
import { expect, it } from 'vitest';
import { View } from '@omnibus/catalog';
import {
  noAnnouncements,
  noLists,
  parseServerName,
  rootEndpoint,
  type CatalogRecord,
  type ExchangeMethod,
  type JsonObject,
} from '@omnibus/protocol';
import type { Plan } from '../plan.ts';
import { route } from '../route.ts';

const [closed, open] = [parseServerName('closed'), parseServerName('open')];
const record = (
  server: CatalogRecord['server'],
  tools: readonly string[],
  more: Partial<CatalogRecord> = {},
): CatalogRecord => ({
  server,
  status: 'up',
  revision: '2025-11-25',
  capabilities: { tools: {}, prompts: {}, resources: {} },
  announcements: noAnnouncements,
  lists: { ...noLists, tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) },
  ...more,
});

function planOf(method: ExchangeMethod, params: JsonObject, records: readonly CatalogRecord[]): Plan {
  const view = new View(
    {
      endpoint: rootEndpoint,
      servers: records.map(({ server }) => server),
      prefix: 'auto',
      rename: new Map(),
      pin: new Map(),
      pageSize: 100,
    },
    new Map(records.map((each) => [each.server, each])),
  );
  return route({ method, view }, params, {
    tasks: { open: () => undefined },
    port: {
      linkedResources: { find: () => [], ofPages: () => [] },
      dialect: { unknownMethod: 'method.unknown' },
      taskMode: () => 'none',
    },
  });
}

const waiting = record(closed, ['connect'], { wantsSignIn: true });
const both = [waiting, record(open, ['act'])];

it.each([
  ['closed__work', both],
  ['closed__', both],
  ['work', [waiting]],
])('the tool %s is taken for a question after the sign-in, and its arguments go nowhere', (name, records) => {
  expect(planOf('tools/call', { name, arguments: { code: 'AAAA-2222', text: 'private' } }, records)).toMatchObject({
    kind: 'send',
    server: closed,
    tool: 'connect',
    params: { name: 'connect', arguments: {}, _meta: { 'omnibus.dev/instead-of': name } },
  });
});

it.each([
  ['open__work', both],
  ['else__work', both],
  ['work', both],
  ['closed__work', [record(closed, ['connect', 'act'], { wantsSignIn: true }), record(open, [])]],
  ['closed__work', [record(closed, ['connect']), record(open, [])]],
])('the tool %s is unknown where its server shows its tools', (name, records) => {
  expect(planOf('tools/call', { name }, records)).toMatchObject({ kind: 'refuse', fault: { reason: 'tool.unknown' } });
});

it.each<[ExchangeMethod, JsonObject, readonly CatalogRecord[]]>([
  ['prompts/get', { name: 'closed__say' }, both],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'closed__say' }, argument: { name: 'a', value: '' } },
    both,
  ],
])('%s is answered with the tool that says where to sign in', (method, params, records) => {
  expect(planOf(method, params, records)).toMatchObject({
    kind: 'refuse',
    fault: { reason: 'upstream.sign_in', message: expect.stringContaining('"closed__connect"') as string },
  });
});
