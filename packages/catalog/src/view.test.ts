import { describe, expect, it } from 'vitest';
import { noAnnouncements, noLists, parseEndpointName, parseServerName, type CatalogLists, type CatalogRecord, type ServerName } from '@omnibus/protocol';
import type { EndpointDefinition } from './profile.ts';
import { View } from './view.ts';

function record(name: string, lists: Partial<CatalogLists>, more: Partial<CatalogRecord> = {}): CatalogRecord {
  return { server: parseServerName(name), status: 'up', capabilities: { tools: {}, resources: {} }, lists: { ...noLists, ...lists }, announcements: noAnnouncements, ...more };
}

function definition(servers: string[], more: Partial<EndpointDefinition> = {}): EndpointDefinition {
  return { endpoint: parseEndpointName(''), servers: servers.map(parseServerName), prefix: 'auto', rename: new Map(), pin: new Map(), pageSize: 100, ...more };
}

function catalog(...records: CatalogRecord[]): Map<ServerName, CatalogRecord> {
  return new Map(records.map((each) => [each.server, each]));
}

const tool = (name: string, properties: object = {}) => ({ name, inputSchema: { type: 'object', properties, required: Object.keys(properties) } });
const resource = (uri: string) => ({ uri, name: uri });
const namesOf = (view: View): string[] => (JSON.parse(view.list('tools', undefined) as string) as { tools: { name: string }[] }).tools.map(({ name }) => name);

describe('a view', () => {
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
    const view = new View(definition(['a', 'b']), catalog(record('a', { tools: [tool('x')] }, { status: 'down' }), record('b', {})));
    expect(namesOf(view)).toEqual([]);
    expect(view.toolRoute('a__x')).toMatchObject({ server: 'a', original: 'x' });
  });

  it('pages a list, and refuses cursors of another list or another state of it', () => {
    const tools = ['1', '2', '3', '4', '5'].map((name) => tool(name));
    const view = new View(definition(['a'], { pageSize: 2 }), catalog(record('a', { tools })));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = JSON.parse(view.list('tools', cursor) as string) as { tools: { name: string }[]; nextCursor?: string };
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
        tools: ['a/get_*', 'b/*', '!b/drop'], rename: new Map([['a/get_one', 'one']]), pin: new Map([['b/search', { scope: 'mine' }]]),
      }),
      catalog(record('a', { tools: [tool('get_one'), tool('set_one')] }), record('b', { tools: [tool('drop'), tool('search', { scope: {}, text: {} })] })),
    );
    expect(namesOf(view)).toEqual(['one', 'b__search']);
    expect(view.toolRoute('b__search')).toMatchObject({ server: 'b', original: 'search', pinned: { scope: 'mine' } });
    const [, search] = (JSON.parse(view.list('tools', undefined) as string) as { tools: { inputSchema: object }[] }).tools;
    expect(search?.inputSchema).toEqual({ type: 'object', properties: { text: {} }, required: ['text'] });
  });

  it('routes a URI by its owner, then by the most specific template', () => {
    const view = new View(definition(['a', 'b']), catalog(
      record('a', { resources: [resource('file:///x')], resourceTemplates: [{ name: 't', uriTemplate: 'db://{table}/{id}' }] }),
      record('b', { resourceTemplates: [{ name: 't', uriTemplate: 'db://users/{id}' }, { name: 'all', uriTemplate: 'web://{+rest}' }] }),
    ));
    expect(view.resourceRoute('file:///x')?.server).toBe('a');
    expect(view.resourceRoute('db://users/1')?.server).toBe('b');
    expect(view.resourceRoute('db://orders/1')?.server).toBe('a');
    expect(view.resourceRoute('web://a/b?c')?.server).toBe('b');
    expect(view.resourceRoute('db://orders/1/2')).toBeUndefined();
  });

  it('gives the later of two servers with one URI an alias that leads back to it', () => {
    const view = new View(definition(['a', 'b']), catalog(record('a', { resources: [resource('file:///x?q#f')] }), record('b', { resources: [resource('file:///x?q#f')] })));
    const { resources } = JSON.parse(view.list('resources', undefined) as string) as { resources: { uri: string }[] };
    expect(resources.map(({ uri }) => view.resourceRoute(uri))).toEqual([{ server: 'a', original: 'file:///x?q#f' }, { server: 'b', original: 'file:///x?q#f' }]);
  });

  it('says which lists changed: those that read differently and those a server announced', () => {
    const before = new View(definition(['a']), catalog(record('a', { tools: [tool('x')] })));
    const other = new View(definition(['a']), catalog(record('a', { tools: [tool('y')] })));
    const announced = new View(definition(['a']), catalog(record('a', { tools: [tool('x')] }, { announcements: { ...noAnnouncements, prompts: 1 } })));
    expect(before.changesSince(before)).toEqual([]);
    expect(other.changesSince(before)).toEqual(['tools']);
    expect(announced.changesSince(before)).toEqual(['prompts']);
  });
});
