/**
 * Clients with an OAuth implementation of their own sign in at a gateway of three processes with an authorization server: discovery, registration, PKCE, a
 * call, and a call of a tool that needs a further scope.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOf, formatUsers, leastCost } from '@omnibus/authorization';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Balancer } from '../support/balancer.ts';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { root, startProcess, type RunningProcess } from '../support/processes.ts';
import { Upstream } from '../support/upstream.ts';
import { fetchWalker, type User } from '../support/walker.ts';
import { goClient, make, makingLimitMs, mcpRemote, pythonSdks, usable, type Making } from './toolchains.ts';

const ann: User = { name: 'ann', password: 'correct horse battery staple' };
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};
const call = [
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'echo', arguments: {} } },
];

let folder: string;
let upstream: Upstream;
let front: Balancer;
let gateway: GatewayUnderTest;

interface OAuthProgram {
  readonly name: string;
  readonly needs: readonly Making[];
  readonly start: (url: string) => RunningProcess;
  /** Its output: the address that the user must open, and the answer to its call. */
  readonly address: RegExp;
  readonly said: RegExp;
}

const programs = usable<OAuthProgram>([
  {
    name: 'the Python SDK',
    needs: [pythonSdks],
    start: (url) => startProcess(pythonSdks.python, [join(root, 'test/direct/python/sign_in.py'), url]),
    address: /^open (\S+)$/,
    said: /^said (.+)$/,
  },
  {
    name: 'the Go SDK',
    needs: [goClient],
    start: (url) => startProcess(goClient.signIn, [url]),
    address: /^open (\S+)$/,
    said: /^said (.+)$/,
  },
  {
    name: 'mcp-remote',
    needs: [mcpRemote],
    address: /^(?:Browser opened.*|\s*)(http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+)$/,
    said: /"id":2.*"text":"([^"]+)"/,
    start(url) {
      // The program finds no browser on its PATH, so none is opened.
      const running = startProcess(
        process.execPath,
        [mcpRemote.program, url],
        { MCP_REMOTE_CONFIG_DIR: join(folder, 'mcp-remote'), PATH: join(folder, 'nothing') },
        'pipe',
      );
      const say = (...messages: readonly object[]): void =>
        void running.child.stdin?.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
      say(initialize);
      // It sends each message as soon as it has it, and what belongs to a session may follow only the answer (2025-11-25 lifecycle, Initialization).
      void running.line(/^\{.*"id":1,/).then(
        () => say(...call),
        () => undefined,
      );
      return running;
    },
  },
]);

beforeAll(() => make(programs.flatMap(({ needs }) => needs)), makingLimitMs);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-oauth-clients-'));
  const file = join(folder, 'users.yaml');
  await writeFile(
    file,
    formatUsers([{ name: ann.name, password: await digestOf(ann.password, leastCost), groups: [] }]),
  );
  upstream = await Upstream.start();
  front = await Balancer.start();
  gateway = await startGateway('nats', {
    publicUrl: front.url,
    mcpServers: { up: { url: upstream.url }, paid: { url: upstream.url } },
    auth: {
      scopes: ['mcp'],
      stepUp: [{ scope: 'paid:call', for: 'paid/echo', description: 'spend money' }],
      server: { users: { file } },
    },
  });
  front.edges = [gateway.url];
});

afterAll(async () => {
  for (const each of [gateway, front, upstream]) await each[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

it.each(programs)(
  '$name signs in by itself, and calls a tool',
  { timeout: 120_000 },
  async ({ start, address, said }) => {
    await using walker = fetchWalker();
    await using running = start(`${front.url}/mcp/up`);
    const [, found = ''] = await running.line(address);
    await walker.visit(new URL(found), ann);
    expect((await running.line(said))[1]).toBeTruthy();
    expect(running.output()).not.toContain('Traceback');
  },
);

/** Resolves when the program listens for the answer to a request for authorization; mcp-remote begins to after it has shown the address. */
async function untilListening(address: URL): Promise<void> {
  const { hostname, port } = new URL(address.searchParams.get('redirect_uri') ?? '');
  const listens = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.destroy();
        resolve(true);
      }).on('error', () => resolve(false));
    });
  await expect.poll(listens, { timeout: 60_000 }).toBe(true);
}

/** The first address asks for the scopes of every request, the second for those of the tool; no order of scopes means anything (RFC 6749 section 3.3). */
const [first, second] = [
  /(http\S+[?&]scope=(?![^&\s]*paid)\S+)$/,
  /(http\S+[?&]scope=(?=[^&\s]*\bmcp\b)[^&\s]*paid(?::|%3A)call\S*)$/,
];

it.each(programs)(
  '$name asks its user for the scope that a tool needs when it calls the tool, and calls it again',
  { timeout: 120_000 },
  async ({ start, said }) => {
    await using walker = fetchWalker();
    await using running = start(`${front.url}/mcp/paid`);
    for (const shown of [first, second]) {
      const address = new URL((await running.line(shown))[1] as string);
      await untilListening(address);
      await walker.visit(address, ann);
    }
    expect((await running.line(said))[1]).toBeTruthy();
  },
);
