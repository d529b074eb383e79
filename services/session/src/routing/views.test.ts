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
  const leftOut: string[][] = [];
  const views = new Views(new Map([[rootEndpoint, definition]]), wheel, (_endpoint, changes) => told.push(changes), (_endpoint, problems) => leftOut.push(problems.map(({ problem }) => problem)));
  return {
    told,
    leftOut,
    views,
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

it('what cannot be shown is told once, and stands there as long as it is so', () => {
  const { leftOut, put, views, toolsOf } = setUp();
  let deep: object = {};
  for (let level = 0; level < 20_000; level += 1) deep = { deep };
  const bad: CatalogRecord = { ...record('up'), lists: { ...noLists, tools: [{ name: 'bad', inputSchema: deep }, { name: 'good', inputSchema: {} }] } };
  for (let turn = 1; turn <= 2; turn += 1) {
    views.catalogChanged({ kind: 'put', key: server, value: bad, revision: turn });
    expect(toolsOf()).toBe(1);
  }
  expect(leftOut).toEqual([['it cannot be written as JSON: Maximum call stack size exceeded']]);
  expect(views.leftOut).toEqual(['up: it cannot be written as JSON: Maximum call stack size exceeded']);
  put('up');
  expect(toolsOf()).toBe(1);
  expect(views.leftOut).toEqual([]);
});
