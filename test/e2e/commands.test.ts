/** The common commands, on a terminal and in a pipe, with one gateway. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { inHere } from '../support/command-here.ts';
import { repeatedly } from '../support/paced.ts';
import { fixturePath, omnibusProgram, root } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { inPipe, onTerminal } from '../support/terminal.ts';

let gateway: GatewayHere;
const server = { command: 'node', args: [fixturePath('using-server')] };
let [admin, folder] = ['', ''];
let env: Record<string, string>;
beforeAll(async () => {
  gateway = await startGatewayHere('embedded', { mcpServers: { use: server } });
  admin = await gateway.admin(gateway.edge);
  folder = await mkdtemp(join(tmpdir(), 'omnibus-commands-'));
  env = { OMNIBUS_URL: gateway.url, HOME: join(folder, 'home') };
  await mkdir(join(folder, 'home'));
  process.chdir(folder);
});
afterAll(async () => {
  process.chdir(root);
  await gateway[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const pipe = (...args: readonly string[]) => inHere(args, { env });
const terminal = (args: readonly string[], ...typed: readonly (readonly [RegExp, string])[]) =>
  onTerminal(args, typed, { env, cwd: folder });

describe('what a gateway offers', () => {
  it('is listed one entry on each line: whole with tabs in a pipe, without control characters, or as the JSON that was received', async () => {
    const [tools, json, prompts, resources, none] = await Promise.all([
      pipe('tools'),
      pipe('tools', 'a*', '--json'),
      pipe('prompts'),
      pipe('resources'),
      pipe('tools', 'nothing*'),
    ]);
    expect(tools).toMatchObject({ status: 0, stderr: '' });
    expect(tools.stdout.split('\n').slice(0, 2)).toEqual([
      'add\t(a, b, [note])\tAdds two numbers.',
      'destroy\t()\tDestroys [31m something.',
    ]);
    expect(
      (JSON.parse(json.stdout) as { name: string; inputSchema: object }[]).map(({ name, inputSchema }) => [
        name,
        Object.keys(inputSchema),
      ]),
    ).toEqual([['add', ['type', 'properties', 'required']]]);
    expect(prompts.stdout).toBe('greet\t(who)\tGreets somebody.\n');
    expect(resources.stdout).toBe('note://a\ttext/plain\ta\nnote://bytes\t\tbytes\nnote://{id}\t\tnotes\n');
    expect(none).toMatchObject({ status: 5, stdout: '', stderr: 'omnibus: no tools match "nothing*"\n' });
  });

  it('is told from what is no gateway, no name and no command, in one JSON document', async () => {
    const [path, port, none, tool, command, below, usage, header, number, unwritten] = await Promise.all([
      pipe('tools', '--url', gateway.url.replace(/mcp$/, '')),
      pipe('tools', '--url', `http://${admin}/`, '--json'),
      pipe('tools', 'nothing*', '--json'),
      pipe('call', 'ad_d'),
      pipe('pase', 'use'),
      pipe('calls', 'shwo', 'x'),
      pipe('tols', '--json'),
      pipe('tools', '-H', 'a: b\nc'),
      pipe('calls', '--min-ms', 'long', '--admin', admin),
      pipe('status', '--admin', '127.0.0.1:99999'),
    ]);
    expect(path).toMatchObject({
      status: 3,
      stdout: '',
      stderr: expect.stringContaining('That of a gateway ends in /mcp.') as string,
    });
    expect(port.status).toBe(3);
    expect(JSON.parse(port.stdout)).toMatchObject({ reason: 'unreachable' });
    expect(none.status).toBe(5);
    expect(JSON.parse(none.stdout)).toEqual({ reason: 'unknown', problem: 'no tools match "nothing*"' });
    expect(tool.stderr).toContain('Did you mean add?');
    expect(command).toMatchObject({
      status: 64,
      stderr: expect.stringContaining("unknown command 'pase'\n(Did you mean pause?)") as string,
    });
    expect(below.stderr).toContain('Did you mean show?');
    expect(JSON.parse(usage.stdout)).toMatchObject({
      reason: 'usage',
      problem: expect.stringContaining('tols') as string,
    });
    expect(header).toMatchObject({ status: 64, stderr: expect.stringContaining('expected "Name: value"') as string });
    expect(number).toMatchObject({
      status: 64,
      stderr: 'omnibus: --min-ms: expected a number of milliseconds, not "long"\n',
    });
    expect(unwritten.stderr).toContain('expected HOST:PORT');
  });

  it('is no success when the answer cannot be written', () => {
    const { status, stderr } = spawnSync('sh', ['-c', 'exec node "$0" clients > /dev/full', omnibusProgram], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining('the answer could not be written: ENOSPC') as string,
    });
  });

  it('is called with arguments as text, numbers by the schema, JSON, or from stdin', async () => {
    const [typed, whole, stdin, missing, wrong, unknown] = await Promise.all([
      pipe('call', 'add', 'a=1', 'b:=2'),
      pipe('call', 'add', '{"a": 1, "b": 5}', '--json'),
      inHere(['call', 'add', '--args', '-'], { env, stdin: '{"a": 2, "b": 2}' }),
      pipe('call', 'add', 'a=1'),
      pipe('call', 'add', 'a=x', 'b=1'),
      pipe('call', 'ad'),
    ]);
    expect(typed).toEqual({ status: 0, stdout: '3\n', stderr: '' });
    expect(JSON.parse(whole.stdout)).toEqual({ content: [{ type: 'text', text: '6' }] });
    expect(stdin.stdout).toBe('4\n');
    expect(missing).toMatchObject({
      status: 64,
      stdout: '',
      stderr: 'omnibus: required arguments are missing: b\n    Write b=….\n',
    });
    expect(wrong).toMatchObject({ status: 64, stderr: 'omnibus: a: expected a number, got "x"\n' });
    expect(unknown).toMatchObject({ status: 5, stderr: 'omnibus: there is no tool "ad"\n    Did you mean add?\n' });
  });

  it('is printed for people: failures, progress on stderr, bytes into a file, prompts and resources', async () => {
    const file = join(folder, 'picture.png');
    const [failed, steps, saved, prompt, text, bytes, completed] = await Promise.all([
      pipe('call', 'fail'),
      pipe('call', 'steps'),
      pipe('call', 'picture', '--save', file),
      pipe('get', 'greet', 'who=Ada'),
      pipe('read', 'note://a'),
      pipe('read', 'note://bytes'),
      pipe('complete', 'greet', 'who=A'),
    ]);
    expect(failed).toEqual({ status: 2, stdout: 'it failed\n', stderr: 'the tool failed:\n' });
    expect(steps).toEqual({ status: 0, stdout: 'stepped\n', stderr: '1 of 2  step 1\n2 of 2  step 2\n' });
    expect(saved.stderr).toBe(`image/png, 6 bytes, is in ${file}\n`);
    expect(await readFile(file, 'utf8')).toBe('pixels');
    expect(prompt.stdout).toBe('user:\nHello Ada!\n');
    expect(text).toEqual({ status: 0, stdout: 'noted\n', stderr: '' });
    expect(Buffer.from(bytes.stdout)).toContain(0);
    expect(completed.stdout).toBe('Ada\nAlan\n');
  });

  it('asks on a terminal for missing arguments, for answers to servers, and before a destructive tool is called; elsewhere it declines', async () => {
    const [declined, answered, asked, missing, destroyed, kept] = await Promise.all([
      pipe('call', 'elicit'),
      pipe('call', 'elicit', '--answer', 'name=Ada', '--answer', 'size=3'),
      terminal(
        ['call', 'elicit'],
        [/name:/, 'Ada\r'],
        [/size:/, 'big\r'],
        [/whole number[\s\S]*size:/, '3\r'],
        [/Send this\?/, 'y\r'],
      ),
      terminal(['call', 'add', 'a=1'], [/b \[1\]|b: \[1\]/, '2\r']),
      terminal(['call', 'destroy'], [/Call it\?/, 'y\r']),
      terminal(['call', 'destroy'], [/Call it\?/, 'n\r']),
    ]);
    expect(declined).toMatchObject({ status: 77, stdout: '{"action":"decline"}\n' });
    expect(declined.stderr).toContain('--answer name=… --answer size=…');
    expect(answered).toMatchObject({ status: 0, stdout: '{"action":"accept","content":{"name":"Ada","size":3}}\n' });
    expect(asked.status).toBe(0);
    expect(asked.shown).toContain('{"action":"accept","content":{"name":"Ada","size":3}}');
    expect(missing.shown).toMatch(/\r\n3\r\n$/);
    expect(destroyed).toMatchObject({ status: 0, shown: expect.stringContaining('destroyed') as string });
    expect(kept.status).toBe(130);
  });

  it('is cut to a terminal and coloured there, unless NO_COLOR is set; a command that takes too long ends, with its error as JSON', async () => {
    const [coloured, plain, slow, nobody] = await Promise.all([
      terminal(['tools']),
      onTerminal(['tools'], [], { env: { ...env, NO_COLOR: '1' }, cwd: folder }),
      pipe('call', 'hang', '--timeout', '5', '--json'),
      pipe('tools', '--url', 'http://127.0.0.1:1/mcp', '--json'),
    ]);
    expect(coloured.shown).toContain('\u001B[1madd\u001B[22m(a, b, [note])  Adds two numbers.');
    expect(plain.shown).toContain('add(a, b, [note])  Adds two numbers.');
    expect(plain.shown).not.toContain('\u001B');
    expect(slow).toMatchObject({ status: 6, stderr: '' });
    expect(JSON.parse(slow.stdout)).toMatchObject({ reason: 'timeout', advice: 'Give it longer: --timeout 30m.' });
    expect(nobody.status).toBe(3);
    expect(JSON.parse(nobody.stdout)).toMatchObject({
      reason: 'gateway.unavailable',
      problem: expect.stringContaining('ECONNREFUSED') as string,
    });
  });

  it('is used without a running gateway, from a configuration', async () => {
    expect(await pipe('call', 'add', 'a=1', 'b=2', '--config', gateway.configFile)).toEqual({
      status: 0,
      stdout: '3\n',
      stderr: '',
    });
  });
});

it('the environment names the gateway for commands that administer it or write its address', async () => {
  const named = { env: { ...env, OMNIBUS_ADMIN: admin.replace('127.0.0.1', '0.0.0.0') }, cwd: folder };
  const [status, reloaded, connected] = await Promise.all([
    inPipe(['status', '--json'], named),
    inPipe(['reload'], named),
    inPipe(['connect', 'cursor', '--print'], named),
  ]);
  expect(JSON.parse(status.stdout)).toMatchObject({ servers: [{ name: 'use' }] });
  expect(reloaded.status).toBe(0);
  expect(JSON.parse(connected.stdout)).toMatchObject({ mcpServers: { omnibus: { url: gateway.url } } });
});

it('sessions are listed, a server is reconnected, and the configuration is read again', async () => {
  using client = await RawClient.open(gateway.url);
  await client.callTool('add', { a: 1, b: 1 });
  const [sessions, restarted, nothing, reloaded] = await Promise.all([
    pipe('sessions', '-a', admin, '--json'),
    pipe('restart', 'use', '-a', admin),
    pipe('restart', 'nothing', '-a', admin),
    pipe('reload', '-a', admin),
  ]);
  expect(JSON.parse(sessions.stdout)).toMatchObject({
    total: expect.any(Number) as number,
    sessions: expect.arrayContaining([
      expect.objectContaining({ state: 'ready', endpoint: '', principal: 'anonymous', revision: '2025-11-25' }),
    ]) as object[],
  });
  expect(restarted).toMatchObject({ status: 0, stdout: 'use is connected to anew\n' });
  expect(nothing).toMatchObject({ status: 5, stdout: '' });
  expect(reloaded.status).toBe(0);
  expect((await terminal(['sessions', '-a', admin])).shown).toContain('SESSION');
});

describe('files', () => {
  it('servers are added after connecting to them, and removed, with everything else unchanged', async () => {
    const file = join(folder, 'omnibus.yaml');
    const before = '# mine\nmcpServers: # all\n  old: { url: "http://127.0.0.1:1/mcp" } # this\nlisten: 127.0.0.1:0\n';
    await writeFile(file, before);
    expect(await pipe('add', 'use', '--', 'node', fixturePath('using-server'))).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('use is up: 7 tools, 1 prompt, 2 resources') as string,
    });
    const [down, twice, bad] = [
      await pipe('add', 'down', 'http://127.0.0.1:1/mcp'),
      await pipe('add', 'use', 'http://127.0.0.1:1/mcp', '--no-try'),
      await pipe('add', 'no name', 'x'),
    ];
    const broken = await pipe('add', 'broken', '--', 'node', '-e', 'throw new Error("no key is set")');
    expect(broken.stderr).toContain('the program ended with exit code 1: Error: no key is set');
    expect(down).toMatchObject({ status: 3, stderr: expect.stringContaining('down does not work') as string });
    expect(twice).toMatchObject({ status: 64, stderr: expect.stringContaining('has a server use already') as string });
    expect(bad.status).toBe(64);
    expect(await readFile(file, 'utf8')).toBe(
      before.replace(
        '# this\n',
        `# this\n  use:\n    command: node\n    args:\n      - ${fixturePath('using-server')}\n`,
      ),
    );
    expect((await terminal(['remove', 'use'], [/Write this\? \[Y\/n\]/, 'n\r'])).status).toBe(130);
    expect((await terminal(['remove', 'use'], [/Write this\? \[Y\/n\]/, '\r'])).status).toBe(0);
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await pipe('remove', 'use')).toMatchObject({
      status: 5,
      stderr: expect.stringContaining('It has old.') as string,
    });
    await rm(file);
  });

  it('servers of clients are imported without secrets in plain text, each only once, and everything that is not imported is reported', async () => {
    await mkdir(join(folder, '.vscode'));
    await writeFile(
      join(folder, '.vscode/mcp.json'),
      `{
  // of the project
  "servers": { "fs": { "type": "stdio", "command": "npx", "args": ["\${workspaceFolder}"], "env": { "API_KEY": "hunter2" }, "timeout": 60, "headersHelper": "/x" } },
}`,
    );
    await mkdir(join(folder, 'home/.codeium/windsurf'), { recursive: true });
    await writeFile(
      join(folder, 'home/.codeium/windsurf/mcp_config.json'),
      JSON.stringify({
        mcpServers: {
          ws: { serverUrl: 'https://w.example/mcp', disabledTools: ['x'] },
          bridge: { command: 'npx', args: ['-y', 'mcp-remote', 'https://r.example/mcp'] },
        },
      }),
    );
    const imported = await pipe('import');
    expect(imported.status).toBe(0);
    expect(imported.stderr).toMatch(/fs\.timeout: a bare number is milliseconds.*left out/);
    expect(imported.stderr).toContain('fs.headersHelper: a program that makes headers is not supported here');
    expect(imported.stderr + imported.stdout).not.toContain('hunter2');
    expect(await readFile(join(folder, 'omnibus.yaml'), 'utf8')).toBe(`mcpServers:
  fs:
    type: stdio
    command: npx
    args:
      - ${folder}
    env:
      API_KEY: \${file:omnibus.secrets/fs-API_KEY}
  ws:
    url: https://w.example/mcp
    excludeTools:
      - x
  bridge:
    url: https://r.example/mcp
`);
    const secret = join(folder, 'omnibus.secrets/fs-API_KEY');
    expect([await readFile(secret, 'utf8'), (await stat(secret)).mode & 0o777]).toEqual(['hunter2\n', 0o600]);
    const again = await pipe('import', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({
      taken: [],
      same: [{ server: 'fs' }, { server: 'ws' }, { server: 'bridge' }],
      isChanged: false,
    });
    expect((await pipe('check')).status).toBe(0);
    expect((await pipe('import', 'nobody')).status).toBe(5);
    await rm(join(folder, 'omnibus.yaml'));
    await rm(join(folder, '.vscode'), { recursive: true });
    await rm(join(folder, 'home/.codeium'), { recursive: true });
  });

  it('servers that differ in headers or environment alone are all imported, and one that is left out is named with its twin', async () => {
    const url = 'https://tickets.example/mcp';
    await writeFile(
      join(folder, 'one.json'),
      JSON.stringify({
        mcpServers: {
          work: { url, headers: { Authorization: 'Bearer work' } },
          private: { url, headers: { Authorization: 'Bearer private' } },
          'db-a': { command: 'db', env: { DB_NAME: 'a' } },
          'db-b': { command: 'db', env: { DB_NAME: 'b' } },
          again: { command: 'db', env: { DB_NAME: 'b' } },
        },
      }),
    );
    await mkdir(join(folder, '.cursor'));
    await writeFile(
      join(folder, '.cursor/mcp.json'),
      JSON.stringify({ mcpServers: { work: { url, headers: { Authorization: 'Bearer third' } } } }),
    );
    const imported = await pipe('import', 'one.json', '.cursor/mcp.json', '--json');
    expect(JSON.parse(imported.stdout)).toMatchObject({
      taken: [
        { server: 'work' },
        { server: 'private' },
        { server: 'db-a' },
        { server: 'db-b' },
        { server: 'work-cursor', given: 'work', differences: ['headers'] },
      ],
      same: [{ server: 'db-b', given: 'again', from: 'one.json' }],
    });
    const again = await pipe('import', 'one.json');
    expect(again.stderr).toContain('again of one.json  is in the configuration already as db-b');
    expect(again.stdout).toContain('was not changed');
    const secrets = await readdir(join(folder, 'omnibus.secrets'));
    expect(secrets.filter((name) => name.includes('Authorization'))).toHaveLength(3);
    await rm(join(folder, 'omnibus.yaml'));
    await rm(join(folder, '.cursor'), { recursive: true });
  });

  it('a file that cannot be imported does not prevent the import of others', async () => {
    await mkdir(join(folder, '.gemini'));
    await writeFile(join(folder, '.gemini/settings.json'), '{ "mcpServers": {');
    await writeFile(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: { a: { command: 'a' } } }));
    const all = await pipe('import');
    expect(all).toMatchObject({ status: 0, stderr: expect.stringContaining('settings.json:1: left out: ') as string });
    expect(await readFile(join(folder, 'omnibus.yaml'), 'utf8')).toBe('mcpServers:\n  a:\n    command: a\n');
    expect((await pipe('import', '.gemini/settings.json')).status).toBe(78);
    await rm(join(folder, 'omnibus.yaml'));
    await rm(join(folder, '.mcp.json'));
    await rm(join(folder, '.gemini'), { recursive: true });
  });

  it('a client that is connected has the imported servers once: they are removed from its file if that is wanted', async () => {
    const file = join(folder, 'home/.cursor/mcp.json');
    await mkdir(join(folder, 'home/.cursor'));
    const own = { command: 'own', env: { TOKEN: 'x' } };
    await writeFile(file, JSON.stringify({ mcpServers: { a: { command: 'a' }, own } }, null, 2));
    const imported = await pipe('import', 'cursor');
    expect(imported.stderr).toContain(
      'next: "omnibus connect cursor --replace" puts the gateway into the file of Cursor',
    );
    await writeFile(
      file,
      JSON.stringify({ mcpServers: { a: { command: 'a' }, own, later: { command: 'l' } } }, null, 2),
    );
    const kept = await pipe('connect', 'cursor', '--print');
    expect(kept.stderr).toContain('a, own of');
    expect(Object.keys((JSON.parse(kept.stdout) as { mcpServers: object }).mcpServers)).toEqual([
      'a',
      'own',
      'later',
      'omnibus',
    ]);
    expect((await terminal(['connect', 'cursor'], [/Remove them there\?/, 'y\r'], [/Change it\?/, 'y\r'])).status).toBe(
      0,
    );
    const servers = (JSON.parse(await readFile(file, 'utf8')) as { mcpServers: object }).mcpServers;
    expect(Object.keys(servers)).toEqual(['later', 'omnibus']);
    await writeFile(file, JSON.stringify({ mcpServers: { a: { command: 'a' } } }));
    expect((await pipe('connect', 'cursor', '--replace', '--yes')).status).toBe(0);
    const gone = await pipe('disconnect', 'cursor', '--yes');
    expect(gone.stderr).toContain('Cursor has no server in');
    expect(await readFile(file, 'utf8')).not.toContain('omnibus');
    await rm(join(folder, 'omnibus.yaml'));
    await rm(join(folder, 'home/.cursor'), { recursive: true });
  });

  it('a second server that changes the names of the first is added with that warning', async () => {
    expect((await pipe('add', 'one', '--no-try', '--', 'one')).stderr).not.toContain('names change');
    expect((await pipe('add', 'two', '--no-try', '--', 'two')).stderr).toContain(
      'names change at /mcp: a tool "x" of one is "one__x" now',
    );
    expect((await pipe('remove', 'two')).stderr).toContain('a tool "one__x" is "x" now');
    await rm(join(folder, 'omnibus.yaml'));
  });

  it("the gateway is written into a client's file after asking, with a backup, and removed again", async () => {
    const file = join(folder, 'home/.cursor/mcp.json');
    const before = '{\n\t// mine\n\t"mcpServers": {\n\t\t"a": { "command": "x" }\n\t}\n}\n';
    await mkdir(join(folder, 'home/.cursor'));
    await writeFile(file, before, { mode: 0o640 });
    const [unasked, shown] = await Promise.all([pipe('connect', 'cursor'), pipe('connect', 'cursor', '--print')]);
    expect(unasked).toMatchObject({ status: 77, stdout: '' });
    expect(await readFile(file, 'utf8')).toBe(before);
    expect((await terminal(['connect', 'cursor'], [/Change it\?/, 'n\r'])).status).toBe(130);
    expect((await terminal(['connect', 'cursor'], [/Change it\?/, 'y\r'])).status).toBe(0);
    expect(await readFile(file, 'utf8')).toBe(shown.stdout);
    expect(shown.stdout).toBe(
      before.replace(' }\n\t}', ` },\n\t\t"omnibus": {\n\t\t\t"url": "${gateway.url}"\n\t\t}\n\t}`),
    );
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    const copy = (await readdir(join(folder, 'home/.cursor'))).find((name) => name.includes('backup'));
    expect(await readFile(join(folder, 'home/.cursor', copy as string), 'utf8')).toBe(before);
    expect((await pipe('connect', 'cursor')).stdout).toContain('has that already');
    expect((await pipe('disconnect', 'cursor', '--yes', '--json')).status).toBe(0);
    expect(await readFile(file, 'utf8')).toBe(before);
    const short = await pipe('connect', 'claude-code', '--search', '--print', '--file', join(folder, 'claude.json'));
    expect(JSON.parse(short.stdout)).toEqual({
      mcpServers: {
        omnibus: { type: 'http', url: gateway.url, headers: { 'Omnibus-Listing': 'search' }, alwaysLoad: true },
      },
    });
    const listing = async (value: string): Promise<{ status: number | null; stdout: string; stderr: string }> =>
      pipe('connect', 'cursor', '--search', '-H', `omnibus-listing: ${value}`, '--print');
    expect((await listing('search')).stdout.match(/omnibus-listing/gi)).toHaveLength(1);
    const contradiction = await listing('full');
    expect([contradiction.status, contradiction.stderr]).toEqual([
      64,
      expect.stringContaining('--search contradicts the header "Omnibus-Listing: full"'),
    ]);
    expect((await pipe('connect', 'nobody', '--yes')).status).toBe(5);
    await writeFile(file, '{ "mcpServers": [');
    expect((await pipe('connect', 'cursor', '--yes')).status).toBe(78);
    expect(await readFile(file, 'utf8')).toBe('{ "mcpServers": [');
  });
});

it('completion scripts are valid, and know commands, options and clients', async () => {
  const [bash, zsh, fish, other] = await Promise.all([
    pipe('completion', 'bash'),
    pipe('completion', 'zsh'),
    pipe('completion', 'fish'),
    pipe('completion', 'tcsh'),
  ]);
  const complete = (...words: readonly string[]): string[] =>
    execFileSync(
      'bash',
      [
        '-c',
        `${bash.stdout}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _omnibus; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ],
      { encoding: 'utf8' },
    )
      .trim()
      .split('\n');
  expect(complete('omnibus', 'res')).toEqual(['resources', 'restart', 'resume']);
  expect(complete('omnibus', 'keys', '')).toEqual(expect.arrayContaining(['create', 'list', 'revoke']));
  expect(complete('omnibus', 'serve', '--role', 'e')).toEqual(['edge']);
  expect(complete('omnibus', 'connect', 'cu')).toEqual(['cursor']);
  expect(zsh.stdout).toContain('#compdef omnibus');
  expect(fish.stdout).toContain('complete -c omnibus -n __fish_use_subcommand -f -a tools');
  expect(other.status).toBe(64);
});

describe('calls and servers', () => {
  const asked = (...args: readonly string[]) => pipe(...args, '--admin', admin);

  it('are listed: failed calls with the reason, one call with its way, and JSON in which nothing is cut', async () => {
    const client = await RawClient.open(gateway.url);
    await client.request('tools/call', { name: 'fail', arguments: {} });
    const [failed, json, none, filtered] = await Promise.all([
      asked('calls'),
      asked('calls', '--json'),
      asked('calls', 'show', 'nothing'),
      asked('calls', '--server', 'nowhere'),
    ]);
    expect(failed).toMatchObject({ status: 0, stderr: '' });
    expect(failed.stdout).toMatch(/^\d{4}-\S+\t\w+\traw\tuse\/fail\ttoolError\t[\d.]+ ms\t\n$/m);
    const { calls } = JSON.parse(json.stdout) as { readonly calls: readonly { readonly tag: string }[] };
    const { tag } = calls[0] as { readonly tag: string };
    const [shown, terminalShown] = await Promise.all([
      asked('calls', 'show', tag.slice(0, 10)),
      terminal(['calls', '--admin', admin]),
    ]);
    expect(shown).toMatchObject({ status: 0, stderr: 'nobody watched this call: of its way nothing is known\n' });
    expect(terminalShown.shown).toContain('use/fail');
    expect(none).toMatchObject({ status: 5, stdout: '' });
    expect(filtered.stderr).toContain('no call has failed lately');
  });

  it('are followed as they happen, one line for each call, and a call that was followed shows its way', async () => {
    const client = await RawClient.open(gateway.url);
    const following = terminal(
      ['calls', '--follow', '--admin', admin],
      [/watching/, ''],
      [/(use\/add[^\n]*\n[^]*?){4}/, '\u0003'],
    );
    const calling = new AbortController();
    const again = repeatedly(calling.signal, () => client.callTool('add', { a: 1, b: 2 }));
    const { shown } = await following;
    calling.abort();
    await again;
    expect(shown).toContain('use/add');
    const { calls } = JSON.parse((await asked('calls', '--tool', 'add', '--json')).stdout) as {
      readonly calls: readonly { readonly tag: string }[];
    };
    // The watch may have begun in the middle of the oldest call, and ended in the middle of the newest; the second one is complete.
    const way = await asked('calls', 'show', (calls.at(-2) as { readonly tag: string }).tag);
    expect(way.stdout).toMatch(/edge +arrived[\s\S]*session +routed[\s\S]*backend +written[\s\S]*session +settled/);
  });

  it('are shown by numbers, once in a pipe and until the end on a terminal, and by what a server wrote', async () => {
    const [once, json, ended, logs, unknown, nobody] = await Promise.all([
      asked('top'),
      asked('top', '--json'),
      terminal(['top', '--admin', admin], [/RUN\/WAIT[\s\S]*q: end/, 's'], [/sorted by failed/, 'q']),
      asked('logs', 'use'),
      asked('logs', 'nowhere', '--json'),
      pipe('top', '--admin', '127.0.0.1:1', '--json'),
    ]);
    expect(once).toMatchObject({ status: 0, stderr: '' });
    expect(once.stdout).toMatch(/^SERVER +STATE +CALLS\/S[\s\S]*^use +up/m);
    expect(once.stdout).not.toContain('\u001B');
    expect(JSON.parse(json.stdout)).toMatchObject({ servers: [{ name: 'use', state: 'up' }], missing: [] });
    expect(ended.status).toBe(0);
    expect(ended.shown.endsWith('\u001B[?1049l')).toBe(true);
    expect(logs.stdout).toMatch(/^\S+Z\tall-\S+\tconnected$/m);
    expect(unknown.status).toBe(5);
    expect(JSON.parse(unknown.stdout)).toMatchObject({ reason: 'unknown' });
    expect(nobody.status).toBe(3);
  });

  it('are shown by new lines of a server as they come, until Ctrl-C', async () => {
    const following = terminal(
      ['logs', 'use', '--follow', '--admin', admin],
      [/connected[\s\S]*\n/, ''],
      [/connected[\s\S]*\n/, '\u0003'],
    );
    const restarting = new AbortController();
    const restart = ['restart', 'use', '--admin', admin];
    // A process for each, since the server could not connect between restarts that take no time.
    const again = (async () => {
      while (!restarting.signal.aborted) expect((await inPipe(restart, { env })).status).toBe(0);
    })();
    await following.finally(() => restarting.abort());
    await again;
    expect(await asked('logs', 'nowhere', '--follow')).toMatchObject({ status: 5 });
  });
});
