/** A short list of tools, and all others found and called through it: clients of every revision and both official SDKs, in both shapes. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { shapes } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient } from '../support/modern-client.ts';
import { fixturePath, omnibusProgram } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { SocketClient } from '../support/socket-client.ts';
import { text, Upstream } from '../support/upstream.ts';

const info = { name: 'test', version: '1.0.0' };
const finding = ['find_tools', 'describe_tools', 'call_tool'];
const asking = { command: 'node', args: [fixturePath('asking-server')] };
const weather = {
  name: 'city_forecast',
  description: 'The weather of the next days.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const found = 'weather__city_forecast(city*): The weather of the next days.';
const toolsOf = (result: unknown): number => (result as { readonly tools: readonly unknown[] }).tools.length;
const textOf = (result: unknown): string =>
  (result as { readonly content: readonly { readonly text: string }[] }).content[0]?.text ?? '';

describe.each(shapes)('%s', (shape) => {
  let gateway: GatewayHere;
  let upstream: Upstream;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-few-'));
    upstream = await Upstream.start({
      tools: [weather],
      onCall: (call) => {
        call.progress(1, 2);
        call.answer(text(`${call.name} of ${String(call.args['city'])}`));
      },
    });
    gateway = await startGatewayHere(shape, {
      listing: 'search',
      profiles: { all: { listing: 'full' } },
      mcpServers: { weather: { url: upstream.url }, asking },
      audit: { sinks: [{ kind: 'file', folder }] },
    });
    // A profile may have a list of its own, here one that shows when both servers are up.
    using waiting = await RawClient.open(`${gateway.url}/all`);
    await waiting.untilTools(
      (names) => names.includes('weather__city_forecast') && names.includes('asking__elicit') && names.length === 8,
    );
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream.stop();
    await rm(folder, { recursive: true });
  });

  const finds = (query: string): JsonObject => ({ name: 'find_tools', arguments: { query, limit: 1 } });
  const calls = (name: string, given: JsonObject = {}): JsonObject => ({
    name: 'call_tool',
    arguments: { name, arguments: given },
  });
  const forecast = calls('weather__city_forecast', { city: 'Bern' });

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'a client of %s finds a tool and calls it, with its progress',
    async (revision) => {
      using client = await RawClient.open(gateway.url, revision);
      const { last } = await client.request('tools/list');
      expect((last.result?.['tools'] as { name: string }[]).map(({ name }) => name)).toEqual(finding);
      expect(textOf((await client.request('tools/call', finds('weather'))).last.result)).toBe(found);
      const { messages } = await client.request('tools/call', { ...forecast, _meta: { progressToken: 'p' } });
      expect(messages.map(({ method }) => method)).toEqual(['notifications/progress', undefined]);
      expect(textOf(messages.at(-1)?.result)).toBe('city_forecast of Bern');
    },
  );

  it('a client of 2026-07-28 finds a tool and calls it, and answers its question in a second round', async () => {
    const client = new ModernClient(gateway.url);
    const { last } = await client.request('tools/list');
    expect((last.result?.['tools'] as { name: string }[]).map(({ name }) => name)).toEqual(finding);
    expect((await client.request('tools/call', finds('weather'))).last.result).toMatchObject({
      resultType: 'complete',
      content: [{ text: found }],
    });
    expect(textOf((await client.request('tools/call', forecast)).last.result)).toBe('city_forecast of Bern');
    const { result } = (await client.request('tools/call', calls('asking__elicit'))).last;
    expect(result).toMatchObject({ resultType: 'input_required' });
    const [key] = Object.keys(result?.['inputRequests'] as object);
    const answered = await client.request('tools/call', {
      ...calls('asking__elicit'),
      requestState: result?.['requestState'],
      inputResponses: { [key as string]: { action: 'accept', content: { answer: 'yes' } } },
    });
    expect(textOf(answered.last.result)).toContain('yes');
  });

  it('SDK 1.x and 2.x find and call tools, and answer the questions of a tool', async () => {
    const one = new ClientOne(info, { capabilities: { elicitation: {} } });
    one.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { answer: 'yes' } }));
    await one.connect(new TransportOne(new URL(gateway.url)));
    expect((await one.listTools()).tools.map(({ name }) => name)).toEqual(finding);
    expect(textOf(await one.callTool(finds('weather') as never))).toBe(found);
    expect(textOf(await one.callTool(calls('asking__elicit') as never))).toContain('yes');
    await one.close();
    const two = new ClientTwo(info, { versionNegotiation: { mode: 'auto' } });
    await two.connect(new TransportTwo(new URL(gateway.url)));
    expect((await two.listTools()).tools.map(({ name }) => name)).toEqual(finding);
    expect(textOf(await two.callTool(finds('weather') as never))).toBe(found);
    expect(textOf(await two.callTool(forecast as never))).toBe('city_forecast of Bern');
    await two.close();
  });

  it('a client over SSE and one on a WebSocket find a tool and call it', async () => {
    const sse = new ClientOne(info);
    await sse.connect(new SSEClientTransport(new URL(gateway.url.replace('/mcp', '/sse'))));
    expect((await sse.listTools()).tools.map(({ name }) => name)).toEqual(finding);
    expect(textOf(await sse.callTool(finds('weather') as never))).toBe(found);
    expect(textOf(await sse.callTool(forecast as never))).toBe('city_forecast of Bern');
    await sse.close();
    using socket = await SocketClient.open(gateway.url.replace(/^http(.*)\/mcp$/, 'ws$1/ws'));
    const { result } = await socket.request('tools/list');
    expect((result?.['tools'] as { name: string }[]).map(({ name }) => name)).toEqual(finding);
    expect(textOf((await socket.request('tools/call', finds('weather'))).result)).toBe(found);
    expect(textOf((await socket.request('tools/call', forecast)).result)).toBe('city_forecast of Bern');
  });

  it.each(['2025-11-25', '2026-07-28'])(
    'a client of %s that sends the header is shown few tools where others are shown all',
    async (revision) => {
      const header = { 'omnibus-listing': 'search' };
      const [url, list] = [`${gateway.url}/all`, 'tools/list'];
      const of = async (headers: Record<string, string>): Promise<number> => {
        if (revision === '2026-07-28')
          return toolsOf((await new ModernClient(url, {}, headers).request(list)).last.result);
        using client = await RawClient.open(url, revision, headers);
        return toolsOf((await client.request(list)).last.result);
      };
      expect([await of(header), await of({})]).toEqual([3, 8]);
    },
  );

  it('records name the tool that was called, and never the tool through which it was', async () => {
    const client = new ModernClient(gateway.url);
    await client.request('tools/call', forecast);
    const records = async (): Promise<readonly string[]> => {
      const files = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
      return files.flatMap((file) => file.split('\n'));
    };
    const ofCall = async (): Promise<readonly string[]> =>
      (await records()).filter((line) => line.includes('"city_forecast"'));
    await expect.poll(async () => (await ofCall()).length).toBeGreaterThan(0);
    expect((await ofCall())[0]).toContain('"weather"');
    expect((await records()).filter((line) => line.includes('call_tool'))).toEqual([]);
  });
});

it('a client of `omnibus stdio` finds and calls tools', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-few-'));
  const file = join(folder, 'omnibus.json');
  await writeFile(file, JSON.stringify({ listing: 'search', mcpServers: { asking } }));
  const client = new ClientOne(info);
  await client.connect(
    new StdioClientTransport({ command: 'node', args: [omnibusProgram, 'stdio', '--config', file] }),
  );
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(finding);
  await expect
    .poll(async () => textOf(await client.callTool({ name: 'find_tools', arguments: { query: 'roots' } })))
    .toContain('roots()');
  await client.callTool({ name: 'call_tool', arguments: { name: 'release' } });
  await client.close();
  await rm(folder, { recursive: true });
});
