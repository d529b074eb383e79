import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { natsUsers } from '@omnibus/bus';
import { freePorts, startNatsServer } from '@omnibus/bus/testing';
import { version } from '@omnibus/protocol';
import { inHere, saidHere } from '../support/command-here.ts';
import { serveOnce, startGatewayHere } from '../support/gateway-here.ts';
import { metricsOf } from '../support/metrics.ts';
import { fixturePath, omnibusProgram, root, sealing, startProcess } from '../support/processes.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { Upstream } from '../support/upstream.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface Said {
  readonly status: number;
  readonly output: string;
}

/** Runs a command in this process. */
const omnibus = (...args: string[]): Promise<Said> => saidHere(args, { env: sealing });

/** Runs a command that reads what programs write while this process is busy with their servers, or that begins to serve, in a process of its own. */
async function inProcess(...args: string[]): Promise<Said> {
  const running = startProcess('node', [omnibusProgram, ...args], sealing);
  const [status] = (await once(running.child, 'close')) as [number | null];
  return { status: status ?? -1, output: running.output() };
}

async function configFile(content: string): Promise<string> {
  const file = join(folder, 'omnibus.yaml');
  await writeFile(file, content);
  return file;
}

it('help and version are printed', async () => {
  expect(await omnibus('--version')).toEqual({ status: 0, output: version });
  const help = await omnibus('-h');
  expect(help.status).toBe(0);
  expect(help.output).toContain('serve');
  expect((await omnibus('serve', '--help')).output).toContain('--bus <address>');
});

it('without a command nothing is started, and help is printed', async () => {
  const { status, output } = await omnibus();
  expect(status).toBe(0);
  expect(output).toMatch(/^Usage: omnibus /);
  expect(await omnibus('--listen', '127.0.0.1:1')).toMatchObject({ status: 64 });
});

it.each([['--help'], ['help', 'call'], ['docs']])(
  'a reader that closes the pipe ends %s without an error',
  async (...args) => {
    const running = startProcess('node', [omnibusProgram, ...args], sealing);
    running.child.stdout?.destroy();
    const [status] = (await once(running.child, 'close')) as [number | null];
    expect({ status, output: running.output() }).toEqual({ status: 0, output: '' });
  },
);

it('an unknown option is an error with the nearest match', async () => {
  const { status, output } = await omnibus('serve', '--lisen', '127.0.0.1:1');
  expect(status).toBe(64);
  expect(output).toContain('Did you mean --listen?');
});

it('migrate prints the changed configuration, and writes it with --write', async () => {
  const file = await configFile('servers: # mine\n  a: { serverUrl: "http://127.0.0.1:1/mcp" }\n');
  expect((await omnibus('check', file)).status).toBe(78);
  expect(await omnibus('migrate', file)).toMatchObject({
    status: 0,
    output: expect.stringContaining('mcpServers: # mine') as string,
  });
  expect((await omnibus('check', file)).status).toBe(78);
  expect((await omnibus('migrate', file, '--write')).status).toBe(0);
  expect((await omnibus('check', file)).status).toBe(0);
  const good = await omnibus('migrate', file);
  expect(good.status).toBe(0);
  expect(good.output).toContain(`${file} has no outdated options`);
  expect(good.output).toContain('mcpServers: # mine');
  expect(await omnibus('migrate', join(folder, 'nowhere.yaml'))).toMatchObject({
    status: 78,
    output: expect.stringContaining('there is no such file') as string,
  });
});

it('migrate refuses a file that it cannot read, and one of another program, which it would break', async () => {
  const broken = await configFile('mcpServers: { a: { command: x }\n');
  expect(await omnibus('migrate', broken)).toMatchObject({
    status: 78,
    output: expect.stringContaining('a "{" before this place is not closed') as string,
  });
  const settings = join(folder, '.gemini/settings.json');
  const before = '{"security":{"auth":{}},"mcpServers":{"a":{"httpUrl":"http://127.0.0.1:1/mcp"}}}';
  await mkdir(join(folder, '.gemini'), { recursive: true });
  await writeFile(settings, before);
  expect(await omnibus('migrate', settings, '--write')).toMatchObject({
    status: 78,
    output: expect.stringContaining('is a file of Gemini CLI, which is not changed') as string,
  });
  expect(await readFile(settings, 'utf8')).toBe(before);
});

it('check accepts a good configuration, and reports everything that is wrong with another', async () => {
  const good = await configFile('mcpServers: { a: { url: "http://127.0.0.1:1/mcp" } }');
  for (const words of [[good], ['--config', good], [good, '-c', good]])
    expect(await omnibus('check', ...words)).toMatchObject({
      status: 0,
      output: `${good} is good: 1 server (a), 0 profiles`,
    });
  expect(await omnibus('check', good, '--config', 'another.yaml')).toMatchObject({
    status: 64,
    output: expect.stringContaining('two configurations are named') as string,
  });
  const bad = await configFile('lisen: x\nmcpServers:\n  a: { url: nonsense }\n');
  const { status, output } = await omnibus('check', bad);
  expect(status).toBe(78);
  expect(output.split('\n')).toEqual([
    `${bad}:1:1: lisen: unknown option; did you mean "listen"?`,
    `${bad}:3:8: mcpServers.a.url: expected an http://, https://, ws:// or wss:// address, got "nonsense"`,
  ]);
  const twice = await configFile('bus: "nats://team:hunter2@127.0.0.1:1"\nnats: { token: other }\nmcpServers: {}\n');
  for (const command of [
    ['check', twice],
    ['serve', '-c', twice],
  ]) {
    const refused = await omnibus(...command);
    expect(refused).toMatchObject({ status: 78, output: expect.stringContaining('two ways to log in') as string });
    expect(refused.output).not.toContain('hunter2');
  }
});

it('serve refuses a configuration that it cannot run with, and says why', async () => {
  expect(await omnibus('serve', '--config', join(folder, 'none.yaml'))).toMatchObject({
    status: 78,
    output: expect.stringContaining('there is no such file') as string,
  });
  const file = await configFile('mcpServers: {}');
  expect(await omnibus('serve', '-c', file, '--role', 'edge')).toMatchObject({
    status: 78,
    output: expect.stringContaining('--bus nats://') as string,
  });
  expect(await omnibus('serve', '-c', file, '--listen', 'nowhere')).toMatchObject({
    status: 78,
    output: expect.stringContaining('expected HOST:PORT') as string,
  });
  const another = createServer().listen(0, '127.0.0.1');
  await once(another, 'listening');
  const taken = `127.0.0.1:${(another.address() as AddressInfo).port}`;
  expect(await inProcess('serve', '-c', file, '--listen', taken, '--admin', '127.0.0.1:0')).toMatchObject({
    status: 1,
    output: expect.stringContaining(`${taken} is in use; choose another address with --listen`) as string,
  });
  // An address for documentation (RFC 5737), which no machine has.
  const elsewhere = '192.0.2.1:7300';
  const open = await configFile('mcpServers: {}\nauth: none');
  await expect(serveOnce({ config: open, listen: elsewhere })).rejects.toThrow(
    `the edge: ${elsewhere} is no address of this machine; choose another address with --listen`,
  );
  await expect(serveOnce({ config: open, admin: taken })).rejects.toThrow(
    `the admin port: ${taken} is in use; choose another address with --admin`,
  );
  another.close();
});

it('a changed configuration is applied without touching servers that did not change; a broken one is not applied', async () => {
  await using upstream = await Upstream.start();
  const child = { command: 'node', args: [fixturePath('stdio-server')] };
  await using gateway = await startGatewayHere('embedded', { mcpServers: { child, going: { url: upstream.url } } });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.length === 6);
  const pidOf = async (): Promise<string> =>
    ((await client.callTool('child__pid')).last as Message & { result: { content: { text: string }[] } }).result
      .content[0]?.text ?? '';
  const pid = await pidOf();

  await gateway.configure({
    mcpServers: { child, coming: { url: upstream.url } },
    profiles: { one: { servers: ['coming'], prefix: 'always' } },
  });
  await client.untilTools((names) => names.includes('coming__echo') && !names.includes('going__echo'));
  expect(await pidOf()).toBe(pid);
  using profile = await RawClient.open(`${gateway.url}/one`);
  expect(await profile.toolNames()).toEqual(['coming__echo']);

  const inUse = async (): Promise<number | undefined> =>
    (await metricsOf(gateway.edge)).get('omnibus_config_last_reload_successful');
  expect(await inUse()).toBe(1);
  await gateway.configure({ mcpServers: { child: { ...child, comand: 'x' } } });
  await gateway.edge.line(/"msg":"the changed configuration is not applied"/);
  expect(await pidOf()).toBe(pid);
  expect(await inUse()).toBe(0);
  const { output } = await omnibus('status', '--admin', await gateway.admin(gateway.edge));
  expect(output).toMatch(/is not applied, and what was in force before stays: .*comand: unknown option/);

  await gateway.configure({ mcpServers: { child: { ...child, env: { NEW: '1' } }, coming: { url: upstream.url } } });
  await gateway.edge.line(/the changed configuration is applied.*/);
  await client.untilTools((names) => names.includes('child__echo'));
  await expect.poll(inUse).toBe(1);
});

it('the banner does not wait for a hung server; only the server with an unset variable is down, and disabled tools are not shown', async () => {
  await using upstream = await Upstream.start({
    tools: ['keep', 'drop'].map((name) => ({ name, inputSchema: { type: 'object' } })),
  });
  const sockets = new Set<Socket>();
  const hung = createServer((socket) => sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
  await once(hung, 'listening');
  const file = await configFile(
    JSON.stringify({
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      log: { format: 'json' },
      mcpServers: {
        good: { url: upstream.url, excludeTools: ['dr*'] },
        unset: { command: 'node', env: { A: '${NOBODY_HAS_SET_THIS}' } },
        hung: { url: `http://127.0.0.1:${(hung.address() as AddressInfo).port}/mcp`, connectTimeout: '50s' },
      },
    }),
  );
  expect(await omnibus('check', file)).toMatchObject({
    status: 78,
    output: expect.stringContaining(
      'mcpServers.unset.env.A: the environment variable NOBODY_HAS_SET_THIS is not set',
    ) as string,
  });
  await using running = startProcess('node', [omnibusProgram, 'serve', '--config', file]);
  await running.line(/servers {3}\d of 3 up/);
  await running.line(/… hung {3}is still connecting/);
  await running.line(/✗ unset {2}down: env\.A: the environment variable NOBODY_HAS_SET_THIS is not set/);
  const [, endpoint] = await running.line(/"endpoint":"([^"]+)"/);
  using client = await RawClient.open(`${endpoint as string}/good`);
  expect(await client.untilTools((names) => names.length > 0)).toEqual(['keep']);
  expect((await client.callTool('drop')).last.error?.message).toContain('drop');
  hung.close();
  for (const socket of sockets) socket.destroy();
  await running.line(/✗ hung +down: /);
});

it('health, readiness and metrics are served on the admin port', async () => {
  await using upstream = await Upstream.start();
  await using gateway = await startGatewayHere('embedded', { mcpServers: { up: { url: upstream.url } } });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.length === 1);
  await client.callTool('echo');
  const admin = `http://${await gateway.admin(gateway.edge)}`;
  expect(await (await fetch(`${admin}/healthz`)).text()).toBe('ok\n');
  expect(await (await fetch(`${admin}/readyz`)).text()).toBe('ready\n');
  expect((await fetch(`${admin}/nothing`)).status).toBe(404);
  const metrics = await (await fetch(`${admin}/metrics`)).text();
  for (const line of [
    'omnibus_upstream_calls_total{server="up",result="result"} 1',
    'omnibus_upstream_call_duration_seconds_count{server="up"} 1',
    'omnibus_upstream_state{server="up",state="ready"} 1',
    'omnibus_client_requests_total{method="tools/call"} 1',
    'omnibus_sessions{state="ready"} 1',
    'omnibus_client_streams 1',
    'omnibus_catalog_entries{server="up",kind="tools"} 1',
  ])
    expect(metrics).toContain(line);
  expect(metrics).toContain('nodejs_eventloop_lag_seconds');
});

it('the quickstart serves its four servers and stops cleanly on Ctrl-C', async () => {
  const [port] = await freePorts(1);
  await using running = startProcess(
    'node',
    [
      omnibusProgram,
      'serve',
      '--config',
      join(root, 'deploy/examples/quickstart.yaml'),
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '127.0.0.1:0',
    ],
    { EVERYTHING_PORT: String(port), npm_config_loglevel: 'silent' },
  );
  await running.line(/servers {3}4 of 4 up/);
  for (const pattern of [
    /✓ everything +13 tools/,
    /✓ everything-http +13 tools/,
    /✓ files +14 tools/,
    /✓ memory +9 tools/,
    /claude mcp add --transport http omnibus http/,
    /~\/\.cursor\/mcp\.json/,
    /code --add-mcp/,
  ]) {
    expect(running.output()).toMatch(pattern);
  }
  running.kill('SIGINT');
  await new Promise((resolve) => {
    running.child.once('exit', resolve);
  });
  expect(running.child.exitCode).toBe(0);
});

it('a process whose NATS is not there yet says so, is not ready, and starts when it is', async () => {
  await using server = await Upstream.start();
  await using nats = await startNatsServer();
  await nats.kill();
  const file = await configFile(
    JSON.stringify({
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      log: { format: 'json' },
      mcpServers: { up: { url: server.url } },
    }),
  );
  await using waiting = startProcess('node', [omnibusProgram, 'serve', '-c', file, '--bus', nats.url], sealing);
  const [, admin] = await waiting.line(/"admin":"([^"]+)","msg":"waiting for the bus"/);
  const readiness = await fetch(`http://${admin as string}/readyz`);
  expect(readiness.status).toBe(503);
  expect(await readiness.text()).toContain(`no NATS server answers at ${nats.url}`);
  expect((await fetch(`http://${admin as string}/healthz`)).status).toBe(200);
  expect(await (await fetch(`http://${admin as string}/status`)).json()).toMatchObject({
    bus: { kind: 'nats', isConnected: false },
  });

  await using stopped = startProcess('node', [omnibusProgram, 'serve', '-c', file, '--bus', nats.url], sealing);
  await stopped.line(/waiting for the bus/);
  await stopped[Symbol.asyncDispose]();
  expect(stopped.child.exitCode).toBe(0);

  await nats.start();
  await waiting.line(/"msg":"ready"/);
  expect((await fetch(`http://${admin as string}/readyz`)).status).toBe(200);
});

it('doctor checks everything, and advises on what is wrong', async () => {
  await using server = await Upstream.start();
  await using listless = await Upstream.start({
    capabilities: { tools: {}, prompts: {} },
    onRequest: ({ method }) => (method === 'prompts/list' ? { prompts: 'none' } : undefined),
  });
  const guarded = createHttpServer((request, response) => {
    if (request.url === '/meta')
      response.end(
        JSON.stringify({
          resource: `http://${request.headers.host ?? ''}/mcp`,
          authorization_servers: ['https://issuer.example'],
        }),
      );
    else
      response
        .writeHead(401, { 'www-authenticate': `Bearer resource_metadata="http://${request.headers.host ?? ''}/meta"` })
        .end();
  }).listen(0, '127.0.0.1');
  await once(guarded, 'listening');
  // The output of npm for a package that the registry does not have.
  await writeFile(
    join(folder, 'npx'),
    '#!/bin/sh\necho "npm error code E404" >&2\necho "npm error 404 Not Found" >&2\nexit 1\n',
    { mode: 0o755 },
  );
  const file = await configFile(
    JSON.stringify({
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      mcpServers: {
        good: { url: server.url },
        gone: { url: 'http://127.0.0.1:1/mcp', connectTimeout: '2s' },
        typo: { command: 'no-such-program' },
        listless: { url: listless.url },
        oauth: { url: `http://127.0.0.1:${(guarded.address() as AddressInfo).port}/mcp` },
        packaged: { command: join(folder, 'npx'), args: ['-y', 'no-such-package@1.0.0'], connectTimeout: '5s' },
        noisy: {
          command: 'sh',
          args: ['-c', `echo starting up; exec "${process.execPath}" "${fixturePath('stdio-server')}"`],
        },
        unset: { command: 'node', env: { A: '${NOBODY_HAS_SET_THIS}' } },
        page: { url: `http://127.0.0.1:${(guarded.address() as AddressInfo).port}/meta`, connectTimeout: '5s' },
      },
    }),
  );
  const { status, output } = await inProcess('doctor', '-c', file, '--bus', 'nats://127.0.0.1:1');
  expect(status).toBe(78);
  guarded.close();
  expect(output).toMatch(/! configuration: .* has mistakes, .*\n✗ configuration: .* mcpServers\.unset\.env\.A: /);
  expect(output).toMatch(
    /✗ server oauth: .*\n {4}It wants OAuth, with tokens of https:\/\/issuer\.example: add to this server "credentials: \{ kind: oauth \}"/,
  );
  expect(output).toMatch(
    /✗ server packaged: .*it wrote last: npm error code E404( \| npm error 404 Not Found)?\n {4}There is no such package: is "no-such-package@1\.0\.0" written rightly.*npm view no-such-package$/m,
  );
  expect(output).toMatch(
    /✓ server noisy: up.*\n! server noisy: its program prints to stdout what is no MCP message: 1 times so far\n {4}stdout is for messages alone/,
  );
  expect(output).toMatch(/✓ server listless: up.*\n! server listless: .*prompts.*\n/);
  expect(output).toMatch(/✗ server unset: .*NOBODY_HAS_SET_THIS.*\n {4}Mend its entry in the configuration/);
  expect(output).toMatch(/✗ server page: .*\n {4}Something answers, and not as an MCP server does/);
  expect(output).toMatch(/✗ bus: no NATS server answers at nats:\/\/127\.0\.0\.1:1.*\n {4}Start NATS/);
  expect(output).toMatch(/✓ server good: up, revision 2025-11-25: 1 tool,/);
  expect(output).toMatch(/✗ server gone: .*\n {4}Is the server running/);
  expect(output).toMatch(/✗ server typo: .*\n {4}Is "no-such-program" installed/);
});

it('docs with an empty topic lists the topics, and nats setup names the mistake in --bus memory and not the file', async () => {
  const listed = await inHere(['docs', '']);
  expect(listed).toMatchObject({ status: 0, stdout: (await inHere(['docs'])).stdout });
  const file = await configFile('mcpServers: {}\nbus: nats://127.0.0.1:1\n');
  const { status, stderr } = await inHere(['nats', 'setup', '--bus', 'memory', '-c', file]);
  expect(status).toBe(64);
  expect(stderr).toMatch(/--bus memory is the bus inside one process.*\n {4}Name the NATS to set up: --bus nats:/);
});

it('doctor asks the gateway that runs where there is no configuration, and names both where there is none', async () => {
  await using server = await Upstream.start();
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { good: { url: server.url }, gone: { url: 'http://127.0.0.1:1/mcp', connectTimeout: '2s' } },
  });
  const address = await gateway.admin(gateway.backend);
  const empty = join(folder, 'empty');
  await mkdir(empty, { recursive: true });
  const running = await inHere(['doctor', '--admin', address], { cwd: empty });
  expect(running.status).toBe(78);
  expect(running.stdout).toMatch(/✓ gateway: version \S+ runs at 127\.0\.0\.1:\d+: 1 process, 1 of 2 servers up/);
  expect(running.stdout).toMatch(/✗ gateway: server gone is down: .*\n {4}Is the server running/);
  const named = await inHere(['doctor', '--json'], { cwd: empty, env: { OMNIBUS_ADMIN: address } });
  expect(JSON.parse(named.stdout)).toContainEqual(expect.objectContaining({ about: 'gateway', state: 'bad' }));
  const none = await inHere(['doctor', '--admin', '127.0.0.1:1'], { cwd: empty });
  expect(none).toMatchObject({ status: 78, stdout: '' });
  expect(none.stderr).toMatch(/no configuration in this folder, and no gateway answers at 127\.0\.0\.1:1: /);
  // Another program has the address that the file names for clients.
  const file = await configFile(JSON.stringify({ listen: new URL(server.url).host, admin: address, mcpServers: {} }));
  const beside = await inHere(['doctor', '-c', file]);
  expect(beside.stdout).toMatch(/! listen: .* in use\n.*\n✓ admin: .* in use by the gateway that runs\n✓ gateway:/);
  const own = await configFile(JSON.stringify({ listen: '127.0.0.1:0', admin: '127.0.0.1:0', mcpServers: {} }));
  const another = await inHere(['doctor', '-c', own, '--admin', `http://${address}`]);
  expect(another.stdout).toMatch(/✓ admin: 127\.0\.0\.1:0 is free\n✓ gateway: version/);
});

/** What doctor says of a NATS that works: on a loaded machine it answers late, which is a warning. */
const isThere = expect.stringMatching(/^(?:good|warning)$/) as string;

it('doctor accepts a good gateway, its bus and its clock', async () => {
  await using server = await Upstream.start();
  await using nats = await startNatsServer();
  const file = await configFile(
    JSON.stringify({ listen: '127.0.0.1:0', admin: '127.0.0.1:0', mcpServers: { good: { url: server.url } } }),
  );
  const { status, output } = await omnibus('doctor', '-c', file, '--bus', nats.url, '--json');
  expect((JSON.parse(output) as { about: string; state: string }[]).map(({ about, state }) => [about, state])).toEqual([
    ['configuration', 'good'],
    ['Node', 'good'],
    ['listen', 'good'],
    ['admin', 'good'],
    ['bus', isThere],
    ['bus user', 'good'],
    ['storage', 'good'],
    ['clock', 'good'],
    ['sealing key', 'good'],
    ['server good', 'good'],
  ]);
  expect(status).toBe(0);
});

it('nats setup creates what a gateway stores, can be run again, and says what a role may not do', async () => {
  await using nats = await startNatsServer(`authorization { users: [\n${natsUsers((user) => user)}\n] }`);
  // What other parts need may be missing or wrong here.
  const file = await configFile(
    JSON.stringify({
      logLevel: 'no option',
      auth: { keys: { file: '${NO_SUCH_SECRET}' } },
      mcpServers: { a: { url: '${NO_SUCH_SECRET}' } },
      audit: {
        sinks: [{ kind: 'webhook', url: '${NO_SUCH_SECRET}' }, { kind: 'jetstream' }],
        calls: 'no value',
      },
    }),
  );
  const run = async (
    user: string,
  ): Promise<{ readonly status: number | null; readonly did: Record<string, string> }> => {
    const bus = nats.url.replace('://', `://${user}:${user}@`);
    const { status, output } = await omnibus('nats', 'setup', '-c', file, '--bus', bus, '--json');
    const steps = JSON.parse(output) as { readonly stream: string; readonly did: string }[];
    return { status, did: Object.fromEntries(steps.map(({ stream, did }) => [stream, did])) };
  };
  const first = await run('setup');
  expect(first).toMatchObject({ status: 0, did: { 'omnibus-audit': 'created', 'KV_omnibus-sessions': 'created' } });
  const again = await run('setup');
  expect(again.status).toBe(0);
  expect(new Set(Object.values(again.did))).toEqual(new Set(['left']));
  expect(Object.keys(again.did)).toEqual(Object.keys(first.did));
  expect(await run('edge')).toMatchObject({ status: 1, did: { 'KV_omnibus-sessions': 'failed' } });
  const { status, output } = await omnibus('nats', 'setup', '-c', file);
  expect({ status, output }).toMatchObject({ status: 78, output: expect.stringContaining('names no NATS') as string });
});

it('doctor works as a user with the permissions of one role, and says what it could not check', async () => {
  await using server = await Upstream.start();
  await using nats = await startNatsServer(
    `authorization { users: [\n${natsUsers((role) => role)}\n{ user: nobody, password: nobody, permissions: { publish: ["elsewhere"], subscribe: ["elsewhere"] } }\n] }`,
  );
  const file = await configFile(
    JSON.stringify({ listen: '127.0.0.1:0', admin: '127.0.0.1:0', mcpServers: { good: { url: server.url } } }),
  );
  const as = async (user: string, ...more: string[]): Promise<Readonly<Record<string, string>>> => {
    const { output } = await omnibus(
      'doctor',
      '-c',
      file,
      '--bus',
      nats.url.replace('://', `://${user}:${user}@`),
      '--json',
      ...more,
    );
    return Object.fromEntries(
      (JSON.parse(output) as { about: string; state: string }[]).map(({ about, state }) => [about, state]),
    );
  };
  // Nothing is stored yet, and NATS shows its clock only to users that may create something.
  expect(await as('edge', '--role', 'edge')).toMatchObject({
    bus: isThere,
    'bus user': 'good',
    storage: 'good',
    clock: 'unchecked',
    'sealing key': 'good',
    servers: 'unchecked',
  });
  expect(await as('backend')).toMatchObject({ 'bus user': 'unchecked', storage: 'good', 'server good': 'good' });
  expect(await as('session', '--role', 'edge')).toMatchObject({ 'bus user': 'bad' });
  expect(await as('nobody')).toMatchObject({
    bus: isThere,
    'bus user': 'bad',
    storage: 'unchecked',
    clock: 'unchecked',
  });
});

it('status shows the processes and their servers, as a table and as JSON', async () => {
  await using server = await Upstream.start();
  await using gateway = await startGatewayHere('nats', { mcpServers: { up: { url: server.url } } });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.length > 0);
  const admins = await Promise.all(gateway.processes.map((each) => gateway.admin(each)));
  let output = '';
  // On a busy machine a process may answer late, and is shown as missing then.
  await expect
    .poll(async () => {
      const ran = await omnibus('status', '--admin', admins[2] as string);
      ({ output } = ran);
      return ran.status;
    })
    .toBe(0);
  const lines = output.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines[0]).toEqual(['PROCESS', 'ROLE', 'VERSION', 'UPTIME', 'BUS', 'SESSIONS', 'STATE']);
  expect(lines.slice(1, 4).map(([, role, , , bus, sessions, state]) => [role, bus, sessions, state])).toEqual([
    ['edge', 'nats', '-', 'ready'],
    ['session', 'nats', '1', 'ready'],
    ['backend', 'nats', '-', 'ready'],
  ]);
  expect(lines.at(-1)).toEqual(['up', 'up', '2025-11-25', '1', '0', '0', '1', '-']);
  await expect
    .poll(async () => JSON.parse((await omnibus('status', '--json', '--admin', admins[1] as string)).output) as object)
    .toMatchObject({
      processes: [
        { role: 'edge' },
        { role: 'session', sessions: { ready: 1 }, bus: { isConnected: true } },
        { role: 'backend' },
      ],
      servers: [{ name: 'up', state: 'up' }],
      missing: [],
    });
  // The API does not go with the page.
  await gateway.configure({ mcpServers: { up: { url: server.url } }, console: { mode: 'off' } });
  await expect.poll(async () => (await fetch(`http://${admins[1] as string}/`)).status).toBe(404);
  const without = await omnibus('status', '--json', '--admin', admins[1] as string);
  expect(JSON.parse(without.output)).toMatchObject({
    processes: [{ role: 'edge' }, { role: 'session', sessions: { ready: 1 } }, { role: 'backend' }],
    servers: [{ name: 'up' }],
    missing: [],
  });
  expect(await omnibus('status', '--admin', '127.0.0.1:65001')).toMatchObject({
    status: 3,
    output: expect.stringContaining('nothing listens at this address') as string,
  });
});
