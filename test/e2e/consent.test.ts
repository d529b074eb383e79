/** The user sees the commands of a configuration, and at a terminal a change needs consent; without a terminal there is no question. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inHere } from '../support/command-here.ts';
import { end, fixturePath, omnibusProgram, startProcess } from '../support/processes.ts';
import { inPipe, onTerminal } from '../support/terminal.ts';

let folder: string;
let env: Readonly<Record<string, string>>;
const entry = (...more: string[]): object => ({ command: 'node', args: [fixturePath('stdio-server'), ...more] });
const anyPort = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
const write = async (name: string, mcpServers: object): Promise<string> => {
  await writeFile(join(folder, name), JSON.stringify({ mcpServers }));
  return join(folder, name);
};
/** A port that is in use: a start that was permitted fails at this port, so the permission can be seen without starting servers. */
const taken = createServer();
const isStarted = /is in use; choose another address/;
const serveAt = (
  file: string,
  typed: readonly (readonly [RegExp, string])[],
  ...more: string[]
): ReturnType<typeof onTerminal> =>
  onTerminal(
    [
      'serve',
      '--config',
      file,
      '--admin',
      '127.0.0.1:0',
      '--listen',
      `127.0.0.1:${(taken.address() as AddressInfo).port}`,
      ...more,
    ],
    typed,
    { env, cwd: folder },
  );

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-consent-'));
  env = { XDG_CONFIG_HOME: join(folder, 'settings') };
  taken.listen(0, '127.0.0.1');
  await once(taken, 'listening');
});

afterAll(async () => {
  taken.close();
  await rm(folder, { recursive: true });
});

it('on a terminal an own file is shown at first, and asked about when it changes; elsewhere a change is logged, and starts', async () => {
  const file = await write('omnibus.json', { one: entry() });
  const first = await serveAt(file, []);
  expect(first.shown).toMatch(/starts on this machine:\s+one: node \S+stdio-server/);
  expect(first.shown).toMatch(isStarted);
  expect(first.shown).not.toContain('Start');
  await write('omnibus.json', {
    one: entry(),
    two: { command: 'sh', args: ['-c', 'curl http://127.0.0.1:1/ | sh'] },
  });
  const refused = await serveAt(file, [[/Start it\? \[y\/N\]/, 'n\r']]);
  expect(refused.status).toBe(78);
  expect(refused.shown).toMatch(
    /has changed since you last agreed.*\s+two: sh -c.*\s+warning: it pipes into a shell whatever comes/,
  );
  expect(refused.shown).not.toContain('one: node');
  const running = startProcess('node', [omnibusProgram, 'serve', '--config', file, ...anyPort], env);
  expect((await running.line(/differ from those that a user has agreed to/))[0]).toBeDefined();
  await running.line(/listening/);
  await end(running, 'SIGTERM');
  expect((await serveAt(file, [[/Start it\? \[y\/N\]/, 'y\r']])).shown).toMatch(isStarted);
  const again = await serveAt(file, []);
  expect(again.shown).toMatch(isStarted);
  expect(again.shown).not.toMatch(/starts on this machine|Start it/);
});

it('a file of a client, which a repository may have, needs an approval at first; --yes approves it, and --no-input asks nothing', async () => {
  const file = await write('.mcp.json', { one: entry() });
  const [refused, unasked] = await Promise.all([
    serveAt(file, [[/Start it\? \[y\/N\]/, '\r']]),
    serveAt(file, [], '--no-input'),
  ]);
  expect([refused.status, refused.shown]).toEqual([
    78,
    expect.stringMatching(/is a file of .*, and starts on this machine/) as string,
  ]);
  for (const { shown } of [unasked, await serveAt(file, [], '--yes'), await serveAt(file, [])]) {
    expect(shown).toMatch(isStarted);
    expect(shown).not.toContain('Start it');
  }
});

it('with the digest that check prints, that is started and nothing else, also by stdio and when the file changes', async () => {
  const file = await write('pinned.json', { one: entry() });
  const checked = await inHere(['check', file], { env });
  expect(checked.stdout).toContain(`  one: node ${fixturePath('stdio-server')}`);
  const digest = /--consent ([0-9a-f]{32})/.exec(checked.stdout)?.[1] as string;
  const running = startProcess(
    'node',
    [omnibusProgram, 'serve', '--config', file, '--consent', digest, ...anyPort],
    env,
  );
  await running.line(/ready/);
  await write('pinned.json', { one: entry('more') });
  await running.line(/something else than --consent allows/);
  const [, admin] = await running.line(/"admin":"([^"]+)"/);
  expect(await inHere(['reload', '--admin', admin as string], { env })).toMatchObject({
    status: 78,
    stderr: expect.stringContaining('something else than --consent allows') as string,
  });
  await end(running, 'SIGTERM');
  const refused = await Promise.all(
    ['serve', 'stdio'].map((command) => inPipe([command, '--config', file, '--consent', digest], { env })),
  );
  for (const { status, stderr } of refused)
    expect([status, stderr]).toEqual([78, expect.stringContaining('now start something else')]);
});

it('check warns of unpinned versions where definitions are pinned, and add and import show the programs to start, with warnings', async () => {
  const file = await write('mine.json', {
    one: { command: 'npx', args: ['-y', 'server'], definitions: 'pin', disabled: false },
    two: { command: 'npx', args: ['-y', 'server@1.0.0'], definitions: 'pin' },
    three: { command: 'npx', args: ['-y', 'server'] },
    four: { command: 'sudo', args: ['x'] },
  });
  const checked = JSON.parse((await inHere(['check', file, '--json'], { env })).stdout) as {
    readonly warnings: readonly { readonly path?: string; readonly message: string }[];
  };
  expect(checked).toMatchObject({
    consent: expect.any(String) as string,
    starts: [{ server: 'one', line: 'npx -y server' }, {}, {}, { risks: [expect.stringContaining('sudo')] }],
  });
  expect(
    checked.warnings.filter(({ message }) => message.includes('its definitions are pinned, and what it runs is not')),
  ).toMatchObject([{ path: 'mcpServers.one.command' }]);
  expect(checked.warnings).toContainEqual(
    expect.objectContaining({
      path: 'mcpServers.four.command',
      message: expect.stringContaining('sudo runs it as another user') as string,
    }),
  );
  const added = await inHere(['add', 'five', '--config', file, '--no-try', '--', 'bash', '-c', 'curl x | bash'], {
    env,
  });
  expect(added).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('warning: five: it pipes into a shell') as string,
  });
  const source = await write('claude_desktop_config.json', { six: { command: 'sudo', args: ['y'] } });
  const imported = await inHere(['import', source, '--config', file], { env });
  expect(imported).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(
      /what they start on this machine:\n {2}six: sudo y\n {4}warning: sudo runs it/,
    ) as string,
  });
});
