/** The package as users install it: from the archive alone, into an empty folder. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { version } from '@omnibus/protocol';
import { startGateway, shapes, writeConfig } from '../support/gateway.ts';
import { isLongLane } from '../support/lane.ts';
import { fixturePath, root, startProcess } from '../support/processes.ts';
import { fromPackage } from '../stranger/paths.ts';
import { Steps, type Step } from '../stranger/steps.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';
import { install, makeArchive, type Archive, type Installed } from './installed.ts';
import { nodeOf } from './other-nodes.ts';

/** Bounds in bytes with room for growth; docs/how-to/install.md has the sizes, which a test below compares. */
const mostPacked = 3_200_000;
const mostUnpacked = 13_400_000;

let folder: string;
let archive: Archive;
let installed: Installed;
let upstream: Upstream;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-package-'));
  archive = await makeArchive(folder);
  installed = await install(archive.file);
  upstream = await Upstream.start({
    tools: [{ ...tool('greet'), inputSchema: { type: 'object', properties: { name: { type: 'string' } } } }],
    onCall: (call) => call.answer(text(`hello ${String(call.args['name'])}`)),
  });
});
afterAll(async () => {
  await upstream[Symbol.asyncDispose]();
  await installed[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function omnibus(...args: readonly string[]): Promise<Outcome> {
  return runProgram(installed.command, args);
}

function runProgram(program: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(program, args, (_error, out, err) => resolve({ code: child.exitCode ?? -1, out, err }));
  });
}

const servers = () => ({
  greeter: { url: upstream.url, validation: 'enforce' },
  program: { command: 'node', args: [fixturePath('stdio-server')] },
});
const read = async (file: string): Promise<string> => readFile(join(installed.folder, file), 'utf8');

it('is one package without dependencies, and a twentieth of what a clone runs with', async () => {
  expect(installed.packages).toEqual(['@omnibus/gateway']);
  expect(archive.packedBytes).toBeLessThan(mostPacked);
  expect(installed.bytes).toBeLessThan(mostUnpacked);
  const manifest = JSON.parse(await read('package.json')) as Readonly<Record<string, unknown>>;
  expect(manifest).toMatchObject({
    name: '@omnibus/gateway',
    version,
    license: 'MIT',
    bin: { omnibus: './bin/omnibus.js' },
    engines: { node: '>=22.22.0' },
  });
  for (const absent of ['dependencies', 'optionalDependencies', 'scripts', 'private'])
    expect(manifest).not.toHaveProperty(absent);
  expect(await readdir(installed.folder)).toEqual([
    'LICENSE',
    'LICENSES-OF-OTHERS.md',
    'README.md',
    'bin',
    'console',
    'dist',
    'docs',
    'omnibus.schema.json',
    'package.json',
    'sbom.cdx.json',
  ]);
  expect(await readdir(join(installed.folder, 'dist'))).toEqual(
    expect.arrayContaining([
      'main.js',
      'edge.js',
      'session.js',
      'backend.js',
      'authorization.js',
      'nats.js',
      'kubernetes-client.js',
    ]),
  );
});

it('is loaded without what only takes memory: two bytes a character, and the library of the fetch of Node', async () => {
  const folder = join(installed.folder, 'dist');
  const chunks = (await readdir(folder)).filter((file) => file.endsWith('.js'));
  for (const chunk of chunks) expect(await read(`dist/${chunk}`), chunk).toMatch(/^[\0-\x7f]*$/);
  const roles = ['edge', 'session', 'backend'].map((role) => JSON.stringify(pathToFileURL(join(folder, `${role}.js`))));
  const { out } = await runProgram(process.execPath, [
    '--input-type=module',
    '--eval',
    `for (const role of [${roles.join()}]) await import(role); console.log(process.moduleLoadList.join('\\n'));`,
  ]);
  expect(out).toContain('NativeModule http\n');
  expect(out).not.toContain('undici');
});

it('has the sizes and the number of packages that docs/how-to/install.md names, within a tenth', async () => {
  const page = await readFile(join(root, 'docs/how-to/install.md'), 'utf8');
  const figure = (pattern: RegExp): number => Number(pattern.exec(page)?.[1]);
  const { components } = JSON.parse(await read('sbom.cdx.json')) as { readonly components: readonly unknown[] };
  const pairs = {
    download: [figure(/downloads ([\d.]+) MB/) * 1e6, archive.packedBytes],
    disk: [figure(/takes ([\d.]+) MB/) * 1e6, installed.bytes],
    packages: [figure(/licences of the (\d+) packages/), components.length],
  } as const;
  for (const [name, [named, measured]] of Object.entries(pairs))
    expect(Math.abs(named - measured) / measured, `${name}: ${named} named, ${measured} measured`).toBeLessThan(0.1);
});

it('somebody who has only the package adds a server of their own, serves it and calls it', async () => {
  const told: Step[] = [];
  await fromPackage(archive.file, new Steps('package', (step) => told.push(step)));
  expect(told.map(({ what }) => what.split(' ')[1])).toEqual(['install', 'add', 'serve,', 'call']);
  expect(told[0]?.megabytes).toBeGreaterThan(1);
});

it('prints its documents without a checkout', async () => {
  expect(await omnibus('docs', 'timeouts')).toMatchObject({
    code: 0,
    out: expect.stringContaining('connectTimeout') as string,
  });
});

it('names every package it holds code of in its bill of materials, each with its licence, and holds the licence', async () => {
  const bill = JSON.parse(await read('sbom.cdx.json')) as {
    readonly bomFormat: string;
    readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
    readonly components: readonly {
      readonly name: string;
      readonly version: string;
      readonly purl: string;
      readonly licenses: readonly unknown[];
    }[];
  };
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name: '@omnibus/gateway', version } },
  });
  const licences = await read('LICENSES-OF-OTHERS.md');
  for (const { name, version: of, purl, licenses } of bill.components) {
    expect(purl).toContain('pkg:npm/');
    expect(licenses.length).toBeGreaterThan(0);
    expect(licences).toContain(`${name} ${of} (`);
  }
  expect(bill.components.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['undici', 'zod', 'ws', 'jose', '@kubernetes/client-node']),
  );
  for (const wanted of ['vitest', 'typescript', 'chai'])
    expect(bill.components.map(({ name }) => name)).not.toContain(wanted);
});

it('copies itself with its Node and its libraries into a folder, from which it wraps a program in whatever image', async () => {
  const carried = join(folder, 'carried');
  expect(await omnibus('copy', carried)).toEqual({ code: 0, out: '', err: '' });
  expect((await readdir(carried)).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(['app', 'lib', 'loader', 'node']);
  // The environment contains nothing of this machine, as in an image with nothing else.
  const args = ['--library-path', join(carried, 'lib'), join(carried, 'node'), join(carried, 'app/bin/omnibus.js')];
  expect(await runProgram(join(carried, 'loader'), [...args, '--version'])).toEqual({
    code: 0,
    out: `${version}\n`,
    err: '',
  });
  await using wrapped = startProcess(join(carried, 'loader'), [
    ...args,
    'expose',
    '--listen',
    '127.0.0.1:0',
    '--',
    'node',
    fixturePath('stdio-server'),
  ]);
  const [, port] = (await wrapped.line(/"port":(\d+)/)) as unknown as [string, string];
  await using gateway = await startGateway('embedded', { mcpServers: { wrapped: { url: `ws://127.0.0.1:${port}/` } } });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('echo'));
  expect((await client.callTool('echo', { a: 1 })).last.result).toEqual(text('{"a":1}'));
});

it('answers version, help and check', async () => {
  expect(await omnibus('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
  expect(await omnibus('--help')).toMatchObject({ code: 0, out: expect.stringContaining('serve') as string });
  const config = await writeConfig({ mcpServers: servers() });
  expect(await omnibus('check', config)).toMatchObject({
    code: 0,
    out: expect.stringContaining('is good: 2 servers (greeter, program)') as string,
  });
  expect(await omnibus('check', await writeConfig({ mcpServer: {} }))).toMatchObject({
    code: 78,
    err: expect.stringContaining('did you mean "mcpServers"?') as string,
  });
});

it.each(shapes)(
  'serves clients, %s, loads the parts of its role only, nothing from outside, and ends clean',
  async (shape) => {
    await using gateway = await startGateway(
      shape,
      { mcpServers: servers() },
      installed.tracing,
      installed.command.replace(/node_modules\/\.bin\/omnibus$/, 'node_modules/@omnibus/gateway/bin/omnibus.js'),
    );
    using client = await RawClient.open(gateway.url);
    const { result } = (await client.request('tools/list')).last;
    expect((result?.['tools'] as { name: string }[]).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['greeter__greet', 'program__echo']),
    );
    expect((await client.callTool('greeter__greet', { name: 'Ada' })).last.result).toMatchObject(text('hello Ada'));
    expect((await client.callTool('greeter__greet', { name: 7 })).last.result).toMatchObject({ isError: true });
    expect((await client.callTool('program__echo', { a: 1 })).last.result).toMatchObject(text('{"a":1}'));
    const admin = `http://${await gateway.admin(gateway.edge)}`;
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    // Two halves of 1 MB. They are 16 MB each if V8 lets them grow while it loads the code.
    expect(Number(/heap_space_size_total_bytes\{space="new"[^}]*\} (\d+)/.exec(metrics)?.[1])).toBeLessThan(5_000_000);
    // The package includes the console: the page, and its first resources.
    const page = await (await fetch(`${admin}/`)).text();
    const [, script] = /src="\.(\/assets\/[^"]+\.js)"/.exec(page) as unknown as [string, string];
    const asked = await fetch(`${admin}${script}`);
    expect([asked.status, asked.headers.get('content-encoding')]).toEqual([200, 'gzip']);
    const { processes } = gateway;
    await gateway[Symbol.asyncDispose]();
    expect(processes.map(({ child }) => child.exitCode)).toEqual(processes.map(() => 0));
    // Programs of servers record nothing, since they are started without our environment.
    const loadedBy = await installed.loaded();
    const loaded = processes.map(({ pid }) => loadedBy.get(pid) ?? []);
    for (const file of loaded.flat()) expect(file).toMatch(new RegExp(`^${installed.folder}/|/tracer\\.mjs$`));
    // Of undici, what sends requests and not its index, which has four times the source.
    for (const file of loaded.flat()) expect(await readFile(file, 'utf8'), file).not.toContain('MockAgent');
    const parts = (files: readonly string[]): string =>
      ['edge', 'session', 'backend', 'authorization', 'nats', 'kubernetes-client']
        .filter((part) => files.some((file) => file.endsWith(`/dist/${part}.js`)))
        .join(' ');
    expect(new Set(loaded.map(parts))).toEqual(
      new Set(shape === 'embedded' ? ['edge session backend'] : ['backend nats', 'edge nats', 'session nats']),
    );
  },
);

it('serves a desktop client on stdin and stdout, and ends with it', async () => {
  const config = await writeConfig({ mcpServers: servers() });
  await using running = startProcess(installed.command, ['stdio', '--config', config], {}, 'pipe');
  const say = (message: object): boolean | undefined =>
    running.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const answer = async (id: number): Promise<Message> =>
    JSON.parse((await running.line(new RegExp(`^\\{.*"id":${id}[,}].*$`)))[0]) as Message;
  say({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'desktop', version: '1' } },
  });
  expect((await answer(1)).result).toMatchObject({ serverInfo: { version } });
  say({ method: 'notifications/initialized' });
  say({ id: 2, method: 'tools/call', params: { name: 'program__echo', arguments: { b: 2 } } });
  expect((await answer(2)).result).toMatchObject(text('{"b":2}'));
  const ended = new Promise((resolve) => {
    running.child.once('exit', resolve);
  });
  running.child.stdin?.end();
  expect(await ended).toBe(0);
});

it('loads every part of itself, also those that are seldom asked for', async () => {
  const files = (await readdir(join(installed.folder, 'dist')))
    .filter((file) => file !== 'main.js')
    .map((file) => join(installed.folder, 'dist', file));
  const script = `for (const file of ${JSON.stringify(files)}) await import(file); process.stdout.write('all');`;
  expect(await runProgram(process.execPath, ['--input-type=module', '--eval', script])).toEqual({
    code: 0,
    out: 'all',
    err: '',
  });
});

// In the long lane, since two versions of Node are installed.
it.each(isLongLane ? [['22.22.0', '18.20.8']] : [])(
  'runs on the oldest Node it says it runs on, %s, and says on %s that a newer one is needed',
  { timeout: 180_000 },
  async (oldestVersion, olderVersion) => {
    const program = join(installed.folder, 'bin/omnibus.js');
    const [oldest, older] = await Promise.all([nodeOf(oldestVersion), nodeOf(olderVersion)]);
    const config = await writeConfig({ mcpServers: servers(), listen: '127.0.0.1:0', admin: '127.0.0.1:0' });
    await using running = startProcess(oldest, [program, 'serve', '--config', config]);
    const [, url] = (await running.line(/"endpoint":"([^"]+)"/)) as unknown as [string, string];
    await running.line(/"msg":"ready"/);
    using client = await RawClient.open(url);
    expect((await client.callTool('greeter__greet', { name: 'Bob' })).last.result).toMatchObject(text('hello Bob'));
    expect(await runProgram(older, [program, 'serve'])).toEqual({
      code: 78,
      out: '',
      err: `omnibus: Node ${oldestVersion} or later is needed; this is Node ${olderVersion}, ${older}\n`,
    });
  },
);
