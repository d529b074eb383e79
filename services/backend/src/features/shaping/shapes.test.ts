import { expect, it } from 'vitest';
import { noAnnouncements, noLists, parseServerName, type CatalogRecord, type ToolEntry } from '@omnibus/protocol';
import { sourceOf, unshaped } from '../../catalog/record-shape.ts';
import { ServerShapes } from './shapes.ts';

const toolOf = (...names: readonly string[]): ToolEntry => ({
  name: 'act',
  inputSchema: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) },
});
const shapes = new ServerShapes(new Map([['act', { arguments: { org: { fixed: 'acme' } } }]]));
const common: CatalogRecord = {
  server: parseServerName('desk'),
  status: 'up',
  capabilities: { tools: {} },
  lists: { ...noLists, tools: [toolOf('org', 'q')] },
  announcements: noAnnouncements,
};
const argumentsOf = ({ lists: { tools } }: CatalogRecord): unknown =>
  tools.map(({ inputSchema }) => Object.keys((inputSchema as { properties: object }).properties));

it('equal lists stay the same object, and lead back to those of the server', () => {
  const shaped = shapes.record(common);
  expect(argumentsOf(shaped)).toEqual([['q']]);
  expect(shapes.record({ ...common, status: 'down' }).lists).toBe(shaped.lists);
  expect(sourceOf(shaped.lists.tools[0] as ToolEntry)).toBe(common.lists.tools[0]);
  expect(unshaped(shaped.lists)).toEqual(common.lists);
  // Lists that are shaped already are shaped from those of the server.
  expect(shapes.record(shaped)).toEqual(shaped);
});

it('lists of single users are shaped, and a tool that fits for some is away for the others', () => {
  const offer = (key: string, entry: ToolEntry) => ({ key, lists: { tools: { entries: [entry], without: [] } } });
  const record = shapes.record({
    ...common,
    owners: { ann: 'a', bob: 'b' },
    offers: [offer('a', toolOf('org', 'q', 'more')), offer('b', toolOf('q'))],
  });
  const [ofAnn, ofBob] = record.offers ?? [];
  expect(argumentsOf({ ...common, lists: { ...noLists, tools: ofAnn?.lists.tools?.entries as ToolEntry[] } })).toEqual([
    ['q', 'more'],
  ]);
  expect(ofBob).toEqual({
    key: 'b',
    lists: { tools: { entries: [], without: ['act'] } },
    unfit: [{ kind: 'tools', name: 'act', problem: expect.stringContaining('has no argument "org"') as string }],
  });
});

it('a tool that fits for callers with a capability is there for them, if it is away for all others', () => {
  const record = shapes.record({
    ...common,
    lists: { ...noLists, tools: [toolOf('q')] },
    offers: [{ key: 'k', lists: { tools: { entries: [toolOf('org', 'q')], without: [] } } }],
  });
  expect(record.lists.tools).toEqual([]);
  expect(record.leftOut).toBe(1);
  expect(record.offers?.[0]).toMatchObject({ lists: { tools: { entries: [{ name: 'act' }] } }, unfit: [] });
});
