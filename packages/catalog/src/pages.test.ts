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
import { View } from './view.ts';

const page = 'ui://app/page.html';
const [a, b] = ['a', 'b'] as [ServerName, ServerName];
const tool = (name: string, meta: JsonObject): ToolEntry => ({ name, inputSchema: { type: 'object' }, _meta: meta });

function viewOf(records: Record<string, Partial<CatalogRecord['lists']>>): View {
  const servers = Object.keys(records) as ServerName[];
  return new View(
    { endpoint: rootEndpoint, servers, prefix: 'auto', rename: new Map(), pin: new Map(), pageSize: 100 },
    new Map(
      servers.map((server) => [
        server,
        {
          server,
          status: 'up',
          capabilities: { tools: {}, resources: {} },
          lists: { ...noLists, ...records[server] },
          announcements: noAnnouncements,
        },
      ]),
    ),
  );
}

const metaOf = (view: View, name: string): unknown =>
  (JSON.parse(view.list('tools', undefined) ?? '{}') as { tools: ToolEntry[] }).tools.find(
    (each) => each.name === name,
  )?.['_meta'];

it('two servers with one address of a page show each its own, by an address that hosts take', () => {
  const shows = { ui: { resourceUri: page, visibility: ['model'] }, 'ui/resourceUri': page, other: page };
  const view = viewOf({
    a: { tools: [tool('show', shows)], resources: [{ uri: page, name: 'page' }] },
    b: { tools: [tool('show', shows)], resources: [{ uri: page, name: 'page' }] },
  });
  const alias = 'ui://omnibus/b/app/page.html';
  expect(metaOf(view, 'a__show')).toEqual(shows);
  expect(metaOf(view, 'b__show')).toEqual({
    ui: { resourceUri: alias, visibility: ['model'] },
    'ui/resourceUri': alias,
    other: page,
  });
  expect(view.list('resources', undefined)).toContain(alias);
  expect(view.resourceRoute(page)).toEqual({ server: a, original: page });
  expect(view.resourceRoute(alias)).toEqual({ server: b, original: page });
  expect(view.resourceRoute(`omnibus://b/${page}`)).toEqual({ server: b, original: page });
  expect(JSON.parse(view.modernList('tools', undefined) ?? '')).toEqual(
    JSON.parse(view.list('tools', undefined) ?? ''),
  );
  // A caller that does not see the other server learns nothing of it.
  const ofB = view.seenBy({
    name: 'b',
    sees: (_kind, server) => server === b,
    seesServer: (server) => server === b,
    mayEverythingOf: () => false,
  });
  expect(metaOf(ofB, 'b__show')).toEqual(shows);
  expect([ofB.list('resources', undefined), ofB.list('tools', undefined)].join('')).not.toContain('omnibus/b');
  expect(ofB.resourceRoute(page)).toEqual({ server: b, original: page });
});

it('a page that only a tool names belongs to its server, and so does one of the Apps SDK', () => {
  const view = viewOf({
    a: { tools: [tool('show', { ui: { resourceUri: page } })] },
    b: { tools: [tool('show', { 'openai/outputTemplate': page })] },
  });
  expect(view.resourceRoute(page)).toEqual({ server: a, original: page });
  expect(metaOf(view, 'b__show')).toEqual({ 'openai/outputTemplate': 'ui://omnibus/b/app/page.html' });
});

it('what is no page stays as the server says it', () => {
  const odd = { ui: { resourceUri: 'https://x/page' }, 'ui/resourceUri': 5 };
  const view = viewOf({
    a: { resources: [{ uri: 'https://x/page', name: 'x' }] },
    b: { tools: [tool('show', odd), tool('none', { ui: null })], resources: [{ uri: 'https://x/page', name: 'x' }] },
  });
  expect(metaOf(view, 'b__show')).toEqual(odd);
  expect(metaOf(view, 'b__none')).toEqual({ ui: null });
});
