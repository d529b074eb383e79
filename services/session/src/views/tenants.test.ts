/** Entries of one tenant do not exist for another, nor for callers without one, word for word. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  parseEndpointName,
  rootEndpoint,
  type JsonObject,
} from '@omnibus/protocol';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from '../worker-under-test.ts';
import { Endpoints } from './endpoints.ts';
import { placeAt } from './place.ts';
import { configOf } from '@omnibus/config/testing';

const servers = {
  ours: { url: 'http://127.0.0.1:1/mcp', tenants: ['acme'] },
  theirs: { url: 'http://127.0.0.1:1/mcp', tenants: ['umbrella'] },
  common: { url: 'http://127.0.0.1:1/mcp' },
};
const profiles = { team: { servers: ['ours', 'common'], tenants: ['acme'] }, mixed: { servers: ['theirs', 'common'] } };
const settings = { mcpServers: servers, profiles, auth: { keys: { file: 'keys.yaml' } } };
const entries = (name: string) => ({
  capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
  instructions: `how to use ${name}`,
  lists: {
    ...noLists,
    tools: [{ name: `act-${name}`, inputSchema: { type: 'object' } }],
    prompts: [{ name: `say-${name}` }],
    resources: [{ uri: `${name}://one`, name }],
    resourceTemplates: [{ uriTemplate: `${name}://all/{id}`, name }],
  },
});

let test: WorkerUnderTest;
beforeEach(async () => {
  test = await WorkerUnderTest.start(Object.keys(servers), settings);
  for (const name of Object.keys(servers)) await test.put(name, entries(name));
});
afterEach(async () => {
  await test.stop();
  expect(test.faults).toEqual([]);
});

async function listed(client: ClientUnderTest, method: string): Promise<string> {
  return JSON.stringify((await test.turning(client.ask(method))).result);
}

describe.each([latestLegacyRevision, latestModernRevision])('a client of %s', (revision) => {
  const open = (tenant?: string): Promise<ClientUnderTest> => test.open(revision, {}, callerOf('ann', { tenant }));

  it('is shown the servers of its tenant and those of everybody, in lists and in what it is greeted with', async () => {
    for (const [tenant, own] of [
      ['acme', ['ours', 'common']],
      ['umbrella', ['theirs', 'common']],
      ['nobody-knows', ['common']],
      [undefined, ['common']],
    ] as const) {
      const client = await open(tenant);
      const said = [
        JSON.stringify(client.greeting),
        ...(await Promise.all(
          ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'].map((method) =>
            listed(client, method),
          ),
        )),
      ];
      for (const name of Object.keys(servers)) {
        const isOwn = (own as readonly string[]).includes(name);
        expect(
          said.map((text) => text.includes(name)),
          `${name} for ${tenant}`,
        ).toEqual([isOwn, isOwn, isOwn, isOwn, isOwn]);
      }
    }
  });

  it('is told of what is of another tenant, by whatever method, what it is told of what never was', async () => {
    const client = await open('acme');
    const asked = (name: string): [string, JsonObject][] => [
      ['tools/call', { name: `${name}__act-${name}`, arguments: {} }],
      ['tools/call', { name: `act-${name}`, arguments: {} }],
      ['prompts/get', { name: `${name}__say-${name}` }],
      ['resources/read', { uri: `omnibus://${name}/x://one` }],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: `${name}__say-${name}` }, argument: { name: 'a', value: '' } },
      ],
      [
        'completion/complete',
        { ref: { type: 'ref/resource', uri: `omnibus://${name}/x://all/{id}` }, argument: { name: 'id', value: '' } },
      ],
      ['com.example/own', { _meta: { 'omnibus.dev/server': name } }],
      ['tasks/get', { taskId: `t-${name}` }],
    ];
    test.outcome = { kind: 'error', error: { code: -32_002, message: 'no such resource' } };
    for (const [index, [method, params]] of asked('theirs').entries()) {
      const [, never] = asked('nobody')[index] as [string, JsonObject];
      const before = test.asked.values.length;
      const real = await test.turning(client.ask(method, params));
      const between = test.asked.values.length;
      const none = await test.turning(client.ask(method, never));
      expect(real.error, method).toBeDefined();
      expect(JSON.stringify(real.error).replaceAll('theirs', 'nobody'), method).toBe(JSON.stringify(none.error));
      // For an unlisted URI, only visible servers get the request.
      expect(between - before, method).toBe(test.asked.values.length - between);
    }
    test.outcome = { kind: 'result', result: { content: [] } };
    expect((await client.ask('tools/call', { name: 'ours__act-ours', arguments: {} })).result).toBeDefined();
  });

  it('finds endpoints of its tenant, in those of everybody no server of another one, and no others', async () => {
    const at = (endpoint: string, tenant?: string): Promise<ClientUnderTest> =>
      test.open(revision, {}, callerOf('ann', { tenant }, parseEndpointName(endpoint)));
    expect(await listed(await at('team', 'acme'), 'tools/list')).toContain('ours__act-ours');
    expect(await listed(await at('ours', 'acme'), 'tools/list')).toContain('"act-ours"');
    expect(await listed(await at('mixed', 'umbrella'), 'tools/list')).toContain('theirs__act-theirs');
    expect(await listed(await at('mixed', 'acme'), 'tools/list')).not.toContain('theirs');
    const problem = async (endpoint: string, tenant?: string): Promise<string> => {
      try {
        const client = await at(endpoint, tenant);
        return JSON.stringify((await test.turning(client.ask('tools/list'))).error);
      } catch (error) {
        return (error as Error).message;
      }
    };
    const unknown = await problem('nobody');
    expect(unknown).toContain('http.path_unknown');
    for (const [endpoint, tenant] of [
      ['team', 'umbrella'],
      ['team', undefined],
      ['ours', 'umbrella'],
      ['theirs', undefined],
    ] as const)
      expect(await problem(endpoint, tenant)).toBe(unknown);
  });
});

it('who is in a session is told that lists changed when a server changes that he sees, or is given to his tenant, and of no other', async () => {
  const [ours, theirs] = [
    await test.open(latestLegacyRevision, {}, callerOf('ann', { tenant: 'acme' })),
    await test.open(latestLegacyRevision, {}, callerOf('bob', { tenant: 'umbrella' })),
  ];
  for (const client of [ours, theirs]) await listed(client, 'tools/list');
  await test.put('theirs', {
    ...entries('theirs'),
    lists: { ...noLists, tools: [{ name: 'new', inputSchema: { type: 'object' } }] },
  });
  await theirs.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
  expect(ours.pushed.values).toEqual([]);
  const config = configOf({
    ...settings,
    mcpServers: { ...servers, theirs: { ...servers.theirs, tenants: ['umbrella', 'acme'] } },
  });
  test.worker?.apply(config);
  await ours.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
  expect(await listed(ours, 'tools/list')).toContain('theirs__new');
});

it('tenants that see the same servers share what is computed of them', () => {
  const config = configOf({
    mcpServers: {
      both: { url: 'http://a.example/mcp', tenants: ['acme', 'umbrella'] },
      one: { url: 'http://a.example/mcp', tenants: ['solo'] },
    },
  });
  const endpoints = new Endpoints(config);
  const of = (tenant?: string) => endpoints.get(placeAt(rootEndpoint, tenant));
  expect(of('acme')).toBe(of('umbrella'));
  expect(of('stranger')).toBe(of());
  expect([of('acme'), of('solo'), of()].map((each) => each?.servers)).toEqual([['both'], ['one'], []]);
});

it('an endpoint passes no unlisted names on to a server that gets other arguments than clients send', () => {
  const isOpen = (tools: object): boolean | undefined => {
    const config = configOf({ mcpServers: { one: { url: 'http://127.0.0.1:1/mcp', tools } } });
    return new Endpoints(config).get(placeAt(parseEndpointName('one'), undefined))?.isOpen;
  };
  expect(isOpen({})).toBe(true);
  expect(isOpen({ act: { title: 'Act' } })).toBe(true);
  expect(isOpen({ act: { arguments: { owner: { fixed: 'acme' } } } })).toBe(false);
});
