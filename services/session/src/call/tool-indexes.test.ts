import { expect, it } from 'vitest';
import { View, type EndpointDefinition } from '@omnibus/catalog';
import { latestModernRevision, noAnnouncements, noLists, parseServerName, rootEndpoint } from '@omnibus/protocol';
import { Indexes } from './tool-indexes.ts';

const server = parseServerName('files');
const definition: EndpointDefinition = {
  endpoint: rootEndpoint,
  servers: [server],
  prefix: 'auto',
  rename: new Map(),
  pin: new Map(),
  pageSize: 100,
};

const viewOf = (name: string, more: readonly string[] = []): View =>
  new View(
    definition,
    new Map([
      [
        server,
        {
          server,
          status: 'up',
          revision: latestModernRevision,
          capabilities: { tools: {} },
          announcements: noAnnouncements,
          lists: {
            ...noLists,
            tools: [name, ...more].map((each) => ({ name: each, inputSchema: { type: 'object' } })),
          },
        },
      ],
    ]),
  );

it('the index of a view is made once', () => {
  const indexes = new Indexes();
  const view = viewOf('read');
  expect(indexes.of(view)).toBe(indexes.of(view));
  expect(indexes.bytes).toBe(indexes.of(view).index.bytes);
});

it('indexes that were used least recently are dropped at the bound on bytes, and never the one that is asked for', () => {
  const [one, two, three] = ['read', 'seek', 'copy'].map((name) => viewOf(name)) as [View, View, View];
  const each = new Indexes().of(one).index.bytes;
  const indexes = new Indexes(2 * each);
  const [first, second] = [indexes.of(one), indexes.of(two)];
  expect(indexes.of(one)).toBe(first);
  indexes.of(three);
  expect(indexes.bytes).toBe(2 * each);
  expect(indexes.of(one)).toBe(first);
  expect(indexes.of(two)).not.toBe(second);
  expect(new Indexes(0).of(one).tools).toHaveLength(1);
  indexes.clear();
  expect(indexes.bytes).toBe(0);
});

it('the index of many tools is made once, in steps, and that of few at the first question', async () => {
  const indexes = new Indexes();
  expect(indexes.ready(viewOf('read'))).toBeUndefined();
  const view = viewOf(
    'read',
    Array.from({ length: 500 }, (_none, at) => `tool${at}`),
  );
  const made = indexes.ready(view);
  expect(indexes.ready(view)).toBe(made);
  expect(indexes.bytes).toBe(0);
  await made;
  expect(indexes.ready(view)).toBeUndefined();
  const { bytes } = indexes;
  expect(bytes).toBeGreaterThan(0);
  expect(indexes.of(view).tools).toHaveLength(501);
  expect(indexes.bytes).toBe(bytes);
});
