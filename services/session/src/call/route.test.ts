/** Where requests go, as data: no bus, no time. */
import { describe, expect, it } from 'vitest';
import { View, type EndpointDefinition } from '@omnibus/catalog';
import {
  noAnnouncements,
  noLists,
  parseServerName,
  rootEndpoint,
  serverKey,
  skillsExtension,
  type CatalogRecord,
  type ExchangeMethod,
  type JsonObject,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { TaskMode } from '../dialect/dialect.ts';
import type { Plan } from './plan.ts';
import { route } from './route.ts';

const [one, two, personal] = ['one', 'two', 'personal'].map(parseServerName) as [ServerName, ServerName, ServerName];

const record = (server: ServerName, more: Partial<CatalogRecord>): CatalogRecord => ({
  server,
  status: 'up',
  revision: '2025-11-25',
  capabilities: {
    tools: {},
    prompts: {},
    resources: {},
    completions: {},
    tasks: { requests: { tools: { call: {} } } },
  },
  announcements: noAnnouncements,
  lists: noLists,
  ...more,
});

const tool = (name: string, taskSupport?: string): CatalogRecord['lists']['tools'][number] => ({
  name,
  inputSchema: { type: 'object' },
  ...(taskSupport === undefined ? {} : { execution: { taskSupport } }),
});
const records = [
  record(one, {
    lists: {
      ...noLists,
      tools: [tool('act'), tool('may', 'optional'), tool('never', 'forbidden'), tool('always', 'required')],
      prompts: [{ name: 'say' }],
      resources: [{ uri: 'one://listed', name: 'listed' }],
      resourceTemplates: [{ uriTemplate: 'both://{x}', name: 'template' }],
    },
  }),
  record(two, {
    capabilities: { resources: {}, extensions: { [skillsExtension]: {} } },
    lists: { ...noLists, resourceTemplates: [{ uriTemplate: 'both://{y}', name: 'template' }] },
  }),
];

function planOf(
  method: ExchangeMethod,
  params: JsonObject,
  {
    taskMode = 'none' as TaskMode,
    servers = [one, two] as readonly ServerName[],
    linked = {} as Readonly<Record<string, readonly ServerName[]>>,
  } = {},
): Plan {
  const definition: EndpointDefinition = {
    endpoint: rootEndpoint,
    servers,
    prefix: 'never',
    rename: new Map(),
    pin: new Map(),
    pageSize: 100,
  };
  const view = new View(definition, new Map(records.map((each) => [each.server, each])));
  return route({ method, view }, params, {
    tasks: {
      open: (id) =>
        id === 'sealed'
          ? { server: one, id: 'own', owner: 'owner' as SessionKey, place: undefined, tool: undefined }
          : undefined,
    },
    port: {
      linkedResources: { find: (uri) => linked[uri] ?? [], ofPages: () => [] },
      dialect: { unknownMethod: 'method.unknown' },
      taskMode: () => taskMode,
    },
  });
}

/** A server that shows a user's tools after the sign-in, and no sign-in then. */
records.push(
  record(personal, { wantsSignIn: true, owners: {}, lists: { ...noLists, tools: [tool('mine'), tool('yours')] } }),
);

it.each([
  ['personal__connect', [one, two, personal]],
  ['connect', [personal]],
] as const)(
  'a user who must sign in again reaches the tool %s of the server, which no list has yet',
  (name, servers) => {
    expect(planOf('tools/call', { name, arguments: { code: 'AB' } }, { servers })).toMatchObject({
      kind: 'send',
      server: personal,
      params: { name: 'connect', arguments: { code: 'AB' } },
    });
    expect(planOf('tools/call', { name: 'one__connect' }, { servers: [one, two, personal] })).toEqual(
      refused('tool.unknown'),
    );
  },
);

const refused = (reason: string): object => ({ kind: 'refuse', fault: expect.objectContaining({ reason }) });

describe('the plan of a request', () => {
  it.each<[string, ExchangeMethod, JsonObject, object]>([
    [
      "a tool by the server's own name, without what is said to the gateway",
      'tools/call',
      { name: 'act', arguments: { n: 1 }, _meta: { progressToken: 1, kept: true } },
      {
        kind: 'send',
        server: one,
        params: { name: 'act', arguments: { n: 1 }, _meta: { kept: true } },
        tool: 'act',
        subject: ['tool', 'act'],
      },
    ],
    ['a tool that nobody has', 'tools/call', { name: 'nothing' }, refused('tool.unknown')],
    ['a prompt', 'prompts/get', { name: 'say' }, { kind: 'send', server: one, params: { name: 'say' } }],
    ['a prompt that nobody has', 'prompts/get', { name: 'nothing' }, refused('prompt.unknown')],
    [
      'a listed resource',
      'resources/read',
      { uri: 'one://listed' },
      { kind: 'send', server: one, params: { uri: 'one://listed' } },
    ],
    ['a resource that two templates fit alike', 'resources/read', { uri: 'both://7' }, refused('resource.ambiguous')],
    [
      'a resource that nothing tells of',
      'resources/subscribe',
      { uri: 'else://7' },
      { kind: 'search', servers: [one, two], uri: 'else://7' },
    ],
    [
      'what completes a prompt',
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'say' }, argument: { name: 'a', value: '' } },
      { kind: 'send', server: one },
    ],
    [
      'what completes something that nobody has',
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'nothing' } },
      refused('prompt.unknown'),
    ],
    [
      "a task under the server's own id",
      'tasks/get',
      { taskId: 'sealed' },
      {
        kind: 'send',
        server: one,
        params: { taskId: 'own' },
        task: { server: one, id: 'own' },
        subject: ['task', 'sealed'],
      },
    ],
    ['a task that was not given to this caller', 'tasks/cancel', { taskId: 'guessed' }, refused('task.unknown')],
    [
      'lists of tasks',
      'tasks/list',
      { cursor: 'c' },
      { kind: 'list', servers: [one], entries: 'tasks', params: { cursor: 'c' } },
    ],
    ['lists of skills', 'skills/list', {}, { kind: 'list', servers: [two], entries: 'skills' }],
    [
      'a skill, asked of servers that have some',
      'skills/get',
      { uri: 'skill://x' },
      { kind: 'search', servers: [two], uri: 'skill://x' },
    ],
    [
      'what no revision knows, where several servers could be meant',
      'vendor/act' as ExchangeMethod,
      {},
      refused('method.unknown'),
    ],
    [
      'what no revision knows, for the server that is named',
      'vendor/act' as ExchangeMethod,
      { _meta: { [serverKey]: 'two' } },
      { kind: 'send', server: two, params: { _meta: {} } },
    ],
  ])('is made for %s', (_title, method, params, plan) => {
    expect(planOf(method, params)).toMatchObject(plan);
  });

  it.each<[TaskMode, string, JsonObject, object]>([
    ['none', 'act', { task: { ttl: 1 } }, { kind: 'send', params: { name: 'act' } }],
    ['requested', 'may', { task: { ttl: 1 } }, { kind: 'start-task', params: { name: 'may', task: { ttl: 1 } } }],
    ['requested', 'may', {}, { kind: 'send', params: { name: 'may' } }],
    ['requested', 'never', { task: {} }, refused('task.unsupported')],
    ['requested', 'always', {}, { kind: 'send', params: { name: 'always' } }],
    ['offered', 'always', {}, { kind: 'send', params: { name: 'always', task: {} } }],
    ['offered', 'may', { task: {} }, { kind: 'send', params: { name: 'may' } }],
    ['none', 'always', {}, { kind: 'await-task', params: { name: 'always', task: {} } }],
  ])('for a client that has tasks %s and calls %s with %j', (taskMode, name, params, plan) => {
    expect(planOf('tools/call', { name, ...params }, { taskMode })).toEqual(expect.objectContaining(plan));
  });

  it('goes to the server whose result linked to a resource, and to none where two did', () => {
    expect(planOf('resources/read', { uri: 'both://7' }, { linked: { 'both://7': [two] } })).toMatchObject({
      kind: 'send',
      server: two,
    });
    expect(planOf('resources/read', { uri: 'both://7' }, { linked: { 'both://7': [one, two] } })).toMatchObject(
      refused('resource.ambiguous'),
    );
  });

  it('names no server of another endpoint', () => {
    expect(planOf('tasks/get', { taskId: 'sealed' }, { servers: [two] })).toMatchObject(refused('task.unknown'));
    expect(
      planOf('resources/read', { uri: 'both://7' }, { servers: [two], linked: { 'both://7': [one] } }),
    ).toMatchObject({ kind: 'send', server: two });
  });
});
