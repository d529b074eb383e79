import { describe, expect, it } from 'vitest';
import {
  noAnnouncements,
  noLists,
  parseEndpointName,
  parseServerName,
  type CatalogLists,
  type CatalogRecord,
  type JsonObject,
  type ServerName,
} from '@omnibus/protocol';
import type { EndpointDefinition } from './profile.ts';
import type { Sight } from './sight.ts';
import { View } from './view.ts';

const [a, b] = [parseServerName('a'), parseServerName('b')];

function record(server: ServerName, lists: Partial<CatalogLists>, more: Partial<CatalogRecord> = {}): CatalogRecord {
  return {
    server,
    status: 'up',
    capabilities: { tools: {} },
    lists: { ...noLists, ...lists },
    announcements: noAnnouncements,
    ...more,
  };
}

const tool = (name: string): JsonObject & { readonly name: string; readonly inputSchema: JsonObject } => ({
  name,
  inputSchema: { type: 'object' },
});
const resource = (uri: string): JsonObject & { readonly uri: string; readonly name: string } => ({ uri, name: uri });
const definition: EndpointDefinition = {
  endpoint: parseEndpointName(''),
  servers: [a, b],
  prefix: 'auto',
  rename: new Map([['b/x', 'renamed']]),
  pin: new Map(),
  pageSize: 2,
};
const records = [
  record(
    a,
    {
      tools: [tool('x'), tool('y'), tool('z')],
      resources: [resource('u:same'), resource('u:a')],
      resourceTemplates: [{ uriTemplate: 'u:one/{id}', name: 'one' }],
    },
    { capabilities: { tools: {}, resources: {} }, instructions: 'of a' },
  ),
  record(
    b,
    { tools: [tool('x')], resources: [resource('u:same')] },
    { capabilities: { tools: {}, resources: {} }, instructions: 'of b' },
  ),
];
const viewOf = (...all: readonly CatalogRecord[]): View =>
  new View(definition, new Map(all.map((each) => [each.server, each])));
const sightOf = (sees: (key: string) => boolean, seesServer: (server: string) => boolean = () => false): Sight => ({
  name: 'test',
  sees: (kind, server, name) => sees(`${kind} ${server}/${name}`),
  seesServer,
  mayEverythingOf: () => false,
});
const toolsOf = (view: View, isModern = false): unknown[] => {
  const names: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = JSON.parse((isModern ? view.modernList('tools', cursor) : view.list('tools', cursor)) as string) as {
      readonly tools: readonly JsonObject[];
      readonly nextCursor?: string;
    };
    names.push(...page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return names;
};

describe('a view with less in it', () => {
  it('has the names that everybody sees, page by page, in both eras', () => {
    const seen = viewOf(...records).seenBy(sightOf((key) => /\/[xz]$/.test(key)));
    for (const isModern of [false, true]) expect(toolsOf(seen, isModern)).toEqual(['a__x', 'a__z', 'renamed']);
    expect([seen.toolRoute('a__y'), seen.toolRoute('a__z')?.original, seen.toolRoute('renamed')?.server]).toEqual([
      undefined,
      'z',
      'b',
    ]);
    const only = viewOf(...records).seenBy(sightOf((key) => key === 'tool b/x'));
    expect([toolsOf(only), only.isPrefixed, only.instructions()]).toEqual([['renamed'], true, 'of b']);
  });

  it('shares the pages of a list of which nothing is taken away, and says by its version when it reads differently', () => {
    const whole = viewOf(...records);
    const all = whole.seenBy(sightOf(() => true));
    const kept = { length: 0 };
    all.keepPages(kept);
    expect([all.list('tools', undefined), all.versions, kept.length]).toEqual([
      whole.list('tools', undefined),
      whole.versions,
      0,
    ]);
    const less = whole.seenBy(sightOf((key) => key.startsWith('tool a')));
    expect(less.changesSince(whole)).toEqual(['tools', 'resources']);
    // An entry removed for all never existed for callers that could not see it.
    const later = viewOf(records[0] as CatalogRecord).seenBy(sightOf((key) => key.startsWith('tool a')));
    expect(later.changesSince(less)).toEqual([]);
    expect(later.freshness('tools', 0).cacheScope).toBe('private');
    expect([toolsOf(less).length, kept.length]).toEqual([3, 0]);
    less.keepPages(kept);
    const read = (): number[] => [toolsOf(less).length, toolsOf(less, true).length, kept.length];
    const [, , length] = read();
    expect([read(), length]).toEqual([[3, 3, length], expect.toSatisfy((each: number) => each > 0)]);
    less.dropPages();
    expect([kept.length, ...read()]).toEqual([0, 3, 3, 0]);
    less.keepPages(kept);
    expect(read()).toEqual([3, 3, length]);
  });

  it('finds no URI that may not be seen, by none of its names; what may be is found under its own, as if there were no other', () => {
    const whole = viewOf(...records);
    const ofB = whole.seenBy(sightOf((key) => key === 'resource b/u:same'));
    expect([
      ofB.resourceRoute('u:same'),
      ofB.resourceRoute('omnibus://b/u:same'),
      ofB.resourceRoute('omnibus://a/u:same'),
      ofB.resourceRoute('u:one/7'),
    ]).toEqual([{ server: 'b', original: 'u:same' }, { server: 'b', original: 'u:same' }, undefined, undefined]);
    expect(
      (
        JSON.parse(ofB.list('resources', undefined) as string) as { readonly resources: readonly JsonObject[] }
      ).resources.map(({ uri }) => uri),
    ).toEqual(['u:same']);
    expect([whole, ofB].map((view) => view.resources.publicUri(b, 'u:same'))).toEqual(['omnibus://b/u:same', 'u:same']);
    expect(JSON.stringify(ofB.list('resources', undefined))).not.toContain('omnibus:');
    expect([ofB.mayHave(a, 'u:a'), ofB.mayHave(b, 'u:same'), ofB.mayHave(b, 'u:b'), whole.mayHave(b, 'u:b')]).toEqual([
      false,
      true,
      false,
      true,
    ]);
    const ofA = whole.seenBy(sightOf((key) => key.startsWith('resource a/u:one/')));
    expect([ofA.resourceRoute('u:one/7')?.server, ofA.resourceRoute('u:a')]).toEqual(['a', undefined]);
  });

  it('tells of no server that is out of sight: not that it is missing, not what it says', () => {
    const down = viewOf(
      record(a, { tools: [tool('x')] }, { status: 'down', problem: 'the secret reason' }),
      records[1] as CatalogRecord,
    );
    const seen = down.seenBy(sightOf((key) => key.startsWith('tool b')));
    expect([
      seen.missing('tools'),
      seen.list('tools', undefined)?.includes('secret'),
      seen.instructions(),
      seen.record(a),
      seen.definition.servers,
    ]).toEqual([[], false, 'of b', undefined, ['b']]);
    const unreached = viewOf(records[1] as CatalogRecord);
    expect(
      unreached
        .seenBy(
          sightOf(
            () => false,
            (server) => server === 'a',
          ),
        )
        .missing('tools')
        .map(({ server }) => server),
    ).toEqual(['a']);
    expect(unreached.seenBy(sightOf(() => false)).definition.servers).toEqual([]);
  });

  it('knows for those who record it what it does not show', () => {
    const seen = viewOf(...records).seenBy(sightOf((key) => key === 'tool a/x'));
    expect([
      seen.hidden('tool', 'renamed')?.server,
      seen.hidden('tool', 'a__x'),
      seen.hidden('tool', 'none'),
      viewOf(...records).hidden('tool', 'a__x'),
    ]).toEqual(['b', undefined, undefined, undefined]);
  });
});
