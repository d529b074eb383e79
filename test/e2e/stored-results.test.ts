/** Results over their bound: previews and exact reads by clients of every kind, in both shapes, and after the loss of a session worker. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { shapesOfLane, startGateway, writeConfig, type GatewayUnderTest } from '../support/gateway.ts';
import { ModernClient } from '../support/modern-client.ts';
import { omnibusProgram } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { SocketClient } from '../support/socket-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const info = { name: 'test', version: '1.0.0' };
/** More than a megabyte, with characters of one to four bytes. */
const megabyte = Array.from(
  { length: 30_000 },
  (_none, line) => `line ${line}: "é € 😀" ${'x'.repeat(line % 30)}\n`,
).join('');
const upstreamOptions = {
  tools: [tool('large')],
  onCall: (call: { readonly answer: (result: JsonObject) => void }): void => call.answer(text(megabyte)),
};
const called = { name: 'large', arguments: {} };

/** Asks for the result of a method. */
type Ask = (method: 'tools/call' | 'resources/read', params: JsonObject) => Promise<unknown>;

/** @returns the URI of the stored result. */
async function previewed(ask: Ask): Promise<string> {
  const result = (await ask('tools/call', called)) as JsonObject;
  expect(JSON.stringify(result['content']).length / 4).toBeLessThanOrEqual(1_000);
  return /omnibus:\/\/result\/[\w-]+/.exec(JSON.stringify(result))?.[0] ?? '';
}

async function readsExactly(ask: Ask, uri: string): Promise<void> {
  let whole = '';
  const step = 400_000;
  for (let first = 0; first < Buffer.byteLength(megabyte); first += step) {
    const result = (await ask('resources/read', { uri: `${uri}?bytes=${first}-${first + step - 1}` })) as {
      readonly contents: readonly { readonly text: string }[];
    };
    whole += result.contents[0]?.text ?? '';
  }
  expect(whole === megabyte).toBe(true);
  const read = (await ask('tools/call', { name: 'read_result', arguments: { uri, lines: '30000' } })) as {
    readonly content: readonly { readonly text: string }[];
  };
  expect(read.content[0]?.text).toBe(`line 29999: "é € 😀" ${'x'.repeat(29_999 % 30)}\n`);
}

const askBy =
  (client: {
    request: (method: string, params: JsonObject) => Promise<{ readonly last: { readonly result?: JsonObject } }>;
  }): Ask =>
  async (method, params) =>
    (await client.request(method, params)).last.result;

const askBySdk =
  (client: { callTool: (params: never) => Promise<unknown>; readResource: (params: never) => Promise<unknown> }): Ask =>
  (method, params) =>
    method === 'tools/call' ? client.callTool(params as never) : client.readResource(params as never);

describe.each(shapesOfLane)('%s', (shape) => {
  let gateway: GatewayUnderTest;
  let upstream: Upstream;

  beforeAll(async () => {
    upstream = await Upstream.start(upstreamOptions);
    gateway = await startGateway(shape, { results: { maxTokens: 1_000 }, mcpServers: { up: { url: upstream.url } } });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('large'));
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream.stop();
  });

  const exact = async (ask: Ask): Promise<void> => readsExactly(ask, await previewed(ask));

  it('clients of every revision over HTTP pay 1,000 tokens for a megabyte and read it exactly', async () => {
    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      using client = await RawClient.open(gateway.url, revision);
      await exact(askBy(client));
    }
    using modern = new ModernClient(gateway.url);
    await exact(askBy(modern));
  });

  it('SDK 1.x over HTTP and SSE, SDK 2.x, and a WebSocket do so too', async () => {
    for (const transport of [
      new TransportOne(new URL(gateway.url)),
      new SSEClientTransport(new URL(gateway.url.replace('/mcp', '/sse'))),
    ]) {
      const client = new ClientOne(info);
      await client.connect(transport);
      // The SDK checks structured content against the schemas of the list.
      await client.listTools();
      await exact(askBySdk(client as never));
      await client.close();
    }
    const two = new ClientTwo(info, { versionNegotiation: { mode: 'auto' } });
    await two.connect(new TransportTwo(new URL(gateway.url)));
    await exact(askBySdk(two as never));
    await two.close();
    using socket = await SocketClient.open(gateway.url.replace(/^http(.*)\/mcp$/, 'ws$1/ws'));
    await exact(async (method, params) => (await socket.request(method, params)).result);
  });

  if (shape === 'nats')
    it('a stored result is read at another session worker after its own was killed', async () => {
      using legacy = await RawClient.open(gateway.url);
      using modern = new ModernClient(gateway.url);
      const asks = [askBy(legacy), askBy(modern)];
      const uris = await Promise.all(asks.map(previewed));
      const old = gateway.processes.filter((part) => part !== gateway.edge && part !== gateway.backend);
      await gateway.startPart('session');
      await gateway.lose(...old);
      for (const [at, ask] of asks.entries()) await readsExactly(ask, uris[at] as string);
    });
});

it('a client of `omnibus stdio` pays 1,000 tokens for a megabyte and reads it exactly', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-large-'));
  const upstream = await Upstream.start(upstreamOptions);
  const file = await writeConfig({ results: { maxTokens: 1_000 }, mcpServers: { up: { url: upstream.url } } });
  const client = new ClientOne(info);
  await client.connect(
    new StdioClientTransport({ command: 'node', args: [omnibusProgram, 'stdio', '--config', file] }),
  );
  await expect.poll(async () => (await client.listTools()).tools.map(({ name }) => name)).toContain('large');
  const ask = askBySdk(client as never);
  await readsExactly(ask, await previewed(ask));
  await client.close();
  await upstream.stop();
  await rm(folder, { recursive: true });
});
