/**
 * Five large public OpenAPI documents, each before a stand-in of its API that answers by the schemas of the document, with the official SDK client, which checks
 * each answer against the schema of its tool. In the long lane: the documents are in packages of npm.
 */
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { fileOf, operationsIn, sampleOf, type Operation } from '../support/public-documents.ts';
import { RawClient } from '../support/raw-client.ts';
import { StandInApi, type ApiScript, type HeardRequest } from '../support/stand-in-api.ts';

const names = ['GitHub', 'Stripe', 'Kubernetes', 'Slack', 'Zoom'] as const;
/** Operations of each document that are called. */
const called = 24;

interface Api {
  readonly document: JsonObject;
  readonly operations: readonly Operation[];
  readonly api: StandInApi;
  /** Answers the next request in its own way. */
  next: ApiScript | undefined;
}
type Tools = Awaited<ReturnType<Client['listTools']>>['tools'];

const textOf = (result: unknown): string =>
  (result as { readonly content: readonly { readonly text?: string }[] }).content
    .map((each) => each.text ?? '')
    .join('\n');

/** The operation that a request is of; undefined if the document has none. */
function operationOf(operations: readonly Operation[], { method, url }: HeardRequest): Operation | undefined {
  const { pathname, searchParams } = new URL(url, 'http://api.example');
  const keys = [...searchParams.keys()];
  return operations.find(
    (each) =>
      each.method === method &&
      each.path.test(pathname) &&
      each.query.every((name) => keys.some((key) => key === name || key.startsWith(`${name}[`))),
  );
}

describe('a stand-in of each document', () => {
  const stack = new AsyncDisposableStack();
  const apis = new Map<string, Api>();
  const tools = new Map<string, Tools>();
  let gateway: GatewayHere;

  beforeAll(async () => {
    for (const name of names) {
      const document = JSON.parse(readFileSync(fileOf(name), 'utf8')) as JsonObject;
      const operations = operationsIn(document);
      const api = stack.use(
        await StandInApi.start(async (heard, response) => {
          const own = apis.get(name) as Api;
          const script = own.next;
          own.next = undefined;
          if (script !== undefined) return script(heard, response);
          const operation = operationOf(operations, heard);
          if (operation === undefined) response.writeHead(404).end();
          else if (operation.answer === undefined) response.writeHead(204).end();
          else
            response
              .writeHead(200, { 'content-type': 'application/json' })
              .end(JSON.stringify(sampleOf(operation.answer, document, null)));
          return true;
        }),
      );
      apis.set(name, { document, operations, api, next: undefined });
    }
    const servers = names.map((name) => [name.toLowerCase(), { openapi: fileOf(name), url: apis.get(name)?.api.url }]);
    gateway = stack.use(
      await startGatewayHere('embedded', {
        mcpServers: Object.fromEntries(servers) as object,
      }),
    );
    for (const name of names) {
      const url = `${gateway.url}/${name.toLowerCase()}`;
      using raw = await RawClient.open(url);
      await raw.untilTools((found) => found.length > 0);
    }
  }, 300_000);
  afterAll(() => stack.disposeAsync());

  /** A client of one API, with the list of its tools, whose schemas it has compiled. */
  async function clientOf(name: string): Promise<Client> {
    const made = new Client({ name: 'test', version: '1.0.0' });
    await made.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/${name.toLowerCase()}`)) as never);
    const all: Tools = [];
    for (let cursor: string | undefined; ;) {
      const page = await made.listTools({ cursor });
      all.push(...page.tools);
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
    tools.set(name, all);
    stack.defer(() => made.close());
    return made;
  }
  const argumentsOf = ({ inputSchema }: Tools[number]): JsonObject =>
    sampleOf(inputSchema, inputSchema as JsonObject) as JsonObject;

  it.each(names)(
    '%s: operations of every method are called as the document says, and their answers fit their schemas',
    async (name) => {
      const { operations, api } = apis.get(name) as Api;
      const made = await clientOf(name);
      const all = tools.get(name) as Tools;
      const step = Math.max(1, Math.floor(all.length / called));
      const chosen = all.filter((_tool, at) => at % step === 0);
      expect(chosen.length).toBeGreaterThanOrEqual(called);
      const wrong: string[] = [];
      const methods = new Set<string>();
      for (const each of chosen) {
        const before = api.heard.values.length;
        try {
          const result = await made.callTool({ name: each.name, arguments: argumentsOf(each) });
          const heard = api.heard.values[before];
          const operation = heard === undefined ? undefined : operationOf(operations, heard);
          if (operation === undefined || result.isError === true)
            wrong.push(`${each.name}: ${heard?.method} ${heard?.url}: ${textOf(result).slice(0, 300)}`);
          else methods.add(operation.method);
        } catch (error) {
          // The client refuses an answer that breaks its schema.
          wrong.push(`${each.name}: ${String(error).slice(0, 300)}`);
        }
      }
      expect(wrong).toEqual([]);
      expect(methods.size).toBeGreaterThan(1);
    },
  );

  it.each(names)('%s: a next page, a rate limit and a file are answered as they are for any API', async (name) => {
    const own = apis.get(name) as Api;
    const made = await clientOf(name);
    const all = tools.get(name) as Tools;
    const reads = (each: Tools[number]): boolean => each.annotations?.readOnlyHint === true;
    const pages = /^(page|cursor|offset|starting_after|next_page_token|continue)$/;
    const paged = all.find(
      (each) => reads(each) && Object.keys(each.inputSchema.properties ?? {}).some((key) => pages.test(key)),
    );
    const parameter = Object.keys(paged?.inputSchema.properties ?? {}).find((key) => pages.test(key)) ?? '';
    expect(parameter).not.toBe('');
    own.next = (_heard, response) => {
      response
        .writeHead(200, { 'content-type': 'text/plain', link: `<${own.api.url}/next?${parameter}=2>; rel="next"` })
        .end('the first page');
      return true;
    };
    const raw = await RawClient.open(`${gateway.url}/${name.toLowerCase()}`);
    const call = async (tool: Tools[number], more: JsonObject = {}): Promise<unknown> =>
      (await raw.callTool(tool.name, { ...argumentsOf(tool), ...more })).last.result;
    expect(textOf(await call(paged as Tools[number]))).toContain(
      `For the next page call this tool again with: {"${parameter}":"2"}`,
    );

    own.next = (_heard, response) => {
      response.writeHead(429, { 'retry-after': '11', 'content-type': 'application/json' }).end('{"why":"busy"}');
      return true;
    };
    const limited = await call(paged as Tools[number]);
    expect(limited).toMatchObject({ isError: true });
    expect(textOf(limited)).toContain('Call again after 11 s.');

    own.next = (_heard, response) => {
      response.writeHead(200, { 'content-type': 'application/zip' }).end(Buffer.from([80, 75, 3, 4, 0]));
      return true;
    };
    expect(await call(paged as Tools[number])).toMatchObject({
      content: [{ type: 'resource', resource: { mimeType: 'application/zip', blob: 'UEsDBAA=' } }],
    });
    raw[Symbol.dispose]();
    await made.close();
  });
});
