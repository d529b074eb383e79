/** Bundles of servers: their entries, their unpacking, and those that mean harm. */
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { Answers } from '../registry/answers.ts';
import { bundleEntry, type BundleEntry } from './bundle.ts';
import { zipOf, type ZipEntry } from './zip-under-test.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-bundles-'));
});
afterEach(() => rm(folder, { recursive: true }));

const index: ZipEntry = { name: 'server/index.js', text: 'the server' };
const nodeServer = {
  type: 'node',
  entry_point: 'server/index.js',
  mcp_config: { command: 'node', args: ['${__dirname}/server/index.js'] },
};
const manifestOf = (server: JsonObject, more: JsonObject = {}): ZipEntry => ({
  name: 'manifest.json',
  text: JSON.stringify({ manifest_version: '0.3', name: 'it', version: '1.0.0', server, ...more }),
});

async function made(
  entries: readonly ZipEntry[],
  { set = [], platform = 'linux' }: { readonly set?: readonly string[]; readonly platform?: string } = {},
): Promise<BundleEntry & { readonly place: string }> {
  const answers = new Answers(set, false);
  const found = await bundleEntry(zipOf(entries), { folder, name: 'mine', platform }, answers);
  answers.check();
  return { ...found, place: String(found.entry['cwd']) };
}

describe('a bundle', () => {
  it('is unpacked whole below the name of the server and its digest, and stays if it is there already', async () => {
    const tool = { name: 'bin/tool', text: 'x', mode: 0o100_755 };
    const { entry, prepare, place } = await made([manifestOf(nodeServer), { name: 'server/' }, index, tool]);
    expect(await readdir(folder)).toEqual([]);
    await prepare();
    await prepare();
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^mine-[0-9a-f]{16}$/)]);
    expect(entry).toEqual({ command: 'node', args: [join(place, 'server/index.js')], cwd: place });
    expect(await readFile(join(place, 'server/index.js'), 'utf8')).toBe('the server');
    const modes = await Promise.all(
      ['server/index.js', 'bin/tool'].map(async (path) => (await stat(join(place, path))).mode),
    );
    expect(modes.map((mode) => mode & 0o100)).toEqual([0, 0o100]);
  });

  it('gets values of its settings: several for one argument, secrets by name, and none of this machine', async () => {
    const server = {
      ...nodeServer,
      mcp_config: {
        command: 'node',
        args: [
          '${__dirname}/server/index.js',
          '--in=${HOME}',
          '${user_config.folders}',
          '${user_config.more}',
          '${HOME_SECRET}',
        ],
        env: { KEY: 'Bearer ${user_config.key}', LEVEL: '${user_config.level}', NONE: '${user_config.none}' },
      },
    };
    const user_config = {
      folders: { type: 'directory', multiple: true, required: true, default: ['${HOME}/a', '${HOME}/b'] },
      more: { type: 'string' },
      key: { type: 'string', sensitive: true, required: true },
      level: { type: 'number', min: 1, max: 5, default: 3 },
      none: { type: 'string' },
    };
    const entries = [manifestOf(server, { user_config }), index];
    const { entry, secrets, place } = await made(entries, { set: ['key=s3cret'] });
    expect(entry).toEqual({
      command: 'node',
      args: [
        join(place, 'server/index.js'),
        `--in=${homedir()}`,
        `${homedir()}/a`,
        `${homedir()}/b`,
        '$${HOME_SECRET}',
      ],
      env: { KEY: 'Bearer s3cret', LEVEL: '3' },
      cwd: place,
    });
    expect([...secrets]).toEqual(['KEY']);
    const other = await made(entries, { set: ['key=${MINE}', 'folders=/x', 'folders=/y', 'more=z', 'level=5'] });
    expect(other.entry).toMatchObject({ env: { KEY: 'Bearer ${MINE}', LEVEL: '5' } });
    expect((other.entry['args'] as string[]).slice(2)).toEqual(['/x', '/y', 'z', '$${HOME_SECRET}']);
    await expect(made(entries)).rejects.toThrow('the server needs key');
    await expect(made(entries, { set: ['key=${K}', 'level=9'] })).rejects.toThrow(
      'level: expected a number from 1 up to 5',
    );
  });

  it('needs the value of an option, since the option would take the next word for it', async () => {
    const args = [
      '--token',
      '${user_config.token}',
      '--root',
      '/x',
      '--',
      '${user_config.more}',
      '--in=${user_config.in}',
    ];
    const server = { ...nodeServer, mcp_config: { command: 'node', args } };
    const of = (token: JsonObject, set: readonly string[] = []) =>
      made([manifestOf(server, { user_config: { token, more: {}, in: {} } }), index], { set });
    for (const token of [{ type: 'string' }, { sensitive: true, default: 'x' }])
      await expect(of(token)).rejects.toThrow('the server needs token (the option --token takes it)');
    expect((await of({}, ['token=t'])).entry['args']).toEqual(['--token', 't', '--root', '/x', '--']);
    expect((await of({ default: 'd' })).entry['args']).toEqual(['--token', 'd', '--root', '/x', '--']);
  });

  it('needs a secret that is required, whatever its defaults are', async () => {
    const server = { ...nodeServer, mcp_config: { command: 'node', args: [], env: { KEYS: '${user_config.keys}' } } };
    const keys = { type: 'string', sensitive: true, required: true, multiple: true, default: ['a', 'b'] };
    const entries = [manifestOf(server, { user_config: { keys } }), index];
    await expect(made(entries)).rejects.toThrow('the server needs keys');
    expect((await made(entries, { set: ['keys=${A}', 'keys=${B}'] })).entry['env']).toEqual({ KEYS: '${A},${B}' });
  });

  it('starts node, python, uv or a file of its own, as its platform says', async () => {
    const of = async (server: JsonObject, files: readonly string[], platform = 'linux') => {
      const entries = [manifestOf(server), ...files.map((name) => ({ name }))];
      const { entry, place, prepare } = await made(entries, { platform });
      await prepare();
      return { ...entry, place };
    };
    const python = await of({ type: 'python', entry_point: 'main.py' }, ['main.py']);
    expect(python).toMatchObject({ command: 'python3', args: ['main.py'] });
    const uv = await of({ type: 'uv', entry_point: 'src/server.py' }, ['src/server.py', 'pyproject.toml']);
    expect(uv).toMatchObject({ command: 'uv', args: ['run', '--directory', uv.place, 'src/server.py'] });
    const config = {
      command: 'bin/it',
      platform_overrides: { win32: { command: '${__dirname}/bin/win', args: ['-w'] } },
    };
    const binary = { type: 'binary', entry_point: 'bin/it', mcp_config: config };
    const files = ['bin/it', 'bin/win.exe'];
    const own = await of(binary, files);
    expect(own).toMatchObject({ command: join(own.place, 'bin/it'), args: [] });
    expect((await stat(join(own.place, 'bin/it'))).mode & 0o100).toBe(0o100);
    const windows = await of(binary, files, 'win32');
    expect(windows).toMatchObject({ command: join(windows.place, 'bin', 'win.exe'), args: ['-w'] });
  });

  it.each<[string, readonly ZipEntry[], string]>([
    ['leaves the folder', [{ name: '../evil' }], 'invalid relative path'],
    ['leaves it in the middle', [{ name: 'a/../../evil' }], 'invalid relative path'],
    ['is absolute', [{ name: '/etc/evil' }], 'absolute path'],
    ['has a drive', [{ name: 'C:/evil' }], 'absolute path'],
    ['has backslashes', [{ name: 'a\\..\\evil' }], 'invalid characters'],
    ['is a stream of another file', [{ name: 'a.txt:evil' }], 'no name that every system can have'],
    ['is a device', [{ name: 'a/NUL.txt' }], 'no name that every system can have'],
    ['ends in a dot', [{ name: 'a./b' }], 'no name that every system can have'],
    ['has a control character', [{ name: 'a\u0000b' }], 'no name that every system can have'],
    ['is too deep', [{ name: `${'a/'.repeat(40)}b` }], 'no name that every system can have'],
    ['is a link', [{ name: 'a', text: '/etc/passwd', mode: 0o120_777 }], 'is a link or a device'],
    ['is a pipe', [{ name: 'a', mode: 0o010_644 }], 'is a link or a device'],
    ['comes twice', [{ name: 'a' }, { name: 'a' }], 'two entries have the name'],
    ['comes twice in other letters', [{ name: 'A/b' }, { name: 'a/B' }], 'two entries have the name'],
    ['lies in a file', [{ name: 'a' }, { name: 'a/b' }], 'lies in a file'],
    ['is a folder and a file', [{ name: 'a/b' }, { name: 'A' }], 'two entries have the name'],
    ['is encrypted', [{ name: 'a', flags: 0x801 }], 'is encrypted'],
    ['says that it is huge', [{ name: 'a', size: 2_000_000_000 }], 'MiB when unpacked'],
  ])('is refused if an entry %s, and nothing is written', async (_what, entries, problem) => {
    await expect(made([manifestOf(nodeServer), index, ...entries])).rejects.toThrow(problem);
    expect(await readdir(folder)).toEqual([]);
  });

  it('leaves nothing behind if a file has more bytes than its entry says', async () => {
    const bomb = { name: 'big', text: Buffer.alloc(5_000_000), size: 10 };
    const { prepare } = await made([manifestOf(nodeServer), index, bomb]);
    await expect(prepare()).rejects.toThrow('the bundle is refused');
    expect(await readdir(folder)).toEqual([]);
  });

  it.each<[string, readonly ZipEntry[], string]>([
    ['has no manifest', [index], 'no manifest.json'],
    ['has one that is no JSON', [{ name: 'manifest.json', text: '{' }, index], 'is no JSON'],
    ['has one of the future', [{ name: 'manifest.json', text: '{"manifest_version":"1.0"}' }], '0.1 to 0.4 are known'],
    ['starts a shell', [manifestOf({ ...nodeServer, mcp_config: { command: 'sh', args: [] } }), index], 'wants "sh"'],
    ['starts npx', [manifestOf({ ...nodeServer, mcp_config: { command: 'npx', args: ['x'] } }), index], 'wants "npx"'],
    [
      'starts a file beside it',
      [manifestOf({ ...nodeServer, mcp_config: { command: '${__dirname}/../../bin/sh' } }), index],
      'a file of its own',
    ],
    ['lacks its entry point', [manifestOf(nodeServer)], 'is not in it'],
    [
      'is for another system',
      [manifestOf(nodeServer, { compatibility: { platforms: ['darwin'] } }), index],
      'runs on darwin',
    ],
    [
      'uses uv without a project',
      [manifestOf({ type: 'uv', entry_point: 'server/index.js' }), index],
      'pyproject.toml',
    ],
    [
      'names facts about callers',
      [manifestOf({ ...nodeServer, mcp_config: { command: 'node', args: ['{principal.subject}'] } }), index],
      'would send facts about callers',
    ],
  ])('is refused if it %s', async (_what, entries, problem) => {
    await expect(made(entries)).rejects.toThrow(problem);
  });

  it('is refused if it is no archive', async () => {
    const answers = new Answers([], false);
    await expect(bundleEntry(Buffer.from('no zip'), { folder, name: 'mine' }, answers)).rejects.toThrow('refused');
  });
});
