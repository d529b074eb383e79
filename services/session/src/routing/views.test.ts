import { expect, it } from 'vitest';
import type { EndpointDefinition } from '@omnibus/catalog';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { noAnnouncements, noLists, parseServerName, rootEndpoint, type CatalogRecord, type ChangeKind } from '@omnibus/protocol';
import { Views } from './views.ts';

const server = parseServerName('up');
const definition: EndpointDefinition = { endpoint: rootEndpoint, servers: [server], prefix: 'auto', rename: new Map(), pin: new Map(), pageSize: 100 };

function record(status: 'up' | 'down'): CatalogRecord {
  return { server, status, capabilities: { tools: {} }, lists: { ...noLists, tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }, announcements: noAnnouncements };
}

function setUp() {
  let now = 0;
  const wheel = new DeadlineWheel({ tickMs: 1, now: () => now, onFault: (error) => expect.fail(String(error)) });
  const told: (readonly ChangeKind[])[] = [];
  const views = new Views(new Map([[rootEndpoint, definition]]), wheel, (_endpoint, changes) => told.push(changes));
  return {
    told,
    toolsOf: () => JSON.parse(views.get(rootEndpoint)?.list('tools', undefined) as string).tools.length as number,
    put: (status: 'up' | 'down') => views.catalogChanged({ kind: 'put', key: server, value: record(status), revision: 1 }),
    settle: () => {
      now += 1_000;
      wheel.tick();
    },
  };
}

it('a client that saw what was true for a moment only is told that it is not any more', () => {
  const { told, toolsOf, put, settle } = setUp();
  put('up');
  expect(toolsOf()).toBe(1);
  settle();
  expect(told).toEqual([]);
  put('down');
  expect(toolsOf()).toBe(0);
  put('up');
  settle();
  expect(told).toEqual([['tools']]);
  settle();
  expect(told).toHaveLength(1);
});

it('what came and went unseen is not told, and changes that come together are told together', () => {
  const { told, toolsOf, put, settle } = setUp();
  put('up');
  expect(toolsOf()).toBe(1);
  put('down');
  put('up');
  settle();
  expect(told).toEqual([]);
  put('down');
  settle();
  expect(told).toEqual([['tools']]);
  expect(toolsOf()).toBe(0);
});
