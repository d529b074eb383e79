/** Lists of which official clients refuse the whole because of one entry, at every endpoint and over every way in. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOne } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { JsonObject } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { startGatewayHere } from '../support/gateway-here.ts';
import { omnibusProgram } from '../support/processes.ts';
import { tool, Upstream } from '../support/upstream.ts';

const info = { name: 'test', version: '1.0.0' };

const oddServer = (): Promise<Upstream> =>
  Upstream.start({
    tools: [
      { ...tool('screens'), outputSchema: { type: 'object', properties: { list: { $ref: '#/$defs/Screen' } } } },
      { ...tool('nulls'), annotations: null, outputSchema: null, title: null },
      { ...tool('hinted'), annotations: { readOnlyHint: 'true' } },
      { ...tool('drawn'), icons: [{ href: 'x' }] },
      { name: 'untyped', description: null },
      { ...tool('numbered'), description: 5 },
    ],
    prompts: [{ name: 'ask', description: null, arguments: [{ name: 'about', required: 'true' }] }],
    resources: [{ uri: 'test://odd', name: 'odd', size: null, annotations: { lastModified: 'yesterday' } }],
    capabilities: { completions: {} },
    onCall: (call) =>
      call.answer({
        content: [{ type: 'text', text: 'done', annotations: null }],
        structuredContent: null,
        isError: null,
      }),
    onRequest: ({ method }) =>
      method === 'completion/complete' ? { completion: { values: ['x'], total: null, hasMore: null } } : undefined,
  });

type Caller = Pick<ClientOne, 'listTools' | 'listPrompts' | 'listResources' | 'listResourceTemplates' | 'close'>;

async function namesOf(client: Caller): Promise<readonly string[]> {
  const names = [
    (await client.listTools()).tools.map(({ name }) => name),
    (await client.listPrompts()).prompts.map(({ name }) => name),
    (await client.listResources()).resources.map(({ uri }) => uri),
    (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
  ];
  await client.close();
  return names.flat();
}

async function one(url: string): Promise<ClientOne> {
  const client = new ClientOne(info);
  await client.connect(new TransportOne(new URL(url)) as Parameters<ClientOne['connect']>[0]);
  return client;
}

async function two(url: string): Promise<ClientTwo> {
  const client = new ClientTwo(info, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new TransportTwo(new URL(url)));
  return client;
}

it('official clients read all lists of all servers beside odd ones, and the rest is named where users look', async () => {
  await using odd = await oddServer();
  await using good = await Upstream.start({ tools: [tool('fine')] });
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { odd: { url: odd.url }, good: { url: good.url } },
    profiles: { some: { servers: ['odd', 'good'], tools: ['odd/*', 'good/*'] } },
  });
  const kept = ['screens', 'nulls', 'hinted', 'drawn', 'untyped'];
  const all = [...kept.map((name) => `odd__${name}`), 'good__fine', 'odd__ask', 'test://odd'];
  for (const path of ['', '/some'])
    for (const client of [await one(gateway.url + path), await two(gateway.url + path)])
      expect((await namesOf(client as Caller)).toSorted(), path).toEqual(all.toSorted());
  const client = await one(gateway.url);
  expect(await client.callTool({ name: 'odd__nulls', arguments: {} })).toEqual({
    content: [{ type: 'text', text: 'done' }],
  });
  const completed = await client.complete({
    ref: { type: 'ref/prompt', name: 'odd__ask' },
    argument: { name: 'about', value: '' },
  });
  expect(completed.completion).toEqual({ values: ['x'] });
  await expect(client.callTool({ name: 'odd__numbered', arguments: {} })).rejects.toThrow(
    '"description" must be a string',
  );
  await client.close();
  const { stderr } = await promisify(execFile)('node', [omnibusProgram, 'tools', '--url', gateway.url]);
  expect(stderr).toContain('without odd__numbered: clients would refuse the list: "description" must be a string');
  expect(odd.calls.values.map(({ name }) => name)).toEqual(['nulls']);
  const admin = `http://${await gateway.admin(gateway.backend)}`;
  const status = (await (await fetch(`${admin}/status`)).json()) as {
    readonly servers: readonly (JsonObject & { readonly server: string })[];
    readonly leftOut: readonly string[];
  };
  const at = status.servers.find(({ server }) => server === 'odd');
  expect(at).toMatchObject({
    leftOut: 1,
    unfit: [{ kind: 'tools', name: 'numbered', problem: '"description" must be a string' }],
  });
  expect((at?.['repairs'] as readonly JsonObject[]).map(({ repair }) => String(repair)).toSorted()).toEqual([
    'annotation',
    'icon',
    'input-schema',
    'null-member',
    'output-schema',
    'text-flag',
  ]);
  expect(status.leftOut).toContain('odd: tools "numbered": "description" must be a string');
  const metrics = await (await fetch(`${admin}/metrics`)).text();
  expect(metrics).toMatch(/omnibus_upstream_repairs_total\{server="odd",repair="output-schema"\} [1-9]/);
});

it('over `omnibus stdio` the same lists are read', async () => {
  await using odd = await oddServer();
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-odd-'));
  const file = join(folder, 'omnibus.json');
  await writeFile(file, JSON.stringify({ mcpServers: { odd: { url: odd.url } } }));
  const client = new ClientOne(info);
  await client.connect(new StdioOne({ command: 'node', args: [omnibusProgram, 'stdio', '--config', file] }));
  expect(await namesOf(client)).toEqual(['screens', 'nulls', 'hinted', 'drawn', 'untyped', 'ask', 'test://odd']);
  await rm(folder, { recursive: true });
});

it('with `validation: enforce` nothing is repaired, and what clients would refuse is left out', async () => {
  await using odd = await oddServer();
  await using good = await Upstream.start({ tools: [tool('fine')] });
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { odd: { url: odd.url, validation: 'enforce' }, good: { url: good.url } },
  });
  const client = await one(gateway.url);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['good__fine']);
  await expect(client.callTool({ name: 'odd__untyped', arguments: {} })).rejects.toThrow(
    '"inputSchema" must be an object',
  );
  await client.close();
});
