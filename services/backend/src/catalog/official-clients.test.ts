/** Lists of odd servers as the official clients read them: each client checks a list as a whole, so one entry must never take the others from it. */
import { Client as NewClient, InMemoryTransport as NewPipe } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { View } from '@omnibus/catalog';
import {
  defaultLimits,
  isObject,
  latestLegacyRevision,
  listKinds,
  listMethods,
  noAnnouncements,
  RepairCounts,
  rootEndpoint,
  type CatalogLists,
  type CatalogRecord,
  type JsonObject,
  type ListKind,
  type ServerName,
  type UnfitEntry,
} from '@omnibus/protocol';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OutputSchemas } from './output-schemas.ts';
import { readList } from './reader.ts';

type Lists = Partial<Record<ListKind, readonly unknown[]>>;

/** What one server says, as the gateway reads it. */
async function readAll(said: Lists, { isEnforced = false } = {}) {
  const repairs = isEnforced ? undefined : new RepairCounts();
  const [lists, unfit]: [Partial<Record<ListKind, unknown>>, UnfitEntry[]] = [{}, []];
  const outputSchemas = new OutputSchemas();
  for (const kind of listKinds) {
    const result = { [kind]: said[kind] ?? [] };
    const reading = await readList(kind, () => Promise.resolve({ kind: 'result', result }), {
      limits: defaultLimits,
      repairs,
      outputSchemas,
    });
    if ('failed' in reading) throw new Error(reading.failed);
    lists[kind] = reading.entries;
    unfit.push(...reading.problems);
  }
  return { lists: lists as unknown as CatalogLists, unfit, repairs: repairs?.rows ?? [] };
}

const sound: Record<ListKind, JsonObject> = {
  tools: { name: 'sound', inputSchema: { type: 'object' } },
  prompts: { name: 'sound' },
  resources: { uri: 'test://sound', name: 'sound' },
  resourceTemplates: { uriTemplate: 'test://sound/{id}', name: 'sound' },
};

const recordOf = (server: string, lists: CatalogLists, unfit: readonly UnfitEntry[] = []): CatalogRecord => ({
  server: server as ServerName,
  status: 'up',
  revision: latestLegacyRevision,
  capabilities: { tools: {}, prompts: {}, resources: {} },
  lists,
  unfit,
  announcements: noAnnouncements,
});

/** The endpoint of all servers, one of which says odd things. */
async function viewOf(said: Lists): Promise<View> {
  const [odd, good] = await Promise.all([
    readAll(said),
    readAll(Object.fromEntries(listKinds.map((kind) => [kind, [sound[kind]]]))),
  ]);
  return new View(
    {
      endpoint: rootEndpoint,
      prefix: 'always',
      servers: ['odd', 'good'] as ServerName[],
      pin: new Map(),
      rename: new Map(),
      pageSize: 1_000,
    },
    new Map([
      ['odd' as ServerName, recordOf('odd', odd.lists, odd.unfit)],
      ['good' as ServerName, recordOf('good', good.lists)],
    ]),
  );
}

/** Answers the messages of a client as the gateway would, from the view of the test. */
let view: View;
function answer({ method, params }: { readonly method: string; readonly params?: JsonObject }): JsonObject {
  if (method === 'initialize')
    return {
      protocolVersion: params?.['protocolVersion'],
      capabilities: { tools: {}, prompts: {}, resources: {} },
      serverInfo: { name: 'gateway', version: '1' },
    };
  const kind = listKinds.find((each) => listMethods[each] === method);
  if (kind === undefined) throw new Error(`not expected: ${method}`);
  return JSON.parse(view.list(kind, undefined) ?? '{}') as JsonObject;
}

interface Pipe {
  onmessage?: ((message: never) => void) | undefined;
  start(): Promise<void>;
  send(message: never): Promise<void>;
}

async function serve(pipe: Pipe): Promise<void> {
  pipe.onmessage = (message: { readonly id?: number; readonly method: string; readonly params?: JsonObject }) => {
    if (message.id === undefined) return;
    void pipe.send({ jsonrpc: '2.0', id: message.id, result: answer(message) } as never);
  };
  await pipe.start();
}

const older = new Client({ name: 'older', version: '1' });
const newer = new NewClient({ name: 'newer', version: '1' });

beforeAll(async () => {
  const [mine, its] = InMemoryTransport.createLinkedPair();
  await serve(its as unknown as Pipe);
  await older.connect(mine as Parameters<typeof older.connect>[0]);
  const [myNewer, itsNewer] = NewPipe.createLinkedPair();
  await serve(itsNewer as unknown as Pipe);
  await newer.connect(myNewer as Parameters<typeof newer.connect>[0]);
});
afterAll(async () => {
  await older.close();
  await newer.close();
});

/** Names and URIs that a client reads. It throws where the client refuses a list. */
async function namesFor(client: typeof older | typeof newer): Promise<string[]> {
  const [tools, prompts, resources, templates] = [
    (await client.listTools()).tools,
    (await client.listPrompts()).prompts,
    (await client.listResources()).resources,
    (await client.listResourceTemplates()).resourceTemplates,
  ];
  return [
    ...tools.map(({ name }) => name),
    ...prompts.map(({ name }) => name),
    ...resources.map(({ uri }) => uri),
    ...templates.map(({ uriTemplate }) => uriTemplate),
  ];
}

async function expectAccepted(said: Lists): Promise<void> {
  view = await viewOf(said);
  for (const client of [older, newer])
    expect(await namesFor(client)).toEqual(
      expect.arrayContaining(['good__sound', 'test://sound', 'test://sound/{id}']) as string[],
    );
}

const tool = (name: string, more: JsonObject = {}): JsonObject => ({ name, inputSchema: { type: 'object' }, ...more });

describe('both official clients read the whole list beside', () => {
  it.each<[string, JsonObject]>([
    ['a reference of an output schema that leads nowhere', { outputSchema: { type: 'object', $ref: '#/$defs/Gone' } }],
    ['an output schema of an unknown type', { outputSchema: { type: 'object', properties: { a: { type: 'text' } } } }],
    ['an output schema that is a reference to itself', { outputSchema: { $ref: '#' } }],
    ['an output schema of an object that refers to itself', { outputSchema: { type: 'object', $ref: '#' } }],
    [
      'a definition that refers to itself',
      { outputSchema: { type: 'object', $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } } },
    ],
    [
      'two definitions that refer to each other',
      {
        outputSchema: {
          type: 'object',
          properties: { a: { $ref: '#/$defs/a' } },
          $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } },
        },
      },
    ],
    ['a pattern that is none', { outputSchema: { type: 'object', properties: { a: { pattern: '(' } } } }],
    ['a wrapped output schema with a dangling reference', { outputSchema: { type: 'array', items: { $ref: '#/x' } } }],
    [
      'an output schema with an id and its own references',
      {
        outputSchema: { $id: 'urn:x', type: 'array', items: { $ref: '#/$defs/a' }, $defs: { a: { type: 'string' } } },
      },
    ],
    [
      'members that are null',
      {
        description: null,
        title: null,
        annotations: null,
        outputSchema: null,
        icons: null,
        _meta: null,
        execution: null,
      },
    ],
    ['an input schema whose members are null', { inputSchema: { type: 'object', properties: null, required: null } }],
    ['an input schema that is null', { inputSchema: null }],
    ['objects that are empty lists (PHP)', { inputSchema: [], annotations: [], _meta: [], execution: [] }],
    ['schemas that are empty lists (PHP)', { inputSchema: { type: 'object', properties: { a: [] }, $defs: [] } }],
    ['properties that are an empty list (PHP)', { inputSchema: { type: 'object', properties: [] } }],
    ['required that is an empty object (Lua)', { inputSchema: { type: 'object', required: {} } }],
    ['an input schema without type', { inputSchema: { properties: { a: true, b: false, c: null } } }],
    ['hints in text', { annotations: { readOnlyHint: 'true', destructiveHint: 'False', title: null } }],
    ['a hint that is a number', { annotations: { readOnlyHint: 1 } }],
    ['a description that is a number', { description: 5 }],
    [
      'an icon without src',
      { icons: [{ href: 'x' }, { src: 'https://x/y.png', sizes: '48x48 96x96', theme: 'blue' }] },
    ],
    ['required that is no list', { inputSchema: { type: 'object', required: 'a' } }],
    ['a task support that nobody knows', { execution: { taskSupport: 'maybe' } }],
  ])('%s', async (_words, odd) => {
    await expectAccepted({ tools: [tool('odd', odd)] });
  });

  it('odd members of every list, whatever they are', async () => {
    await fc.assert(
      fc.asyncProperty(oddLists, async (said) => expectAccepted(said)),
      { numRuns: 300 },
    );
  }, 120_000);
});

describe('what one thing is meant by is repaired and counted', () => {
  it('of a tool', async () => {
    const { lists, unfit, repairs } = await readAll({
      tools: [
        tool('nulls', { description: null, outputSchema: { type: 'object', properties: { n: { default: null } } } }),
        { name: 'none' },
        { name: 'untyped', inputSchema: { properties: { a: true } } },
        tool('hints', { annotations: { readOnlyHint: 'true', idempotentHint: false } }),
        tool('dangling', { outputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/A' } } } }),
        tool('icons', { icons: [{ href: 'x' }, { src: 'x', sizes: '48x48 96x96' }] }),
        tool('php', { annotations: [], _meta: [], inputSchema: { type: 'object', properties: [], $defs: [] } }),
        { name: 'php-schema', inputSchema: [] },
        tool('lua', { inputSchema: { type: 'object', properties: { a: [] }, required: {} } }),
      ],
    });
    expect(unfit).toEqual([]);
    expect(lists.tools).toEqual([
      tool('nulls', { outputSchema: { type: 'object', properties: { n: { default: null } } } }),
      tool('none'),
      { name: 'untyped', inputSchema: { type: 'object', properties: { a: {} } } },
      tool('hints', { annotations: { readOnlyHint: true, idempotentHint: false } }),
      tool('dangling'),
      tool('icons', { icons: [{ src: 'x', sizes: ['48x48', '96x96'] }] }),
      tool('php', { annotations: {}, _meta: {}, inputSchema: { type: 'object', properties: {}, $defs: {} } }),
      tool('php-schema'),
      tool('lua', { inputSchema: { type: 'object', properties: { a: {} }, required: [] } }),
    ]);
    expect(Object.fromEntries(repairs.map(({ repair, count }) => [repair, count]))).toEqual({
      'null-member': 1,
      'input-schema': 3,
      'empty-object': 6,
      'empty-list': 1,
      'boolean-schema': 1,
      'text-flag': 1,
      'output-schema': 1,
      icon: 1,
      'icon-sizes': 1,
    });
    expect(repairs.find(({ repair }) => repair === 'output-schema')?.example).toContain('tools "dangling"');
  });

  it.each<[string, unknown]>([
    ['null (Go)', null],
    ['an object without members (Lua)', {}],
  ])('of a list that is %s', async (_words, said) => {
    const repairs = new RepairCounts();
    const read = (counts?: RepairCounts) =>
      readList('tools', () => Promise.resolve({ kind: 'result', result: { tools: said } }), {
        limits: defaultLimits,
        repairs: counts,
        outputSchemas: new OutputSchemas(),
      });
    expect(await read(repairs)).toMatchObject({ entries: [], broken: undefined, problems: [] });
    expect(repairs.rows.map(({ repair }) => repair)).toEqual(['empty-list']);
    expect(await read()).toEqual({ failed: 'tools/list failed on page 1: the result has no list' });
  });

  it('of prompts and resources', async () => {
    const { lists, unfit } = await readAll({
      prompts: [{ name: 'p', description: null, arguments: [{ name: 'a', required: 'true', description: null }] }],
      resources: [{ uri: 'a:b', name: 'r', size: null, annotations: { audience: 'user', priority: 0.5 } }],
      resourceTemplates: [{ uriTemplate: 'a:{b}', name: 't', mimeType: null, annotations: 'x' }],
    });
    expect(unfit).toEqual([]);
    expect(lists).toMatchObject({
      prompts: [{ name: 'p', arguments: [{ name: 'a', required: true }] }],
      resources: [{ uri: 'a:b', name: 'r', annotations: { priority: 0.5 } }],
      resourceTemplates: [{ uriTemplate: 'a:{b}', name: 't' }],
    });
    expect(JSON.stringify(lists)).not.toContain('null');
  });

  it('never of a sound list, of which every member stays as it is', async () => {
    const said = [
      tool('a', {
        outputSchema: { type: 'object', properties: { a: { const: null } } },
        'x-own': null,
        _meta: { a: null },
      }),
      tool('b', { outputSchema: { type: 'string' }, execution: { taskSupport: 'optional', more: 1 } }),
    ];
    const { 'x-own': _own, ...first } = said[0] as JsonObject;
    const { lists, repairs } = await readAll({ tools: said });
    expect(lists.tools).toEqual([first, said[1]]);
    expect(repairs.map(({ example }) => example)).toEqual(['tools "a": x-own']);
  });
});

it('with `validation: enforce` nothing is repaired: what clients would refuse is left out and named', async () => {
  const { lists, unfit } = await readAll(
    {
      tools: [
        tool('null', { description: null }),
        { name: 'none' },
        tool('good'),
        tool('ref', { outputSchema: { type: 'object', $ref: '#/x' } }),
      ],
    },
    { isEnforced: true },
  );
  expect(lists.tools.map(({ name }) => name)).toEqual(['good']);
  expect(unfit.map(({ name }) => name)).toEqual(['null', 'none', 'ref']);
});

it('an output schema whose references lead in a circle is named as such', async () => {
  const { repairs } = await readAll({ tools: [tool('circle', { outputSchema: { $ref: '#' } })] });
  expect(repairs.map(({ repair, example }) => [repair, example])).toEqual([
    ['output-schema', expect.stringContaining('its references lead in a circle')],
  ]);
});

it('what is left out is named at the endpoint, and a route by its name gives the reason', async () => {
  view = await viewOf({ tools: [tool('bad', { description: 5 })], prompts: [{ name: 'ask', arguments: { a: {} } }] });
  expect(view.problems).toEqual([
    { server: 'odd', problem: 'tools "bad": "description" must be a string' },
    { server: 'odd', problem: 'prompts "ask": "arguments" must be a list' },
  ]);
  expect(view.head('tools')).toEqual({
    _meta: {
      'omnibus.dev/left-out': [{ name: 'odd__bad', server: 'odd', problem: '"description" must be a string' }],
    },
  });
  expect(view.toolRoute('odd__bad')).toMatchObject({ server: 'odd', unfit: '"description" must be a string' });
  expect(view.promptRoute('odd__ask')).toMatchObject({ server: 'odd', unfit: '"arguments" must be a list' });
});

const anything = fc.oneof(
  { arbitrary: fc.constant(null), weight: 3 },
  fc.constantFrom('true', 'x', '', '2025-01-01T00:00:00Z', '2025-02-30T00:00:00Z', 1, 0.5, 7.5, true, false),
  fc.constantFrom<unknown>(
    [],
    {},
    [null],
    ['user'],
    [{}],
    [{ src: 1 }],
    [{ src: 'x', sizes: '1x1' }],
    [{ name: null }],
  ),
  fc.jsonValue({ maxDepth: 2 }),
);
const schemaKeywords = fc.constantFrom(
  ...['type', 'properties', 'required', '$ref', '$id', '$defs', 'items', 'anyOf', 'enum', 'pattern', 'const'],
  ...['$schema', 'minimum', 'nullable', 'id', '$anchor', 'dependencies', 'not', 'if', 'additionalProperties', 'x-own'],
);
const schemaValues = fc.oneof(
  anything,
  fc.constantFrom<unknown>('object', ['object', 'null'], 'array', '#', '#/$defs/a', '#/$defs/b', '(', 'urn:x'),
  fc.constantFrom<unknown>(
    { a: { type: 'string' } },
    { a: true },
    { a: null },
    ['a'],
    [{ type: 'string' }],
    'date-time',
  ),
);
const schema = fc.oneof(
  anything,
  fc.dictionary(schemaKeywords, schemaValues, { maxKeys: 5 }),
  fc.dictionary(schemaKeywords, schemaValues, { maxKeys: 4 }).map((some) => ({ type: 'object', ...some })),
);
const hints = ['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
const annotations = fc.oneof(
  anything,
  fc.dictionary(fc.constantFrom(...hints, 'audience', 'priority', 'lastModified'), anything, { maxKeys: 3 }),
);
const icons = fc.oneof(
  anything,
  fc.array(fc.dictionary(fc.constantFrom('src', 'mimeType', 'sizes', 'theme'), anything), { maxLength: 2 }),
);
const argument = fc.oneof(
  anything,
  fc.record({ name: fc.constant('a'), description: anything, required: anything }, { requiredKeys: ['name'] }),
);
const members = { title: anything, description: anything, icons, _meta: anything, annotations };
const entryOf = (identity: object, more: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  fc
    .record({ ...members, ...more }, { requiredKeys: [] })
    .map((some) => ({ ...(isObject(some) ? some : {}), ...identity }));
const oddLists: fc.Arbitrary<Lists> = fc.record({
  tools: fc.tuple(
    entryOf({ name: 'odd' }, { inputSchema: schema, outputSchema: schema, execution: anything }),
    entryOf({ name: 'typed', inputSchema: { type: 'object' } }, { outputSchema: schema }),
  ),
  prompts: fc.tuple(entryOf({ name: 'odd' }, { arguments: fc.oneof(anything, fc.array(argument, { maxLength: 2 })) })),
  resources: fc.tuple(entryOf({ uri: 'test://odd', name: 'odd' }, { mimeType: anything, size: anything })),
  resourceTemplates: fc.tuple(entryOf({ uriTemplate: 'test://odd/{a}', name: 'odd' }, { mimeType: anything })),
});
