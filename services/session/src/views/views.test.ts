import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EndpointDefinition, Sight, View } from '@omnibus/catalog';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  catalogKey,
  newWorkerId,
  noAnnouncements,
  noLists,
  parseServerName,
  rootEndpoint,
  type CatalogRecord,
  type ChangeKind,
  type EndpointName,
  type WorkerId,
} from '@omnibus/protocol';
import { Views } from './views.ts';

const server = parseServerName('up');
const worker = newWorkerId('backend');
const other = newWorkerId('backend');
const definition: EndpointDefinition = {
  endpoint: rootEndpoint,
  servers: [server],
  prefix: 'auto',
  rename: new Map(),
  pin: new Map(),
  pageSize: 100,
};

const nobodyIsKnown = { sightsInUse: () => new Set<string>(), maxPreparedLength: () => 0 };

function record(status: 'up' | 'down'): CatalogRecord {
  return {
    server,
    status,
    capabilities: { tools: {} },
    lists: { ...noLists, tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    announcements: noAnnouncements,
  };
}

/** An endpoint of another server. */
const elsewhere = 'elsewhere' as EndpointName;
const otherServer = parseServerName('other');
const definitions = new Map<EndpointName, EndpointDefinition>([
  [rootEndpoint, definition],
  [elsewhere, { ...definition, endpoint: elsewhere, servers: [otherServer] }],
]);

function setUp(sightsInUse: ReadonlySet<string> = new Set()) {
  let now = 0;
  const wheel = new DeadlineWheel({ tickMs: 1, now: () => now, onFault: (error) => expect.fail(String(error)) });
  const told: (readonly ChangeKind[])[] = [];
  const toldSeeing: ((sight: Sight) => readonly ChangeKind[])[] = [];
  const lost = new Set<WorkerId>();
  const leftOut: string[][] = [];
  const removed: string[] = [];
  const views = new Views(definitions, {
    wheel,
    ...nobodyIsKnown,
    sightsInUse: () => sightsInUse,
    isLost: (worker) => lost.has(worker),
    remove: (key) => removed.push(key),
    announce: (_endpoint, changesFor) => {
      told.push(changesFor());
      toldSeeing.push((sight) => changesFor(undefined, sight));
    },
    tell: (_endpoint, problems) => leftOut.push(problems.map(({ problem }) => problem)),
  });
  const put = (status: 'up' | 'down', at = worker, more: Partial<CatalogRecord> = {}): void =>
    views.catalogChanged({
      kind: 'put',
      key: catalogKey(server, at),
      value: { ...record(status), ...more },
      revision: 1,
    });
  return {
    told,
    toldSeeing,
    leftOut,
    views,
    lost,
    removed,
    put,
    toolsOf: () => JSON.parse(views.get(rootEndpoint)?.list('tools', undefined) as string).tools.length as number,
    settle: () => {
      now += 1_000;
      wheel.tick();
    },
  };
}

type Put = ReturnType<typeof setUp>['put'];

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

it('an unusable entry is reported once, and stays listed as long as it is so', () => {
  const { leftOut, put, views, toolsOf } = setUp();
  let deep: object = {};
  for (let level = 0; level < 20_000; level += 1) deep = { deep };
  const bad: CatalogRecord = {
    ...record('up'),
    lists: {
      ...noLists,
      tools: [
        { name: 'bad', inputSchema: deep },
        { name: 'good', inputSchema: { type: 'object' } },
      ],
    },
  };
  for (let turn = 1; turn <= 2; turn += 1) {
    views.catalogChanged({ kind: 'put', key: catalogKey(server, worker), value: bad, revision: turn });
    expect(toolsOf()).toBe(1);
  }
  expect(leftOut).toEqual([['it cannot be written as JSON: Maximum call stack size exceeded']]);
  expect(views.leftOut).toEqual(['up: it cannot be written as JSON: Maximum call stack size exceeded']);
  put('up');
  expect(toolsOf()).toBe(1);
  expect(views.leftOut).toEqual([]);
});

it('callers of more sets of rights than are kept have one view each until something changes, however often they ask, and are told of the change', () => {
  const sights = Array.from({ length: 5 }, (_each, index): Sight => ({
    name: `s${index}`,
    sees: (_kind, _server, name) => name === 'echo',
    seesServer: () => true,
    mayEverythingOf: () => true,
  }));
  // No list is cached (`maxPreparedLength`).
  const { put, settle, toldSeeing, views } = setUp(new Set(['s0']));
  const read = (sight: Sight): View => {
    const view = views.get(rootEndpoint, undefined, sight) as View;
    expect(view.list('tools', undefined)).not.toContain('hidden');
    return view;
  };
  put('up', worker, {
    lists: { ...noLists, tools: ['echo', 'hidden'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
  });
  settle();
  const seen = new Set(Array.from({ length: 4 }, () => sights.map(read)).flat());
  expect(seen.size).toBe(sights.length);
  put('down');
  settle();
  expect(sights.slice(0, 2).map((sight) => toldSeeing.at(-1)?.(sight))).toEqual([['tools'], []]);
  expect(seen.has(read(sights[0] as Sight))).toBe(false);
});

describe('a server of which several workers have adapters', () => {
  it('is there while one of them reaches it, whatever the others wrote last', () => {
    const { put, toolsOf, views } = setUp();
    put('up');
    put('down', other, { lists: noLists, problem: 'no route to host' });
    expect(toolsOf()).toBe(1);
    expect(views.reaching(server, [worker, other])).toEqual([worker]);
    put('down');
    expect(toolsOf()).toBe(0);
    expect(views.reaching(server, [worker, other])).toEqual([worker, other]);
  });

  it('must be heard of if it has the server, and the workers that gave a sign have not', () => {
    const { put, lost, views } = setUp();
    const third = newWorkerId('backend');
    expect(views.mustHear(server, [])).toBe(false);
    put('up');
    expect([[], [worker], [other]].map((there) => views.mustHear(server, there))).toEqual([false, false, true]);
    put('down', other);
    expect([[], [worker, other], [other]].map((there) => views.mustHear(server, there))).toEqual([true, false, true]);
    put('up', third);
    expect([[third], [other]].map((there) => views.mustHear(server, there))).toEqual([false, true]);
    lost.add(worker).add(third);
    expect([[], [other]].map((there) => views.mustHear(server, there))).toEqual([false, false]);
    lost.clear();
    put('up', worker, { hasLeft: true });
    put('down', third);
    expect([[], [other]].map((there) => views.mustHear(server, there))).toEqual([false, false]);
  });

  it('offers the same in every process, in whatever order the records came', () => {
    const lists = { ...noLists, tools: [{ name: 'other', inputSchema: { type: 'object' } }] };
    const steps = [
      (put: Put) => put('up'),
      (put: Put) => put('up', other, { lists }),
      (put: Put) => put('down', newWorkerId('backend')),
    ];
    const offered = [steps, steps.toReversed()].map((order) => {
      const { put, views } = setUp();
      for (const step of order) step(put);
      return views.get(rootEndpoint)?.list('tools', undefined);
    });
    expect(offered[0]).toBe(offered[1]);
  });

  it('is what the one says that announced a change last', () => {
    const { put, views } = setUp();
    const lists = { ...noLists, tools: [{ name: 'new', inputSchema: { type: 'object' } }] };
    for (const [newer, older] of [
      [worker, other],
      [other, worker],
    ] as const) {
      put('up', older);
      put('up', newer, { lists, announcements: { ...noAnnouncements, tools: 5 } });
      expect(views.get(rootEndpoint)?.list('tools', undefined)).toContain('new');
      put('up', newer);
    }
  });

  it('is not offered by a worker that is lost, and is by one that has only left until another is there', () => {
    const { put, toolsOf, lost, views } = setUp();
    put('up');
    lost.add(worker);
    views.workersChanged();
    expect(toolsOf()).toBe(0);
    expect(views.get(rootEndpoint)?.record(server)?.problem).toContain('gone');
    lost.delete(worker);
    put('up', worker, { hasLeft: true });
    expect(toolsOf()).toBe(1);
    put('down', other);
    expect(toolsOf()).toBe(0);
    put('up', other);
    expect(toolsOf()).toBe(1);
    expect(views.reaching(server, [worker, other])).toEqual([other]);
  });

  it('what another version of the gateway wrote is not read', () => {
    const { views, toolsOf } = setUp();
    views.catalogChanged({ kind: 'put', key: server, value: record('up'), revision: 1 });
    expect(toolsOf()).toBe(0);
  });
});

describe('what a worker wrote that is gone', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is removed from the store after a while, of one that was lost and of one that left, and of no other', async () => {
    const lost = new Set<WorkerId>([worker]);
    const removed: string[] = [];
    const wheel = new DeadlineWheel({ tickMs: 1_000, onFault: (error) => expect.fail(String(error)) });
    const views = new Views(definitions, {
      wheel,
      ...nobodyIsKnown,
      announce: () => undefined,
      isLost: (each) => lost.has(each),
      remove: (key) => removed.push(key),
      tell: () => undefined,
    });
    const [left, there] = [newWorkerId('backend'), newWorkerId('backend')];
    for (const [at, more] of [
      [worker, {}],
      [other, {}],
      [left, { hasLeft: true }],
      [there, {}],
    ] as const) {
      views.catalogChanged({
        kind: 'put',
        key: catalogKey(server, at),
        value: { ...record('up'), ...more },
        revision: 1,
      });
    }
    lost.add(other);
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    lost.delete(other);
    expect(removed).toEqual([]);
    await vi.advanceTimersByTimeAsync(8 * 60_000);
    expect(new Set(removed)).toEqual(new Set([catalogKey(server, worker), catalogKey(server, left)]));
  });

  it('is also removed if its key names no server and worker, an hour after its last write', async () => {
    const removed: string[] = [];
    const wheel = new DeadlineWheel({ tickMs: 1_000, onFault: (error) => expect.fail(String(error)) });
    const views = new Views(definitions, {
      wheel,
      ...nobodyIsKnown,
      announce: () => undefined,
      isLost: () => false,
      remove: (key) => removed.push(key),
      tell: () => undefined,
    });
    const write = (key: string): void => views.catalogChanged({ kind: 'put', key, value: record('up'), revision: 1 });
    for (const key of ['up', 'up=a=b', 'gone', catalogKey(server, worker)]) write(key);
    views.catalogChanged({ kind: 'delete', key: 'gone' });
    await vi.advanceTimersByTimeAsync(40 * 60_000);
    write('up');
    await vi.advanceTimersByTimeAsync(30 * 60_000);
    expect(new Set(removed)).toEqual(new Set(['up=a=b']));
    await vi.advanceTimersByTimeAsync(40 * 60_000);
    expect(new Set(removed)).toEqual(new Set(['up=a=b', 'up']));
  });
});

it('what many callers have seen who are gone is forgotten without a change, and what one sees who is there is not', () => {
  const inUse = new Set(['here']);
  const { views, put, toldSeeing, settle } = setUp(inUse);
  put('up');
  const sightOf = (name: string): Sight => ({
    name,
    sees: () => true,
    seesServer: () => true,
    mayEverythingOf: () => true,
  });
  views.get(rootEndpoint, undefined, sightOf('here'));
  const looked = vi.spyOn(inUse, 'has');
  for (let index = 0; index < 10_010; index += 1) views.get(rootEndpoint, undefined, sightOf(`gone ${index}`));
  expect(looked).toHaveBeenCalledWith('gone 1');
  put('down');
  settle();
  expect(toldSeeing.at(-1)?.(sightOf('here'))).toEqual(['tools']);
  expect(toldSeeing.at(-1)?.(sightOf('gone 1'))).toEqual([]);
});

it('who was gone while what he had seen was forgotten is told of changes again once he is back', () => {
  const inUse = new Set<string>();
  const { views, put, toldSeeing, settle } = setUp(inUse);
  put('up');
  const sightOf = (name: string): Sight => ({
    name,
    sees: () => true,
    seesServer: () => true,
    mayEverythingOf: () => true,
  });
  const back = sightOf('back');
  const looked = vi.spyOn(inUse, 'has');
  for (let index = 0; index < 10_010; index += 1)
    for (const sight of [back, sightOf(`gone ${index}`)]) views.get(rootEndpoint, undefined, sight);
  expect(looked).toHaveBeenCalledWith('back');
  inUse.add('back');
  views.get(rootEndpoint, undefined, back);
  put('down');
  settle();
  expect(toldSeeing.at(-1)?.(back)).toEqual(['tools']);
});

it('and so is he at an endpoint at which nothing changed while he was gone', () => {
  const inUse = new Set<string>();
  const { views, put, toldSeeing, settle } = setUp(inUse);
  const putElsewhere = (status: 'up' | 'down'): void =>
    views.catalogChanged({
      kind: 'put',
      key: catalogKey(otherServer, worker),
      value: { ...record(status), server: otherServer },
      revision: 1,
    });
  const back: Sight = { name: 'back', sees: () => true, seesServer: () => true, mayEverythingOf: () => true };
  put('up');
  putElsewhere('up');
  settle();
  views.get(elsewhere, undefined, back);
  put('down');
  settle();
  inUse.add('back');
  views.get(elsewhere, undefined, back);
  putElsewhere('down');
  settle();
  expect(toldSeeing.at(-1)?.(back)).toEqual(['tools']);
});
