/** The official clients and servers of both eras, in all combinations. */
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { WebSocket } from 'ws';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { join } from 'node:path';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { fixturePath, omnibusProgram } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { Upstream } from '../support/upstream.ts';

const textOf = (result: object): string =>
  ((result as { content?: unknown }).content as { text: string }[])[0]?.text ?? '';
const asking = { command: 'node', args: [fixturePath('asking-server')] };
const both = { command: 'node', args: [fixturePath('sdk2-server')] };

/** Options of the client, and the revision that it negotiates. */
const clients: readonly [string, Partial<ClientOptions>][] = [
  ['2025-11-25', {}],
  ['2026-07-28', { versionNegotiation: { mode: 'auto' } }],
];

describe.each(shapesOfLane)('official implementations of both eras, %s', (shape) => {
  let gateway: GatewayHere;

  beforeAll(async () => {
    gateway = await startGatewayHere(shape, {
      mcpServers: { one: asking, two: both, pinned: { ...both, era: 'legacy' } },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) =>
      ['one__elicit', 'two__greet', 'pinned__greet'].every((name) => names.includes(name)),
    );
  });

  afterAll(() => gateway[Symbol.asyncDispose]());

  it.each(clients)(
    'a client of SDK 2.x at %s uses servers of SDK 1.x and 2.x, questions included',
    async (revision, options) => {
      const client = new Client(
        { name: 'both', version: '1' },
        { capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} }, ...options },
      );
      client.setRequestHandler('elicitation/create', () => ({
        action: 'accept',
        content: { name: 'Zoe', answer: 'Zoe' },
      }));
      client.setRequestHandler('sampling/createMessage', () => ({
        role: 'assistant',
        content: { type: 'text', text: 'sampled' },
        model: 'none',
      }));
      client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///era' }] }));
      await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
      expect(client.getNegotiatedProtocolVersion()).toBe(revision);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['one__elicit', 'two__greet']),
      );
      expect(textOf(await client.callTool({ name: 'two__say', arguments: { what: 'said' } }))).toBe('said');
      for (const server of ['two', 'pinned'])
        expect(textOf(await client.callTool({ name: `${server}__greet`, arguments: {} }))).toBe('Hello, Zoe!');
      expect(textOf(await client.callTool({ name: 'one__elicit', arguments: {} }))).toContain('Zoe');
      expect(textOf(await client.callTool({ name: 'one__sample', arguments: {} }))).toContain('sampled');
      expect(textOf(await client.callTool({ name: 'one__roots', arguments: {} }))).toContain('file:///era');
      await client.close();
    },
  );
});

it.each(clients)(
  'a client of SDK 2.x at %s over `omnibus stdio`, alone and connected to a running gateway',
  async (revision, options) => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-eras-'));
    const file = join(folder, 'omnibus.json');
    await writeFile(file, JSON.stringify({ mcpServers: { one: asking } }));
    await using gateway = await startGatewayHere('embedded', { mcpServers: { one: asking } });
    using waiting = await RawClient.open(gateway.url);
    await waiting.untilTools((names) => names.includes('elicit'));
    for (const args of [
      ['--config', file],
      ['--connect', gateway.url],
    ]) {
      const client = new Client(
        { name: 'desktop', version: '1' },
        { capabilities: { elicitation: { form: {} } }, ...options },
      );
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { answer: 'Zoe' } }));
      await client.connect(new StdioClientTransport({ command: 'node', args: [omnibusProgram, 'stdio', ...args] }));
      expect(client.getNegotiatedProtocolVersion()).toBe(revision);
      expect(textOf(await client.callTool({ name: 'elicit', arguments: {} }))).toContain('Zoe');
      await client.close();
    }
    await rm(folder, { recursive: true });
  },
);

it("WebSockets on both sides: the SDK's client on /ws, a gateway behind a gateway", async () => {
  await using inner = await startGatewayHere('embedded', { mcpServers: { one: asking } });
  using waiting = await RawClient.open(inner.url);
  await waiting.untilTools((names) => names.includes('elicit'));
  await using outer = await startGatewayHere('embedded', {
    mcpServers: { inner: { url: inner.url.replace(/^http(.*)mcp$/, 'ws$1ws') } },
  });
  using ready = await RawClient.open(outer.url);
  await ready.untilTools((names) => names.includes('elicit'));
  const client = new ClientOne({ name: 'socket', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { answer: 'through sockets' } }));
  await client.connect(new WebSocketClientTransport(new URL(outer.url.replace(/^http(.*)mcp$/, 'ws$1ws/inner'))));
  expect(textOf(await client.callTool({ name: 'elicit', arguments: {} }))).toContain('through sockets');
  await client.close();
});

it('a WebSocket of a foreign origin, or at no endpoint, is refused', async () => {
  await using gateway = await startGatewayHere('embedded', { mcpServers: {} });
  const open = (path: string, origin: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = new WebSocket(gateway.url.replace(/^http(.*)\/mcp$/, `ws$1${path}`), 'mcp', { origin });
      socket.on('open', () => {
        socket.close();
        resolve('open');
      });
      socket.on('error', ({ message }) => resolve(message));
    });
  expect(await open('/ws', 'http://evil.example.com')).toContain('403');
  expect(await open('/elsewhere', 'http://localhost')).toContain('404');
  expect(await open('/ws', 'http://localhost')).toBe('open');
});

it.each(['exits', 'silent'])(
  'the era of a server that %s when asked before it is initialized is recognized',
  async (mood) => {
    await using gateway = await startGatewayHere('embedded', {
      mcpServers: {
        moody: {
          command: 'node',
          args: [fixturePath('moody-server'), mood],
          connectTimeout: '3s',
          restart: { minDelay: '50ms' },
        },
      },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('fine'));
    expect((await client.callTool('fine')).body).toContain('"fine"');
  },
);

it.each([500, 502])(
  'an HTTP server that answers %i to an unexpected request is initialized as one of the older era',
  async (status) => {
    await using upstream = await Upstream.start({ strangeStatus: status });
    await using gateway = await startGatewayHere('embedded', { mcpServers: { up: { url: upstream.url } } });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('echo'));
  },
);
