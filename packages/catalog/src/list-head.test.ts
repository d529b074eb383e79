/** The members of a list other than its entries, and the report of missing servers. */
import { describe, expect, it } from 'vitest';
import {
  declaredBy,
  latestLegacyRevision,
  latestModernRevision,
  noAnnouncements,
  noLists,
  ownerKey,
  parseEndpointName,
  parseServerName,
  type CatalogLists,
  type CatalogRecord,
  type JsonObject,
  type Principal,
  type ServerName,
} from '@omnibus/protocol';
import type { EndpointDefinition } from './profile.ts';
import { missingKey } from './list-head.ts';
import { View } from './view.ts';

function record(name: string, lists: Partial<CatalogLists> = {}, more: Partial<CatalogRecord> = {}): CatalogRecord {
  return {
    server: parseServerName(name),
    status: 'up',
    revision: latestModernRevision,
    capabilities: { tools: {} },
    lists: { ...noLists, ...lists },
    announcements: noAnnouncements,
    ...more,
  };
}

function viewOf(
  servers: readonly string[],
  records: readonly CatalogRecord[],
  more: Partial<EndpointDefinition> = {},
): View {
  const definition: EndpointDefinition = {
    endpoint: parseEndpointName(''),
    servers: servers.map(parseServerName),
    prefix: 'auto',
    rename: new Map(),
    pin: new Map(),
    pageSize: 100,
    ...more,
  };
  return new View(definition, new Map<ServerName, CatalogRecord>(records.map((each) => [each.server, each])));
}

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });
const read = (json: string | undefined): JsonObject => JSON.parse(json as string) as JsonObject;
const now = 1_000_000;

describe('how long a list can be used, and by whom', () => {
  const notes = (ttlMs: number, more: object = {}) => ({ notes: { tools: { ttlMs, isPublic: true, ...more } } });

  it('is the least that a server of it says, for everybody only where all say so', () => {
    const [a, b] = [record('a', {}, notes(60_000)), record('b', {}, notes(10_000))];
    expect(viewOf(['a', 'b'], [a, b]).freshness('tools', now)).toEqual({ ttlMs: 10_000, cacheScope: 'public' });
    const own = record('b', {}, { notes: { tools: { ttlMs: 90_000 } } });
    expect(viewOf(['a', 'b'], [a, own]).freshness('tools', now)).toEqual({ ttlMs: 60_000, cacheScope: 'private' });
    expect(viewOf(['a'], [record('a', {}, notes(0))]).freshness('tools', now)).toEqual({
      ttlMs: 0,
      cacheScope: 'public',
    });
  });

  it("is nobody else's where callers have to be known, whatever servers say", () => {
    expect(viewOf(['a'], [record('a', {}, notes(60_000))], { isForKnown: true }).freshness('tools', now)).toEqual({
      ttlMs: 60_000,
      cacheScope: 'private',
    });
  });

  it('lacks what has passed since the list was read, and is whole where changes are announced', () => {
    expect(viewOf(['a'], [record('a', {}, notes(10_000, { readAt: now - 4_000 }))]).freshness('tools', now).ttlMs).toBe(
      6_000,
    );
    expect(
      viewOf(['a'], [record('a', {}, notes(10_000, { readAt: now - 40_000 }))]).freshness('tools', now).ttlMs,
    ).toBe(0);
    expect(viewOf(['a'], [record('a', {}, notes(10_000.7))]).freshness('tools', now).ttlMs).toBe(10_000);
  });

  it("is the gateway's own, for one caller, where a server says nothing of it", () => {
    expect(
      viewOf(
        ['a', 'b'],
        [record('a', {}, notes(60_000)), record('b', {}, { revision: latestLegacyRevision })],
      ).freshness('tools', now),
    ).toEqual({ ttlMs: 5_000, cacheScope: 'private' });
    expect(viewOf([], []).freshness('tools', now)).toEqual({ ttlMs: 5_000, cacheScope: 'private' });
  });

  it('depends on those servers only that have such a list', () => {
    const quiet = record('b', {}, { capabilities: { prompts: {} } });
    expect(viewOf(['a', 'b'], [record('a', {}, notes(60_000)), quiet]).freshness('tools', now)).toEqual({
      ttlMs: 60_000,
      cacheScope: 'public',
    });
  });

  it('is nothing while a server is missing, was never seen, or has a list that could not be read', () => {
    const a = record('a', {}, notes(60_000));
    for (const records of [
      [a],
      [a, record('b', {}, { ...notes(60_000), status: 'down', problem: 'gone' })],
      [a, record('b', {}, { ...notes(60_000), problem: 'tools/list failed', unread: ['tools'] })],
    ]) {
      expect(viewOf(['a', 'b'], records).freshness('tools', now)).toEqual({ ttlMs: 0, cacheScope: 'private' });
    }
  });
});

describe('what servers say of their lists', () => {
  const said = { notes: { tools: { meta: { 'a.example/x': 1 }, more: { total: 7 } } } };

  it('stands on the first page, as the only server says it', () => {
    const view = viewOf(['a'], [record('a', { tools: [tool('one'), tool('two')] }, said)], { pageSize: 1 });
    const first = read(view.list('tools', undefined));
    expect(first).toEqual({
      tools: [tool('one')],
      nextCursor: expect.any(String) as string,
      total: 7,
      _meta: { 'a.example/x': 1 },
    });
    expect(read(view.list('tools', first['nextCursor'] as string))).toEqual({ tools: [tool('two')] });
    expect(read(view.list('prompts', undefined))).toEqual({ prompts: [] });
  });

  it('is all of it where there are several; of what two say under one name, the earlier of the endpoint is heard', () => {
    const b = record(
      'b',
      {},
      { notes: { tools: { meta: { 'a.example/x': 2, 'b.example/y': 3 }, more: { total: 9, more: true } } } },
    );
    expect(read(viewOf(['a', 'b'], [b, record('a', {}, said)]).list('tools', undefined))).toEqual({
      tools: [],
      total: 7,
      more: true,
      _meta: { 'a.example/x': 1, 'b.example/y': 3 },
    });
  });

  it('is not shown of a server that is down', () => {
    expect(
      read(
        viewOf(['a', 'b'], [record('a', {}, { ...said, status: 'down', problem: 'gone' }), record('b')]).list(
          'tools',
          undefined,
        ),
      ),
    ).not.toHaveProperty('total');
  });

  it('carries members of entries that no revision has, for clients of every revision', () => {
    const odd = { name: 'p', future: { a: 1 }, _meta: { k: 'v' } };
    const view = viewOf(
      ['a'],
      [
        record('a', {
          prompts: [odd],
          tools: [tool('t', { future: [1] })],
          resources: [{ ...odd, uri: 'x://1' }],
          resourceTemplates: [{ ...odd, uriTemplate: 'x://{a}' }],
        }),
      ],
    );
    for (const list of ['list', 'modernList'] as const) {
      expect(read(view[list]('tools', undefined))['tools']).toEqual([tool('t', { future: [1] })]);
      expect(read(view[list]('prompts', undefined))['prompts']).toEqual([odd]);
      expect(read(view[list]('resources', undefined))['resources']).toEqual([{ ...odd, uri: 'x://1' }]);
      expect(read(view[list]('resourceTemplates', undefined))['resourceTemplates']).toEqual([
        { ...odd, uriTemplate: 'x://{a}' },
      ]);
    }
  });
});

describe('`execution` of a tool', () => {
  const shown = (more: Partial<CatalogRecord>, execution: object, list: 'list' | 'modernList') =>
    (
      read(
        viewOf(
          ['a'],
          [record('a', { tools: [tool('t', { execution })] }, { revision: latestLegacyRevision, ...more })],
        )[list]('tools', undefined),
      )['tools'] as JsonObject[]
    )[0]?.['execution'];
  const runsTasks = { capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } } };

  it('is what the server says, for clients that know sessions', () => {
    for (const execution of [{ taskSupport: 'optional' }, { taskSupport: 'forbidden', other: 1 }])
      expect(shown(runsTasks, execution, 'list')).toEqual(execution);
    expect(shown({}, { taskSupport: 'forbidden', other: 1 }, 'list')).toEqual({ taskSupport: 'forbidden', other: 1 });
  });

  it('promises no task of a server that takes none', () => {
    expect(shown({}, { taskSupport: 'optional' }, 'list')).toBeUndefined();
    expect(shown({}, { taskSupport: 'required', other: 1 }, 'list')).toEqual({ other: 1 });
  });

  it('is carried to newer clients from newer servers only: between older and newer it has no meaning', () => {
    expect(shown(runsTasks, { taskSupport: 'optional' }, 'modernList')).toBeUndefined();
    expect(shown({ revision: latestModernRevision }, { other: 1 }, 'modernList')).toEqual({ other: 1 });
  });
});

describe('a server that is missing', () => {
  const down = record(
    'b',
    {},
    { status: 'down', problem: 'its server answered 401', revision: undefined as never, capabilities: {} },
  );

  it('is named in the list and in the instructions, with the reason', () => {
    const view = viewOf(['a', 'b', 'c'], [record('a'), down]);
    const missing = [
      { server: 'b', problem: 'its server answered 401' },
      { server: 'c', problem: expect.stringContaining('not been reached') as string },
    ];
    for (const kind of ['tools', 'prompts', 'resources', 'resourceTemplates'] as const)
      expect(read(view.list(kind, undefined))['_meta']).toEqual({ [missingKey]: missing });
    expect(view.instructions()).toContain('its server answered 401');
    expect(view.instructions()).toContain('# c');
    expect(viewOf(['a'], [record('a')]).instructions()).toBeUndefined();
  });

  it('is named in the list that could not be read, and in no other', () => {
    const view = viewOf(
      ['a'],
      [
        record(
          'a',
          {},
          { problem: 'resources/list failed', unread: ['resources'], capabilities: { tools: {}, resources: {} } },
        ),
      ],
    );
    expect(read(view.list('resources', undefined))['_meta']).toEqual({
      [missingKey]: [{ server: 'a', problem: 'resources/list failed' }],
    });
    expect(read(view.list('tools', undefined))).toEqual({ tools: [] });
    expect(view.missingOwner('tools', 'x')).toBeUndefined();
    expect(view.missingOwner('resources')).toMatchObject({ server: 'a' });
  });

  it('is told from the name of a tool or prompt, from a name an operator gave, and where it is the only one', () => {
    const several = viewOf(['a', 'b', 'b__c'], [record('a'), down], { rename: new Map([['b/x', 'renamed']]) });
    expect(several.missingOwner('tools', 'b__x')).toEqual({ server: 'b', problem: 'its server answered 401' });
    expect(several.missingOwner('prompts', 'b__x')?.server).toBe('b');
    expect(several.missingOwner('tools', 'b__c__x')?.server).toBe('b__c');
    expect(several.missingOwner('tools', 'renamed')?.server).toBe('b');
    expect(several.missingOwner('tools', 'a__x')).toBeUndefined();
    expect(several.missingOwner('tools', 'x')).toBeUndefined();
    expect(viewOf(['b'], [down]).missingOwner('tools', 'x')?.server).toBe('b');
    expect(viewOf(['b'], []).missingOwner('tools', 'x')?.server).toBe('b');
  });

  it('is not told of a tool that the profile takes away', () => {
    const view = viewOf(['a', 'b'], [record('a'), down], { tools: ['!b/x'] });
    expect(view.missingOwner('tools', 'b__x')).toBeUndefined();
    expect(view.missingOwner('tools', 'b__y')?.server).toBe('b');
  });
});

describe('a capability', () => {
  it('is offered where a server has it by what is known of it last, also of one that is down, and `tools` always', () => {
    const view = viewOf(
      ['a', 'b', 'never'],
      [
        record('a'),
        record(
          'b',
          {},
          {
            status: 'down',
            problem: 'gone',
            capabilities: { prompts: {}, resources: { subscribe: true }, logging: {}, completions: {} },
          },
        ),
      ],
    );
    for (const name of ['tools', 'prompts', 'resources', 'resources.subscribe', 'logging', 'completions'] as const)
      expect(view.offers(name), name).toBe(true);
    const bare = viewOf(['a', 'never'], [record('a', {}, { capabilities: { resources: {} } })]);
    expect(
      (['tools', 'prompts', 'resources', 'resources.subscribe', 'logging', 'completions'] as const).filter((name) =>
        bare.offers(name),
      ),
    ).toEqual(['tools', 'resources']);
    expect(viewOf(['never'], []).offers('tools')).toBe(true);
    expect(viewOf(['never'], []).offers('completions')).toBe(false);
  });

  it('of completion is offered by a server that has no word for it, where there is something to complete', () => {
    const old = (capabilities: JsonObject): View =>
      viewOf(['a'], [record('a', {}, { revision: '2024-11-05', capabilities })]);
    expect(old({ tools: {} }).offers('completions')).toBe(false);
    expect(old({ prompts: {} }).offers('completions')).toBe(true);
  });
});

it("a server that is called in each user's own name is missing from the lists of a user for whom it has not been read, and not from those of others", () => {
  const ann = declaredBy({}, true, 'p_ann' as Principal);
  const ben = declaredBy({}, true, 'p_ben' as Principal);
  const view = viewOf(
    ['a', 'b'],
    [
      record(
        'a',
        {},
        {
          owners: { [ownerKey(ann)]: 'own 1' },
          offers: [{ key: 'own 1', lists: { tools: { entries: [tool('hers')], without: [] } } }],
        },
      ),
      record('b', { tools: [tool('act')] }),
    ],
  );
  const [hers, his] = [view.differing(ann)?.make(), view.differing(ben)?.make()];
  expect([hers?.missing('tools'), hers?.toolRoute('a__hers')?.original]).toEqual([[], 'hers']);
  expect([his?.missingOwner('tools', 'a__hers')?.server, his?.missingOwner('tools', 'b__hers')]).toEqual([
    'a',
    undefined,
  ]);
  expect(view.differing(declaredBy({}, true))).toBeUndefined();
});
