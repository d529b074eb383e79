/** An HTTP API as a server: its operations are tools for clients of every revision and both official SDKs, in both shapes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapes } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { StandInApi } from '../support/stand-in-api.ts';

const info = { name: 'test', version: '1.0.0' };
const pet = {
  type: 'object',
  properties: { id: { type: 'integer' }, name: { type: 'string' } },
};
const jsonOf = (schema: object): object => ({ content: { 'application/json': { schema } } });
const petPath = {
  get: {
    operationId: 'getPet',
    tags: ['pets'],
    summary: 'Returns a pet.',
    parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
    responses: { 200: { description: 'the pet', ...jsonOf({ $ref: '#/components/schemas/Pet' }) } },
  },
  delete: {
    operationId: 'deletePet',
    tags: ['pets'],
    parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
    responses: { 204: { description: 'gone' } },
  },
};
const documentOf = (paths: object): string =>
  JSON.stringify({
    openapi: '3.0.3',
    info: { title: 'Pets', version: '1' },
    paths,
    components: {
      schemas: { Pet: pet },
      securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'api_key' } },
    },
    security: [{ key: [] }],
  });
const paths = {
  '/pets/{id}': petPath,
  '/slow': { get: { operationId: 'slow', responses: {} } },
  '/busy': { post: { operationId: 'busy', responses: {} } },
  '/broken': {
    get: { operationId: 'broken', parameters: [{ name: 'x', in: 'query', style: 'matrix' }], responses: {} },
  },
};
const text = (result: unknown): string =>
  (result as { readonly content: readonly { readonly text: string }[] }).content.map((each) => each.text).join('\n');

describe.each(shapes)('%s', (shape) => {
  let gateway: GatewayHere;
  let api: StandInApi;
  let folder: string;
  let file: string;
  let dropped: () => void = () => undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-api-'));
    file = join(folder, 'pets.json');
    await writeFile(file, documentOf(paths));
    api = await StandInApi.start(({ url, method }, response) => {
      const path = url.replace(/\?.*/, '');
      if (path === '/v1/slow') {
        response.on('close', () => dropped());
        return true;
      }
      if (path === '/v1/busy') {
        response
          .writeHead(429, { 'retry-after': '7', 'content-type': 'application/json', 'content-encoding': 'utf-8' })
          .end('{"why":"busy"}');
        return true;
      }
      if (method === 'DELETE') {
        response.writeHead(204).end();
        return true;
      }
      if (path !== '/v1/pets/7') return false;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":7,"name":null}');
      return true;
    });
    gateway = await startGatewayHere(shape, {
      mcpServers: {
        pets: {
          openapi: { document: file, security: { key: 'the-key-of-the-api' } },
          url: `${api.url}/v1`,
          headers: { 'x-team': 'blue' },
        },
      },
    });
    using waiting = await RawClient.open(gateway.url);
    await waiting.untilTools((names) => names.includes('getPet'));
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'a client of %s calls an operation',
    async (revision) => {
      using client = await RawClient.open(gateway.url, revision);
      const { last } = await client.request('tools/call', { name: 'getPet', arguments: { id: 7 } });
      expect(text(last.result)).toBe('{"id":7,"name":null}');
    },
  );

  it('a client of 2026-07-28 calls an operation, with the secret and the headers of the configuration', async () => {
    const client = new ModernClient(gateway.url);
    const { last } = await client.request('tools/call', { name: 'getPet', arguments: { id: 7 } });
    expect(last.result).toMatchObject({ structuredContent: { id: 7, name: null } });
    const { url, headers } = await api.heard.untilSome(({ url: asked }) => asked.startsWith('/v1/pets/7'));
    expect(url).toBe('/v1/pets/7?api_key=the-key-of-the-api');
    expect(headers['x-team']).toBe('blue');
  });

  it.each(['1.x', '2.x'])('the official SDK client %s lists the tools and checks their answers', async (version) => {
    const client = version === '1.x' ? new ClientOne(info) : new ClientTwo(info);
    const transport =
      version === '1.x' ? new TransportOne(new URL(gateway.url)) : new TransportTwo(new URL(gateway.url));
    await client.connect(transport as never);
    const { tools } = await client.listTools();
    const found = tools.find(({ name }) => name === 'getPet');
    expect(found).toMatchObject({
      title: 'Returns a pet.',
      inputSchema: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
    });
    expect(tools.find(({ name }) => name === 'deletePet')?.annotations).toMatchObject({ destructiveHint: true });
    expect(await client.callTool({ name: 'getPet', arguments: { id: 7 } })).toMatchObject({
      structuredContent: { id: 7 },
    });
    expect(text(await client.callTool({ name: 'deletePet', arguments: { id: 7 } }))).toContain('HTTP 204');
    await client.close();
  });

  it('a refusal is an error of the tool, with its status, its time to wait and its body, whatever character set is its coding', async () => {
    using client = await RawClient.open(gateway.url);
    const { last } = await client.request('tools/call', { name: 'busy' });
    expect(last.result).toMatchObject({ isError: true });
    expect(text(last.result)).toContain('HTTP 429 Too Many Requests from POST /busy.');
    expect(text(last.result)).toContain('Call again after 7 s.');
    expect(text(last.result)).toContain('{"why":"busy"}');
  });

  it('a missing argument is named, and nothing is sent', async () => {
    using client = await RawClient.open(gateway.url);
    const { last } = await client.request('tools/call', { name: 'deletePet', arguments: {} });
    expect(text(last.result)).toBe('Nothing was sent to the API: the argument "id" is missing.');
  });

  it('a cancelled call ends its request to the API', async () => {
    const ended = Promise.withResolvers<void>();
    dropped = ended.resolve;
    const client = new ClientTwo(info);
    await client.connect(new TransportTwo(new URL(gateway.url)) as never);
    const giving = new AbortController();
    const call = client.callTool({ name: 'slow', arguments: {} }, { signal: giving.signal } as never);
    call.catch(() => undefined);
    await api.heard.untilSome(({ url }) => url.startsWith('/v1/slow'));
    giving.abort();
    await ended.promise;
    await client.close();
  });

  it('an operation that cannot be called is named in the status, and takes no other with it', async () => {
    const admin = await gateway.admin(gateway.backend);
    const { servers } = (await (await fetch(`http://${admin}/status`)).json()) as { servers: readonly object[] };
    expect(servers[0]).toMatchObject({ status: 'up', tools: 4 });
    expect(JSON.stringify(servers[0])).toContain(
      'the style \\"matrix\\" of its parameter \\"x\\" is not one for query',
    );
  });

  it('a changed document is followed; one that cannot be used changes nothing', async () => {
    using client = await RawClient.open(gateway.url);
    await writeFile(file, 'openapi: 9');
    await writeFile(file, documentOf({ ...paths, '/more': { get: { operationId: 'more', responses: {} } } }));
    await client.untilTools((names) => names.includes('more') && names.includes('getPet'));
  });
});
