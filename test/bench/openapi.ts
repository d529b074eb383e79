/**
 * `npm run bench -- openapi [NAME…]`: offers large public OpenAPI documents as servers. It downloads their packages into `node_modules/.cache/openapi`, and prints
 * for each document: the share of operations that are offered with schemas that the official SDKs can compile, the processor time of the start, and the memory, both beyond a gateway before an
 * MCP server with the same tools. A stand-in of each API checks the request of each operation.
 */
import { readFileSync } from 'node:fs';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '@omnibus/protocol';
import { startGateway } from '../support/gateway.ts';
import { fileOf, operationsIn, publicDocuments, sampleOf } from '../support/public-documents.ts';
import { RawClient } from '../support/raw-client.ts';
import { StandInApi } from '../support/stand-in-api.ts';
import { Upstream } from '../support/upstream.ts';
import { cpuSeconds, residentBytes } from './cpu.ts';

/** Memory settles within it, and idle connections of the client are closed. */
const settleMs = 8_000;

interface Started {
  readonly tools: readonly JsonObject[];
  readonly seconds: number;
  readonly bytes: number;
}

/** Starts a gateway with one server. Its processor time, which other programs do not change, ends when a client has the tools. */
async function measured(server: object, use?: (url: string) => Promise<void>): Promise<Started> {
  await using gateway = await startGateway('embedded', { mcpServers: { api: server } });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.length > 0);
  const tools = await allTools(client);
  const pids = gateway.processes.map(({ pid }) => pid);
  const seconds = cpuSeconds(pids);
  await pause(settleMs);
  const bytes = residentBytes(pids);
  await use?.(gateway.url);
  return { tools, seconds, bytes };
}

async function allTools(client: RawClient): Promise<readonly JsonObject[]> {
  const tools: JsonObject[] = [];
  for (let cursor: unknown; ;) {
    const { last } = await client.request('tools/list', cursor === undefined ? {} : { cursor });
    tools.push(...(last.result?.['tools'] as readonly JsonObject[]));
    cursor = last.result?.['nextCursor'];
    if (cursor === undefined) return tools;
  }
}

/** Operations whose schemas an official client takes: the list as a whole, and each schema alone. */
async function fitting(url: string): Promise<number> {
  const client = new ClientOne({ name: 'bench', version: '1.0.0' });
  await client.connect(new TransportOne(new URL(url)) as never);
  const tools: Awaited<ReturnType<ClientOne['listTools']>>['tools'] = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.listTools({ cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }
  await client.close();
  return tools.filter(({ inputSchema, outputSchema }) => {
    try {
      for (const schema of [inputSchema, outputSchema])
        if (schema !== undefined) new AjvJsonSchemaValidator().getValidator(schema as never);
      return true;
    } catch {
      return false;
    }
  }).length;
}

/** Calls each tool with the arguments that it demands. @returns the calls that reached the stand-in as an operation of the document. */
async function answered(
  url: string,
  tools: readonly JsonObject[],
  document: JsonObject,
  api: StandInApi,
): Promise<number> {
  const operations = operationsIn(document);
  using client = await RawClient.open(url);
  let good = 0;
  for (const { name, inputSchema } of tools) {
    const before = api.heard.values.length;
    await client.request('tools/call', {
      name,
      arguments: sampleOf(inputSchema, inputSchema as JsonObject) as JsonObject,
    });
    const heard = api.heard.values[before];
    if (heard === undefined) continue;
    const { pathname, searchParams } = new URL(heard.url, api.url);
    const isRight = operations.some(
      ({ method, path, query, hasBody }) =>
        method === heard.method &&
        path.test(pathname) &&
        query.every((each) => [...searchParams.keys()].some((key) => key === each || key.startsWith(`${each}[`))) &&
        (!hasBody || heard.headers['content-type'] !== undefined),
    );
    if (isRight) good += 1;
    else console.error(`${String(name)}: ${heard.method} ${heard.url}`);
  }
  return good;
}

const wanted = process.argv.slice(2);
const names = Object.keys(publicDocuments).filter((name) => wanted.length === 0 || wanted.includes(name));
console.log(
  '| document | operations | offered, with valid schemas | right requests | processor time of the start | beyond an MCP server | memory beyond it |',
);
console.log('|---|---|---|---|---|---|---|');
for (const name of names) {
  const file = fileOf(name);
  const document = JSON.parse(readFileSync(file, 'utf8')) as JsonObject;
  const count = operationsIn(document).length;
  await using api = await StandInApi.start();
  let [fits, good] = [0, 0];
  const openapi = await measured({ openapi: file, url: api.url });
  await measured({ openapi: file, url: api.url }, async (url) => {
    fits = await fitting(url);
    good = await answered(url, openapi.tools, document, api);
  });
  const upstream = await Upstream.start({ tools: openapi.tools });
  const mcp = await measured({ url: upstream.url });
  await upstream.stop();
  const share = ((100 * fits) / count).toFixed(1);
  console.log(
    `| ${name} | ${count} | ${fits} (${share} %) | ${good} | ${openapi.seconds.toFixed(2)} s | ${(openapi.seconds - mcp.seconds).toFixed(2)} s | ${((openapi.bytes - mcp.bytes) / 1e6).toFixed(0)} MB |`,
  );
}
