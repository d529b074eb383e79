import { View, type EndpointDefinition } from '@omnibus/catalog';
import { noAnnouncements, noLists, parseServerName, rootEndpoint, type CatalogRecord } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { isUnrouted } from './unrouted.ts';

const up = parseServerName('up');
const definition: EndpointDefinition = {
  endpoint: rootEndpoint,
  servers: [up],
  prefix: 'auto',
  rename: new Map(),
  pin: new Map(),
  pageSize: 100,
};
const record: CatalogRecord = {
  server: up,
  status: 'up',
  revision: '2025-11-25',
  capabilities: { tools: {}, prompts: {}, resources: { subscribe: true } },
  announcements: noAnnouncements,
  lists: {
    ...noLists,
    tools: [{ name: 'act', inputSchema: { type: 'object' } }],
    prompts: [{ name: 'tell' }],
    resources: [{ uri: 'up://one', name: 'one' }],
    resourceTemplates: [{ uriTemplate: 'note://{id}', name: 'note' }],
  },
};
const view = new View(definition, new Map([[up, record]]));
const judge = (method: string, params: object): boolean =>
  isUnrouted(method, { ...params }, view, () => ({ find: () => [] }));

it.each([
  ['tools/call', { name: 'act' }, { name: 'other' }],
  ['prompts/get', { name: 'tell' }, { name: 'other' }],
  ['resources/read', { uri: 'up://one' }, { uri: 'other://one' }],
  ['resources/read', { uri: 'note://1' }, { uri: 'other://1' }],
  ['resources/subscribe', { uri: 'note://1' }, { uri: 'other://1' }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'tell' } },
    { ref: { type: 'ref/prompt', name: 'other' } },
  ],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'note://{id}' } },
    { ref: { type: 'ref/resource', uri: 'other://{id}' } },
  ],
  [
    'subscriptions/listen',
    { notifications: { resourceSubscriptions: ['up://one'] } },
    { notifications: { resourceSubscriptions: ['up://one', 'other://one'] } },
  ],
])('%s waits for the lists of its user only for what no known list names', (method, known, unknown) => {
  expect([judge(method, known), judge(method, unknown)]).toEqual([false, true]);
});

it.each([
  ['ping', {}],
  ['tools/call', {}],
  ['resources/read', { uri: 1 }],
  ['completion/complete', { ref: null }],
  ['subscriptions/listen', { notifications: { resourceSubscriptions: 'all' } }],
])('%s with %j waits for nothing', (method, params) => {
  expect(judge(method, params)).toBe(false);
});
