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
  type ToolEntry,
} from '@omnibus/protocol';
import type { EndpointDefinition } from './profile.ts';
import { View } from './view.ts';

function record(name: string, lists: Partial<CatalogLists>, more: Partial<CatalogRecord> = {}): CatalogRecord {
  return {
    server: parseServerName(name),
    status: 'up',
    capabilities: { tools: {}, resources: {} },
    lists: { ...noLists, ...lists },
    announcements: noAnnouncements,
    ...more,
  };
}

function definition(servers: string[], more: Partial<EndpointDefinition> = {}): EndpointDefinition {
  return {
    endpoint: parseEndpointName(''),
    servers: servers.map(parseServerName),
    prefix: 'auto',
    rename: new Map(),
    pin: new Map(),
    pageSize: 100,
    ...more,
  };
}

function catalog(...records: CatalogRecord[]): Map<ServerName, CatalogRecord> {
  return new Map(records.map((each) => [each.server, each]));
}

const tool = (name: string, properties: object = {}) => ({
  name,
  inputSchema: { type: 'object', properties, required: Object.keys(properties) },
});
const resource = (uri: string) => ({ uri, name: uri });
const namesOf = (view: View): string[] =>
  (JSON.parse(view.list('tools', undefined) as string) as { tools: { name: string }[] }).tools.map(({ name }) => name);

describe('a view', () => {
  it('reads the names of a list once, however many unknown names are asked for', () => {
    let reads = 0;
    const listed = {
      ...tool('x'),
      get name() {
        reads += 1;
        return 'get_it';
      },
    };
    const view = new View(definition(['a'], { isOpen: true }), catalog(record('a', { tools: [listed] })));
    expect(view.unlisted('tools', 'Get-It')).toBeUndefined();
    const before = reads;
    expect(view.unlisted('tools', 'one')).toMatchObject({ original: 'one' });
    expect(view.unlisted('tools', 'GetIt')).toBeUndefined();
    expect(reads).toBe(before);
  });

  it('prefixes names when the endpoint has several servers, and not when it has one', () => {
    const records = catalog(record('a', { tools: [tool('x')] }), record('b', { tools: [tool('x')] }));
    expect(namesOf(new View(definition(['a', 'b']), records))).toEqual(['a__x', 'b__x']);
    expect(namesOf(new View(definition(['b']), records))).toEqual(['x']);
    expect(namesOf(new View(definition(['a', 'b'], { prefix: 'never' }), records))).toEqual(['a__x', 'b__x']);
  });

  it('is the same bytes whatever order servers connected in', () => {
    const a = record('a', { tools: [tool('x')] });
    const b = record('b', { tools: [tool('y')] });
    const one = new View(definition(['a', 'b']), catalog(a, b));
    const two = new View(definition(['a', 'b']), catalog(b, a));
    expect(one.list('tools', undefined)).toBe(two.list('tools', undefined));
    expect(one.versions).toEqual(two.versions);
  });

  it('lists no tool of a server that is down, but still knows whose it is', () => {
    const view = new View(
      definition(['a', 'b']),
      catalog(record('a', { tools: [tool('x')] }, { status: 'down' }), record('b', {})),
    );
    expect(namesOf(view)).toEqual([]);
    expect(view.toolRoute('a__x')).toMatchObject({ server: 'a', original: 'x' });
  });

  it('pages a list, and refuses cursors of another list or another state of it', () => {
    const tools = ['1', '2', '3', '4', '5'].map((name) => tool(name));
    const view = new View(definition(['a'], { pageSize: 2 }), catalog(record('a', { tools })));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = JSON.parse(view.list('tools', cursor) as string) as {
        tools: { name: string }[];
        nextCursor?: string;
      };
      seen.push(...page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(['1', '2', '3', '4', '5']);
    const next = (JSON.parse(view.list('tools', undefined) as string) as { nextCursor: string }).nextCursor;
    expect(view.list('prompts', next)).toBeUndefined();
    expect(view.list('tools', '')).toBeUndefined();
    expect(view.list('tools', `${next}9`)).toBeUndefined();
    const changed = new View(definition(['a'], { pageSize: 2 }), catalog(record('a', { tools: tools.slice(1) })));
    expect(changed.list('tools', next)).toBeUndefined();
  });

  it('selects, renames and pins what a profile says', () => {
    const view = new View(
      definition(['a', 'b'], {
        tools: ['a/get_*', 'b/*', '!b/drop'],
        rename: new Map([['a/get_one', 'one']]),
        pin: new Map([['b/search', { scope: 'mine' }]]),
      }),
      catalog(
        record('a', { tools: [tool('get_one'), tool('set_one')] }),
        record('b', { tools: [tool('drop'), tool('search', { scope: {}, text: {} })] }),
      ),
    );
    expect(namesOf(view)).toEqual(['one', 'b__search']);
    expect(view.toolRoute('b__search')).toMatchObject({ server: 'b', original: 'search', pinned: { scope: 'mine' } });
    const [, search] = (JSON.parse(view.list('tools', undefined) as string) as { tools: { inputSchema: object }[] })
      .tools;
    expect(search?.inputSchema).toEqual({ type: 'object', properties: { text: {} }, required: ['text'] });
  });

  it('routes a URI by its owner, then by the most specific template', () => {
    const view = new View(
      definition(['a', 'b']),
      catalog(
        record('a', {
          resources: [resource('file:///x')],
          resourceTemplates: [{ name: 't', uriTemplate: 'db://{table}/{id}' }],
        }),
        record('b', {
          resourceTemplates: [
            { name: 't', uriTemplate: 'db://users/{id}' },
            { name: 'all', uriTemplate: 'web://{+rest}' },
          ],
        }),
      ),
    );
    expect(view.resourceRoute('file:///x')?.server).toBe('a');
    expect(view.resourceRoute('db://users/1')?.server).toBe('b');
    expect(view.resourceRoute('db://orders/1')?.server).toBe('a');
    expect(view.resourceRoute('web://a/b?c')?.server).toBe('b');
    expect(view.resourceRoute('db://orders/1/2')).toBeUndefined();
  });

  it('gives the later of two servers with one URI an alias that leads back to it', () => {
    const view = new View(
      definition(['a', 'b']),
      catalog(
        record('a', { resources: [resource('file:///x?q#f')] }),
        record('b', { resources: [resource('file:///x?q#f')] }),
      ),
    );
    const { resources } = JSON.parse(view.list('resources', undefined) as string) as { resources: { uri: string }[] };
    expect(resources.map(({ uri }) => view.resourceRoute(uri))).toEqual([
      { server: 'a', original: 'file:///x?q#f' },
      { server: 'b', original: 'file:///x?q#f' },
    ]);
  });

  it('says which lists changed: those that read differently and those a server announced', () => {
    const before = new View(definition(['a']), catalog(record('a', { tools: [tool('x')] })));
    const other = new View(definition(['a']), catalog(record('a', { tools: [tool('y')] })));
    const announced = new View(
      definition(['a']),
      catalog(record('a', { tools: [tool('x')] }, { announcements: { ...noAnnouncements, prompts: 1 } })),
    );
    expect(before.changesSince(before)).toEqual([]);
    expect(other.changesSince(before)).toEqual(['tools']);
    expect(announced.changesSince(before)).toEqual(['prompts']);
  });

  it('of one server whose tool nests 6,000 deep lacks that tool, and nothing else', () => {
    let deep: object = { type: 'string' };
    for (let level = 0; level < 6_000; level += 1) deep = { items: deep };
    const bad = record('bad', {
      tools: [
        { name: 'in', inputSchema: { ...(deep as JsonObject), type: 'object' } },
        { name: 'out', inputSchema: { type: 'object' }, outputSchema: { type: 'array', items: deep } },
        tool('fine'),
      ],
      prompts: [{ name: 'p', _meta: deep }],
      resources: [{ uri: 'x://1', name: 'r', _meta: deep }, resource('x://2')],
      resourceTemplates: [{ uriTemplate: 'x://{a}', name: 't', _meta: deep }],
    });
    const view = new View(definition(['good', 'bad']), catalog(record('good', { tools: [tool('x')] }), bad));
    expect(namesOf(view)).toEqual(['good__x', 'bad__fine']);
    expect(view.modernList('tools', undefined)).toContain('bad__fine');
    expect(view.list('prompts', undefined)).toBe('{"prompts":[]}');
    expect(view.list('resources', undefined)).toContain('x://2');
    expect(view.problems.map(({ server }) => server)).toContain('bad');
    expect(view.problems.every(({ server }) => server === 'bad')).toBe(true);
  });

  it('leaves an invalid record out, whichever process wrote it', () => {
    const good = record('good', { tools: [tool('x')] });
    for (const broken of [
      {},
      { capabilities: {}, lists: {}, announcements: {} },
      { ...good, lists: { ...good.lists, tools: [null] } },
      { ...good, lists: { ...good.lists, resources: {} } },
      { ...good, capabilities: null },
    ]) {
      const view = new View(
        definition(['good', 'bad']),
        catalog(good, { ...broken, server: 'bad' } as unknown as CatalogRecord),
      );
      expect(namesOf(view)).toEqual(['good__x']);
      expect(view.problems).toEqual([{ server: 'bad', problem: 'its record in the catalogue is not one' }]);
    }
  });

  it("shows the members of a server's entries unchanged, whatever their type, if nothing is computed from them", () => {
    const odd = {
      name: 'odd',
      inputSchema: { type: 7, properties: [], required: 'x' },
      outputSchema: 'none',
      annotations: 5,
      execution: [],
      title: {},
      icons: [{ src: 'javascript:alert(1)' }],
      _meta: { x: 'y' },
    };
    const view = new View(
      definition(['a'], { pin: new Map([['a/odd', { a: 1 }]]) }),
      catalog(record('a', { tools: [odd as unknown as ToolEntry] })),
    );
    expect(JSON.parse(view.list('tools', undefined) as string)).toEqual({
      tools: [{ ...odd, inputSchema: { ...odd.inputSchema, properties: {} } }],
    });
  });

  it('ends a page early when its entries are large', () => {
    const tools = Array.from({ length: 20 }, (_, index) => ({
      name: `t${index}`,
      description: 'x'.repeat(900_000),
      inputSchema: { type: 'object' },
    }));
    const view = new View(definition(['a']), catalog(record('a', { tools })));
    expect((view.list('tools', undefined) as string).length).toBeLessThan(6_000_000);
    const seen: string[] = [];
    for (let cursor: string | undefined, page = 0; page === 0 || cursor !== undefined; page += 1) {
      const list = JSON.parse(view.list('tools', cursor) as string) as {
        tools: { name: string }[];
        nextCursor?: string;
      };
      seen.push(...list.tools.map(({ name }) => name));
      cursor = list.nextCursor;
    }
    expect(seen).toEqual(tools.map(({ name }) => name));
  });

  it('refuses a cursor that was not handed out, of any form and length', () => {
    const view = new View(definition(['a'], { pageSize: 1 }), catalog(record('a', { tools: [tool('1'), tool('2')] })));
    const { nextCursor } = JSON.parse(view.list('tools', undefined) as string) as { nextCursor: string };
    expect(view.list('tools', nextCursor)).toBeDefined();
    for (const forged of [
      '.'.repeat(8_000_000),
      nextCursor.replace(/1$/, '0'),
      nextCursor.replace(/1$/, '-1'),
      nextCursor.replace(/1$/, '01'),
      nextCursor.replace(/1$/, '1e0'),
      nextCursor.replace(/1$/, '9'.repeat(400)),
      '__proto__',
      'tools..1',
    ]) {
      expect(view.list('tools', forged), forged.slice(0, 40)).toBeUndefined();
    }
  });

  it('gives the words of each server an equal share, so that no server talks the others away', () => {
    const view = new View(
      definition(['a', 'b']),
      catalog(
        record('a', {}, { instructions: 'a'.repeat(100_000) }),
        record('b', {}, { instructions: 'Use me for weather.' }),
      ),
    );
    expect(view.instructions()).toContain('Use me for weather.');
    expect((view.instructions() as string).length).toBeLessThan(17_000);
  });

  it('removes tools that a profile excludes, also those whose names begin with a dot', () => {
    const view = new View(
      definition(['a'], { tools: ['!a/*'] }),
      catalog(record('a', { tools: [tool('.hidden'), tool('plain')] })),
    );
    expect(namesOf(view)).toEqual([]);
  });
});
