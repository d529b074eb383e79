/** Servers that Omnibus starts: their output, the processes they leave behind, and the environment they can see. */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { shapesOfLane, startGateway, type GatewayOf } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { nested } from '../support/hostile.ts';
import { end, fixturePath, type Printing } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';

const run = promisify(execFile);
const restart = { minDelay: '100ms', maxDelay: '300ms' };
const hostile = (settings: object = {}): object => ({
  command: process.execPath,
  args: [fixturePath('hostile-server')],
  restart,
  ...settings,
});
const textOf = ({ last }: Answer): string => (last.result?.['content'] as [{ readonly text: string }])[0].text;
const linesWith = (gateway: Pick<GatewayOf<Printing>, 'backend'>, text: string): number =>
  gateway.backend
    .output()
    .split('\n')
    .filter((line) => line.includes(text)).length;
const statusOf = async (gateway: Pick<GatewayOf<Printing>, 'admin' | 'backend'>): Promise<string> =>
  (await fetch(`http://${await gateway.admin(gateway.backend)}/status`)).text();

/** A server with one tool that returns its user. */
const identityServer = `
import { createInterface } from 'node:readline';
const answers = {
  'initialize': ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'identity', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'identity', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: JSON.stringify({ uid: process.getuid(), gid: process.getgid(), home: process.env.HOME }) }] }),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(answer === undefined ? { error: { code: -32601, message: 'unknown' } } : { result: answer(params ?? {}) }) }));
});
`;

/** Whether a process exists and is not a zombie. */
async function isAlive(pid: number): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.trim() !== '' && !stdout.startsWith('Z');
}

it.each(shapesOfLane)(
  'messages nested thousands deep on stdout end their call or are dropped, and the gateway goes on (%s)',
  async (shape) => {
    await using gateway = await startGateway(shape, { mcpServers: { hostile: hostile() } });
    using client = await RawClient.open(gateway.url);
    expect((await client.callTool('deep')).last.error).toMatchObject({
      message: expect.stringContaining('"hostile"') as string,
      data: { reason: 'upstream.invalid' },
    });
    expect(textOf(await client.callTool('deep_log'))).toBe('after the log');
    expect(gateway.processes.every(({ child }) => child.exitCode === null)).toBe(true);
  },
);

it('invalid lines on stdout are counted, logged once, and cannot control the terminal', async () => {
  await using gateway = await startGatewayHere('embedded', { mcpServers: { hostile: hostile() } });
  using client = await RawClient.open(gateway.url);
  expect(textOf(await client.callTool('garbage', { lines: 20_000 }))).toBe('after the garbage');
  const metrics = await (await fetch(`http://${await gateway.admin(gateway.backend)}/metrics`)).text();
  expect(Number(/omnibus_dropped_messages_total\{reason="upstream_invalid"\} (\d+)/.exec(metrics)?.[1])).toBe(20_000);
  expect(linesWith(gateway, 'no message; it is dropped')).toBe(1);
  // Neither as a character nor as JSON escapes it.
  expect(gateway.backend.output().replaceAll('\\\\u001b', '')).not.toContain('\\u001b');
});

it("the last lines of a server on stderr go to the operator's log, without secrets", async () => {
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { hostile: hostile({ env: { DATABASE_PASSWORD: 'correct horse' } }) },
  });
  using client = await RawClient.open(gateway.url);
  const { last } = await client.callTool('die');
  expect(last.error).toMatchObject({
    message: 'server "hostile" is not available: the program ended with exit code 1',
    data: { reason: 'upstream.lost' },
  });
  await expect
    .poll(gateway.backend.output)
    .toContain('fatal: cannot log in with [secret] password=[secret] Authorization: [secret]');
  expect(gateway.backend.output() + (await statusOf(gateway))).not.toMatch(/hunter2|correct horse|abcdef123456/);
});

it('a process that a server left in a session of its own ends with the server', async () => {
  await using gateway = await startGatewayHere('embedded', { mcpServers: { hostile: hostile() } });
  using client = await RawClient.open(gateway.url);
  const left = Number(textOf(await client.callTool('leave')));
  expect(await isAlive(left)).toBe(true);
  await client.callTool('die');
  await expect.poll(() => isAlive(left)).toBe(false);
});

it('a process that a server left in a session of its own ends although the gateway was killed, with a shell in between', async () => {
  await using gateway = await startGateway('embedded', {
    mcpServers: {
      hostile: hostile({
        command: 'sh',
        args: ['-c', `"${process.execPath}" "${fixturePath('hostile-server')}"; true`],
      }),
    },
  });
  using client = await RawClient.open(gateway.url);
  const left = Number(textOf(await client.callTool('leave')));
  gateway.backend.kill('SIGKILL');
  await expect.poll(() => isAlive(left)).toBe(false);
});

it('no server finds a secret of the gateway in the environment of any process', async () => {
  const secret = 'a-secret-of-the-gateway';
  await using gateway = await startGateway(
    'embedded',
    { mcpServers: { hostile: hostile() } },
    { OMNIBUS_TEST_SECRET: secret },
  );
  using client = await RawClient.open(gateway.url);
  expect(JSON.parse(textOf(await client.callTool('environ', { wanted: secret })))).toEqual([]);
});

it('a server with a `user` runs as that user, with a home of its own', async () => {
  // The other user must be able to read it, and a clone may be private.
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-test-'));
  const [program, script] = [join(folder, 'node'), join(folder, 'identity.mjs')];
  await copyFile(process.execPath, program);
  await writeFile(script, identityServer);
  await chmod(folder, 0o755);
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { identity: { command: program, args: [script], cwd: folder, user: '65534:65534' } },
  });
  using client = await RawClient.open(gateway.url);
  const identity = JSON.parse(textOf(await client.callTool('identity'))) as { uid: number; gid: number; home: string };
  expect(identity).toMatchObject({ uid: 65_534, gid: 65_534 });
  expect(identity.home).not.toBe(process.env['HOME']);
  await rm(folder, { recursive: true });
});

it('a server with a `sandbox` answers from in there, ends with its gateway, and where none can be made its status says why', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-test-'));
  await writeFile(join(folder, 'identity.mjs'), identityServer);
  const sandbox = { network: false };
  await using gateway = await startGateway('embedded', {
    mcpServers: {
      boxed: { command: process.execPath, args: ['identity.mjs'], cwd: folder, sandbox, restart },
      broken: { command: process.execPath, sandbox: { read: ['/nowhere/at-all'] }, restart },
    },
  });
  const status = await statusOf(gateway);
  // Namespaces may be forbidden, as in most containers.
  if (
    spawnSync('bwrap', ['--unshare-all', '--unshare-user', '--ro-bind', '/', '/', '--proc', '/proc', 'true']).status ===
    0
  ) {
    using client = await RawClient.open(gateway.url);
    expect(JSON.parse(textOf(await client.callTool('boxed__identity')))).toEqual({
      uid: 1_000,
      gid: 1_000,
      home: '/home/server',
    });
    expect(status).toMatch(/is not there, which its sandbox names/);
    const programs = await run('pgrep', ['-f', `bwrap .*${folder}`]);
    await end(gateway.edge, 'SIGTERM');
    for (const pid of programs.stdout.trim().split('\n')) await expect.poll(() => isAlive(Number(pid))).toBe(false);
  } else expect(status).toMatch(/needs bubblewrap|the sandbox of the program could not be made/);
  await rm(folder, { recursive: true });
});

it('a server that cannot be started because file descriptors are exhausted is tried again, and comes back later', async () => {
  await using gateway = await startGateway('embedded', { mcpServers: { hostile: hostile() } });
  using client = await RawClient.open(gateway.url);
  const { pid } = JSON.parse(textOf(await client.callTool('identity'))) as { pid: number };
  await run('prlimit', ['--pid', String(gateway.backend.pid), '--nofile=16:']);
  process.kill(pid, 'SIGKILL');
  await gateway.backend.line(/no more files can be opened/);
  await run('prlimit', ['--pid', String(gateway.backend.pid), '--nofile=4096:']);
  await expect.poll(async () => 'result' in (await client.callTool('identity')).last).toBe(true);
});

it.each([
  ['is not there', { command: '/nowhere/at-all' }, /there is no such program/],
  ['may not be executed', { command: '/etc/passwd' }, /may not be executed/],
  ['should start in a folder that is not there', { cwd: '/nowhere' }, /`cwd`/],
  ['should run as nobody there is', { user: 'nobody-there-is' }, /there is no user/],
  ['has an argument no program can have', { args: ['a\0b'] }, /cannot start/],
])('a program that %s makes its server unavailable, with the reason', async (_what, settings, reason) => {
  await using gateway = await startGatewayHere('embedded', { mcpServers: { broken: hostile(settings) } });
  expect(await statusOf(gateway)).toMatch(reason);
});

it('messages nested thousands deep over a WebSocket end their call', async () => {
  await using stack = new AsyncDisposableStack();
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  stack.defer(() => server.close());
  server.on('connection', (socket) =>
    socket.on('message', (data: Buffer) => {
      const { id, method } = JSON.parse(data.toString()) as { id?: number; method: string };
      if (id === undefined) return;
      const results: Record<string, string> = {
        initialize: JSON.stringify({
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'ws', version: '1' },
        }),
        'tools/list': JSON.stringify({ tools: [{ name: 'act', inputSchema: { type: 'object' } }] }),
        'tools/call': `{"content":[],"_meta":{"deep":${nested(5_000)}}}`,
      };
      socket.send(
        results[method] === undefined
          ? JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })
          : `{"jsonrpc":"2.0","id":${id},"result":${results[method]}}`,
      );
    }),
  );
  const gateway = stack.use(
    await startGatewayHere('embedded', {
      mcpServers: { hostile: { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, restart } },
    }),
  );
  using client = await RawClient.open(gateway.url);
  expect((await client.callTool('act')).last.error).toMatchObject({ data: { reason: 'upstream.invalid' } });
});
