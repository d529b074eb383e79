/** Known callers: the data of one of them do not exist for another. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { subjects } from '@omnibus/bus';
import { Outsider } from '@omnibus/bus/testing';
import { writeConfig } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { saidHere } from '../support/command-here.ts';
import { omnibusProgram, startProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { Upstream } from '../support/upstream.ts';

const main = omnibusProgram;

let folder: string;
let file: string;
let upstream: Upstream;
let gateway: GatewayHere;
let ann: Readonly<Record<string, string>>;
let bob: Readonly<Record<string, string>>;

const keys = (...args: string[]): ReturnType<typeof saidHere> => saidHere(['keys', ...args, '--file', file]);

async function create(subject: string): Promise<string> {
  return /omk_\S+/.exec((await keys('create', '--subject', subject)).output)?.[0] ?? '';
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-identity-'));
  file = join(folder, 'keys.yaml');
  ann = { authorization: `Bearer ${await create('ann')}` };
  bob = { authorization: `Bearer ${await create('bob')}` };
  upstream = await Upstream.start();
  gateway = await startGatewayHere('embedded', { auth: { keys: { file } }, mcpServers: { up: { url: upstream.url } } });
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

it('the file of keys contains no key, and is readable by its owner only', async () => {
  const text = await readFile(file, 'utf8');
  for (const { authorization } of [ann, bob]) expect(text).not.toContain((authorization as string).slice(-43));
  const { output } = await keys('list');
  expect(output).toMatch(/^ID +SUBJECT +STATE/);
  expect(output).toMatch(/ann +good +all +all/);
  expect(
    (await keys('create', '--subject', 'bot', '--tool', 'up/e*', 'prompt:up/ask', '--endpoint', 'up')).status,
  ).toBe(0);
  expect((await keys('list')).output).toMatch(/bot +good +up +up\/e\*, prompt:up\/ask +-/);
  const refused = await keys('create', '--subject', 'bot', '--tool', '/echo');
  expect([refused.status, refused.output]).toEqual([
    78,
    expect.stringMatching(/key \w+: tools: "\/echo": expected a server in front of "\/" and a name after it/),
  ]);
});

it('a session of one caller does not exist for another, whatever the request', async () => {
  using mine = await RawClient.open(gateway.url, '2025-11-25', ann);
  await mine.untilTools((names) => names.length === 1);
  using stolen = new RawClient(gateway.url, bob);
  stolen.session = mine.session;
  expect((await stolen.request('tools/list')).status).toBe(404);
  expect((await stolen.post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(404);
  expect((await stolen.post([{ jsonrpc: '2.0', id: 1, method: 'ping' }])).status).toBe(404);
  await expect(stolen.listen()).rejects.toThrow('GET answered 404');
  expect(await stolen.delete()).toBe(404);
  const never = new RawClient(gateway.url, bob);
  never.session = 'A'.repeat(32);
  expect((await never.request('tools/list')).body).toBe(
    (await stolen.request('tools/list', {}, 2)).body.replace('"id":2', '"id":1'),
  );
  expect(await mine.toolNames()).toEqual(['echo']);
});

it('no request is served without a key, and a session id does not replace one', async () => {
  using mine = await RawClient.open(gateway.url, '2025-11-25', ann);
  using stranger = new RawClient(gateway.url);
  stranger.session = mine.session;
  expect((await stranger.request('tools/list')).status).toBe(401);
  expect(await stranger.delete()).toBe(401);
  expect(await mine.toolNames()).toEqual(['echo']);
});

it('no server receives the key of a caller', async () => {
  using mine = await RawClient.open(gateway.url, '2025-11-25', ann);
  await mine.callTool('echo');
  expect(upstream.requests.length).toBeGreaterThan(0);
  expect(JSON.stringify([...upstream.authorizations, ...upstream.requests])).not.toContain('omk_');
});

it('a client of omnibus stdio --connect without a key is told what to give, and with one is served', async () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };
  const start = async (
    more: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    await using joined = startProcess('node', [main, 'stdio', '--connect', gateway.url, ...more], environment, 'pipe');
    joined.child.stdin?.write(`${JSON.stringify(initialize)}\n`);
    const [line] = await joined.line(/^\{"jsonrpc".*"id":1.*$/);
    return line as string;
  };
  expect(await start([])).toMatch(/serves known callers only.*--header/);
  expect(await start(['--header', `Authorization: ${ann['authorization'] as string}`])).toContain('"result"');
  // Arguments of a program are visible to all users of a machine; its environment cannot.
  expect(await start([], { OMNIBUS_TOKEN: `${(ann['authorization'] as string).slice('Bearer '.length)}\n` })).toContain(
    '"result"',
  );
});

it('a revoked key ends the sessions it opened, and is refused from then on', async () => {
  const going = { authorization: `Bearer ${await create('carol')}` };
  const [, id = ''] = going.authorization.split('_');
  await expect.poll(async () => (await new RawClient(gateway.url, going).initialize('2025-11-25')).status).toBe(200);
  using client = await RawClient.open(gateway.url, '2025-11-25', going);
  const stream = await fetch(gateway.url, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': client.session as string, ...going },
  });
  expect(stream.status).toBe(200);
  expect(await keys('revoke', id)).toMatchObject({ status: 0 });
  await stream.text();
  expect((await client.request('ping')).status).toBe(401);
  expect((await keys('list')).output).toMatch(new RegExp(`${id} +carol +revoked`));
  expect(await keys('revoke', 'nobody')).toMatchObject({ status: 5 });
});

it('over NATS, no other client of NATS can forge the identity of a caller, with a session or without', async () => {
  await using several = await startGatewayHere('nats', {
    auth: { keys: { file } },
    mcpServers: { up: { url: upstream.url } },
  });
  const prefix = subjects.presence.name.replace(/presence$/, '');
  // Session workers may send answers to edges only.
  await using outsider = await Outsider.connect(several.bus as string, `${prefix}inbox.edge.outsider`);
  const commands: {
    readonly key: string;
    readonly command: { readonly caller: { readonly principal: string; readonly proof: string } };
  }[] = [];
  const stop = outsider.subscribe(`${prefix}session.>`, (_subject, payload) => {
    const message = JSON.parse(payload) as (typeof commands)[number];
    if ('caller' in message.command) commands.push(message);
  });
  await outsider.flush();
  using mine = await RawClient.open(several.url, '2025-11-25', ann);
  await mine.untilTools((names) => names.length === 1);
  using hers = await RawClient.open(several.url, '2025-11-25', bob);
  await expect.poll(() => new Set(commands.map(({ command: { caller } }) => caller.principal)).size).toBe(2);
  stop();
  const [victim] = commands as [(typeof commands)[number]];
  const other = commands.find(
    ({ command: { caller } }) => caller.principal !== victim.command.caller.principal,
  ) as (typeof commands)[number];
  const { principal } = victim.command.caller;
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };
  const context = { capabilities: {}, logLevel: undefined };
  for (const caller of [
    { principal, endpoint: '' },
    { principal, endpoint: '', proof: other.command.caller.proof },
    { principal: 'anonymous', endpoint: '' },
  ]) {
    for (const [subject, payload] of [
      [subjects.sessionOpen(undefined).name, { kind: 'open', caller, request: initialize }],
      [
        subjects.modern(undefined).name,
        {
          kind: 'request',
          key: 'some-key',
          caller,
          request: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
          context,
        },
      ],
    ] as const)
      expect((await outsider.request(subject, JSON.stringify(payload), 5_000)).text).toContain('caller.unproven');
  }
  const records = (await outsider.buckets()).get('omnibus-sessions') as ReadonlyMap<string, string>;
  expect(records.size).toBe(2);
  for (const record of records.values()) expect(record).not.toContain('proof');
  expect(await mine.toolNames()).toEqual(['echo']);
  expect((await hers.request('ping')).status).toBe(200);
});

it('over NATS, edges that authenticate callers need the sealing key', async () => {
  const running = startProcess('node', [
    main,
    'serve',
    '--config',
    await writeConfig({ auth: { keys: { file } } }),
    '--role',
    'edge',
    '--bus',
    'nats://127.0.0.1:1',
    '--listen',
    '127.0.0.1:0',
    '--admin',
    '127.0.0.1:0',
  ]);
  const status = await new Promise((resolve) => {
    running.child.once('close', resolve);
  });
  expect(status).toBe(78);
  expect(running.output()).toContain('edges with `auth` need the same sealing key');
});

const serving = ['serve', '--listen', '0.0.0.0:0', '--admin', '127.0.0.1:0', '--config'];

it('a gateway without authentication that others can reach is not started, unless the configuration says so', async () => {
  const said = /"auth" is not configured.*"auth: none" lets everybody in on purpose/;
  const refused = startProcess('node', [main, ...serving, await writeConfig({ mcpServers: {} })]);
  expect(
    await new Promise((resolve) => {
      refused.child.once('close', resolve);
    }),
  ).toBe(78);
  expect(refused.output()).toMatch(said);
  const found = await saidHere(['check', await writeConfig({ listen: '0.0.0.0:7300', mcpServers: {} })]);
  expect(found.status).toBe(78);
  expect(found.output).toMatch(said);
  await using open = startProcess('node', [main, ...serving, await writeConfig({ auth: 'none', mcpServers: {} })]);
  await open.line(/"msg":"everybody who reaches 0\.0\.0\.0:0 may use every server/);
  await open.line(/^ {2}warning {3}everybody who reaches/);
  const { output } = await saidHere([
    'check',
    await writeConfig({ listen: '0.0.0.0:7300', auth: 'none', mcpServers: {} }),
  ]);
  expect(output).toMatch(/warning: .*everybody who reaches 0\.0\.0\.0:7300/);
});

it('if the environment names a file of keys, a first key is made once and shown once', async () => {
  const environment = { OMNIBUS_KEYS_FILE: join(folder, 'made', 'keys.yaml') };
  const config = await writeConfig({ mcpServers: {} });
  const start = async (): Promise<string> => {
    await using running = startProcess('node', [main, ...serving, config], environment);
    const [, port] = await running.line(/"endpoint":"http:\/\/0\.0\.0\.0:(\d+)\/mcp"/);
    const key = /^omk_\S+$/m.exec(running.output())?.[0];
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    expect(
      (await new RawClient(`http://127.0.0.1:${port as string}/mcp`, headers).initialize('2025-11-25')).status,
    ).toBe(key === undefined ? 401 : 200);
    return key ?? 'none';
  };
  expect(await start()).toMatch(/^omk_/);
  expect(await start()).toBe('none');
});
