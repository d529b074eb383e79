/** Common clients, with four servers behind one endpoint. */
import { createRequire } from 'node:module';
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOne } from '@modelcontextprotocol/sdk/client/stdio.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '@omnibus/bus/testing';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { fixturePath, omnibusProgram, root, startProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';

const info = { name: 'test', version: '1.0.0' };
const bin = (name: string): string => join(root, 'node_modules/.bin', name);
const textOf = (result: object): string =>
  ((result as { readonly content?: unknown }).content as { text: string }[])[0]?.text ?? '';

it('a desktop client that starts its server: SDK 1.x over `omnibus stdio`, questions included', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-stdio-'));
  const file = join(folder, 'omnibus.json');
  await writeFile(
    file,
    JSON.stringify({ mcpServers: { asking: { command: 'node', args: [fixturePath('asking-server')] } } }),
  );
  const client = new ClientOne(info, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { answer: 'yes' } }));
  const transport = new StdioOne({ command: 'node', args: [omnibusProgram, 'stdio', '--config', file] });
  await client.connect(transport);
  const { pid } = transport;
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('elicit');
  expect(textOf(await client.callTool({ name: 'elicit', arguments: {} }))).toContain('yes');
  // The only server answers for unlisted names.
  expect(textOf(await client.callTool({ name: 'nothing', arguments: {} }))).toBe('"ok"');
  await client.close();
  expect(() => process.kill(pid as number, 0)).toThrow();
  await rm(folder, { recursive: true });
});

it('a desktop client connected to a running gateway: SDK 1.x over `omnibus stdio --connect`, questions included', async () => {
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { asking: { command: 'node', args: [fixturePath('asking-server')] } },
  });
  using waiting = await RawClient.open(gateway.url);
  await waiting.untilTools((names) => names.includes('elicit'));
  const client = new ClientOne(info, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { answer: 'yes' } }));
  await client.connect(
    new StdioOne({
      command: 'node',
      args: [omnibusProgram, 'stdio', '--connect', gateway.url, '--endpoint', 'asking'],
    }),
  );
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('elicit');
  expect(textOf(await client.callTool({ name: 'elicit', arguments: {} }))).toContain('yes');
  await client.close();
});

it.each([
  [
    ['--connect', 'nonsense'],
    /--connect: expected the address of a gateway, such as https:\/\/mcp.example.com\/mcp, not "nonsense"/,
  ],
  [['--connect', 'http://ann:pw@127.0.0.1:1/mcp'], /--connect: the address has a user name or password in it/],
  [['--connect', 'http://127.0.0.1:1/mcp', '--header', 'bad'], /--header: expected "Name: value"/],
])('`omnibus stdio %s` says what is wrong, and is used wrongly', async (args, problem) => {
  await using running = startProcess('node', [omnibusProgram, 'stdio', ...args]);
  const ended = once(running.child, 'exit');
  await running.line(problem);
  expect(await ended).toEqual([64, null]);
});

it('the proxy of a network is used by `omnibus stdio --connect` where Node is told to use it', async () => {
  await using gateway = await startGatewayHere('embedded', { mcpServers: {} });
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(request.url ?? '');
    request.pipe(
      forward(request.url as string, { method: request.method, headers: request.headers }, (answer) =>
        answer.pipe(response.writeHead(answer.statusCode as number, answer.headers)),
      ),
    );
  });
  proxy.on('connect', (request, socket: Socket) => {
    asked.push(`http://${request.url ?? ''}/mcp`);
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const)
      end.on('error', () => undefined).on('close', () => other.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const client = new ClientOne(info);
  await client.connect(
    new StdioOne({
      command: 'node',
      args: [omnibusProgram, 'stdio', '--connect', gateway.url],
      env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: address, NO_PROXY: '' } as Record<string, string>,
    }),
  );
  expect((await client.listTools()).tools).toEqual([]);
  expect(new Set(asked)).toEqual(new Set([gateway.url]));
  await client.close();
  proxy.closeAllConnections();
  proxy.close();
});

it("HTTP+SSE on both sides: the SDK's client on /sse, the reference server in its sse mode behind it", async () => {
  const [port] = await freePorts(1);
  await using upstream = startProcess(bin('mcp-server-everything'), ['sse'], { PORT: String(port) });
  await upstream.line(/running on port/i);
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { everything: { url: `http://127.0.0.1:${port}/sse` } },
  });
  using waiting = await RawClient.open(gateway.url);
  await waiting.untilTools((names) => names.includes('echo'));
  const client = new ClientOne(info);
  await client.connect(new SSEClientTransport(new URL(gateway.url.replace('/mcp', '/sse/everything'))));
  expect(textOf(await client.callTool({ name: 'echo', arguments: { message: 'over two streams' } }))).toContain(
    'over two streams',
  );
  await client.close();
});

describe.each(shapesOfLane)('through one endpoint to four servers, %s', (shape) => {
  let gateway: GatewayHere;
  let folder: string;
  let toolCount: number;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-files-'));
    await writeFile(join(folder, 'hello.txt'), 'hello from a file');
    const [port] = await freePorts(1);
    gateway = await startGatewayHere(shape, {
      mcpServers: {
        everything: { command: bin('mcp-server-everything') },
        'everything-http': {
          command: bin('mcp-server-everything'),
          args: ['streamableHttp'],
          env: { PORT: String(port) },
          url: `http://127.0.0.1:${port}/mcp`,
        },
        files: { command: bin('mcp-server-filesystem'), args: [folder] },
        memory: { command: bin('mcp-server-memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.json') } },
      },
    });
    using client = await RawClient.open(gateway.url);
    const names = await client.untilTools((all) =>
      ['everything', 'everything-http', 'files', 'memory'].every((server) =>
        all.some((name) => name.startsWith(`${server}__`)),
      ),
    );
    toolCount = names.length;
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  async function tour(callTool: (name: string, args: Record<string, unknown>) => Promise<object>): Promise<void> {
    expect(textOf(await callTool('everything__echo', { message: 'one' }))).toBe('Echo: one');
    expect(textOf(await callTool('everything-http__echo', { message: 'two' }))).toBe('Echo: two');
    expect(textOf(await callTool('files__read_text_file', { path: join(folder, 'hello.txt') }))).toBe(
      'hello from a file',
    );
    await callTool('memory__create_entities', {
      entities: [{ name: 'omnibus', entityType: 'gateway', observations: ['for all'] }],
    });
    expect(textOf(await callTool('memory__read_graph', {}))).toContain('omnibus');
  }

  it('SDK 1.x lists and calls tools, reads resources and gets prompts', async () => {
    const client = new ClientOne(info);
    await client.connect(new TransportOne(new URL(gateway.url)) as never);
    expect((await client.listTools()).tools).toHaveLength(toolCount);
    await tour(async (name, args) => client.callTool({ name, arguments: args }));
    const { resources } = await client.listResources();
    const [first] = resources;
    expect((await client.readResource({ uri: first?.uri ?? '' })).contents[0]?.uri).toBe(first?.uri);
    expect((await client.getPrompt({ name: 'everything__simple-prompt' })).messages.length).toBeGreaterThan(0);
    const progress: number[] = [];
    await client.callTool(
      { name: 'everything-http__trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } },
      undefined,
      { onprogress: (update) => progress.push(update.progress) },
    );
    expect(progress).toEqual([1, 2, 3]);
    await client.close();
  });

  it('SDK 2.x lists and calls tools', async () => {
    const client = new ClientTwo(info);
    await client.connect(new TransportTwo(new URL(gateway.url)));
    expect((await client.listTools()).tools).toHaveLength(toolCount);
    await tour(async (name, args) => client.callTool({ name, arguments: args }));
    await client.close();
  });

  it("the inspector's command line lists and calls tools", async () => {
    const inspector = join(
      dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')),
      'clients/launcher/build/index.js',
    );
    const run = async (...args: string[]): Promise<string> => {
      const running = startProcess('node', [inspector, '--cli', gateway.url, '--transport', 'http', ...args]);
      const status = await new Promise((resolve) => {
        running.child.once('close', resolve);
      });
      expect(status, running.output()).toBe(0);
      return running.output();
    };
    expect(await run('--method', 'tools/list')).toContain('memory__read_graph');
    expect(
      await run('--method', 'tools/call', '--tool-name', 'everything__echo', '--tool-arg', 'message=inspected'),
    ).toContain('Echo: inspected');
  });
});
