import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sandboxed, type Sandbox } from './sandbox.ts';

/** Namespaces may be forbidden, as in most containers; then the error message is tested instead. */
const isPossible =
  spawnSync('bwrap', ['--unshare-all', '--unshare-user', '--ro-bind', '/', '/', '--proc', '/proc', 'true']).status ===
  0;
const path = process.env['PATH'] ?? '';
let folder: string;

/** A program that reports its surroundings, and its access to files and addresses. */
const script = `
const { readFileSync, writeFileSync, readdirSync } = require('node:fs');
const { connect } = require('node:net');
const [read, write, port] = JSON.parse(process.argv[1]);
const attempt = (work) => { try { work(); return true; } catch (error) { return error.code; } };
const tried = { read: read.map((file) => attempt(() => readFileSync(file))), write: write.map((file) => attempt(() => writeFileSync(file, 'x'))) };
const about = { ...tried, home: process.env.HOME, cwd: process.cwd(), uid: process.getuid(), processes: readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).length, secret: process.env.SECRET };
const socket = connect(port, '127.0.0.1');
socket.on('connect', () => { console.log(JSON.stringify({ ...about, network: true })); process.exit(); });
socket.on('error', () => console.log(JSON.stringify({ ...about, network: false })));
`;

interface Found {
  readonly read: readonly unknown[];
  readonly write: readonly unknown[];
  readonly home: string;
  readonly cwd: string;
  readonly uid: number;
  readonly processes: number;
  readonly network: boolean;
  readonly secret?: string;
}

async function look(
  sandbox: Partial<Sandbox>,
  read: readonly string[],
  write: readonly string[],
  port: number,
): Promise<Found> {
  const { command, args } = sandboxed(
    { command: process.execPath, args: ['-e', script, JSON.stringify([read, write, port])] },
    { network: false, read: [], write: [], home: undefined, cwd: undefined, ...sandbox },
    path,
    folder,
  );
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: path, SECRET: 'its own' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await once(child, 'close');
  return JSON.parse(said) as Found;
}

const listener = createServer();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-sandbox-'));
  for (const name of ['given', 'cwd', 'home', 'given/inner']) await mkdir(join(folder, name));
  for (const name of ['omnibus.yaml', 'given/file', 'cwd/file', 'given/inner/file'])
    await writeFile(join(folder, name), 'text');
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
});

afterAll(async () => {
  listener.close();
  await rm(folder, { recursive: true });
});

describe('a program in a sandbox', () => {
  it("reads its granted paths and the system's programs, writes its writable paths, and has no network, no other files and no other processes", async () => {
    const { port } = listener.address() as AddressInfo;
    const at = (...names: string[]): string[] => names.map((name) => join(folder, name));
    const [given, inner, home, cwd] = at('given', 'given/inner', 'home', 'cwd') as [string, string, string, string];
    if (!isPossible) {
      expect(() =>
        sandboxed(
          { command: 'node', args: [] },
          { network: false, read: [], write: [], home: undefined, cwd: undefined },
          '',
          folder,
        ),
      ).toThrow('bubblewrap');
      return;
    }
    const alone = await look(
      {},
      ['/usr/bin/env', '/etc/passwd', '/etc/shadow', ...at('omnibus.yaml', 'given/file', 'cwd/file')],
      ['/tmp/x', '/home/server/x', '/etc/x', '/usr/x', ...at('x')],
      port,
    );
    expect(alone).toEqual({
      read: [true, true, 'ENOENT', 'ENOENT', 'ENOENT', 'ENOENT'],
      write: [true, true, expect.any(String), 'EROFS', expect.any(String)],
      home: '/home/server',
      cwd: '/home/server',
      uid: 1000,
      processes: expect.any(Number),
      network: false,
      secret: 'its own',
    });
    expect(alone.write.slice(2)).not.toContain(true);
    expect(alone.processes).toBeLessThan(5);
    const given2 = await look(
      { network: true, read: [given], write: [inner], home, cwd },
      at('omnibus.yaml', 'given/file', 'cwd/file', 'given/inner/file'),
      [...at('given/x', 'given/inner/x', 'cwd/x'), '/home/server/kept'],
      port,
    );
    expect(given2).toMatchObject({
      read: ['ENOENT', true, true, true],
      write: ['EROFS', true, 'EROFS', true],
      home: '/home/server',
      cwd,
      network: true,
    });
    expect(await readFile(join(home, 'kept'), 'utf8')).toBe('x');
  });

  it.each([
    [
      'bubblewrap',
      { command: 'node', args: [] },
      {},
      '/nowhere',
      /its `sandbox` needs bubblewrap \(Linux;.*apt-get install bubblewrap/,
    ],
    [
      'the program',
      { command: 'no-such-program', args: [] },
      {},
      undefined,
      isPossible ? /no such program on the PATH/ : /bubblewrap/,
    ],
    [
      'a place',
      { command: process.execPath, args: [] },
      { write: ['/nowhere/at/all'] },
      undefined,
      isPossible ? /"\/nowhere\/at\/all" is not there, which its sandbox names under `write`/ : /bubblewrap/,
    ],
  ] as const)('is not started where %s is missing, and that is said', (_missing, launch, sandbox, other, expected) => {
    expect(() =>
      sandboxed(
        launch,
        { network: false, read: [], write: [], home: undefined, cwd: undefined, ...sandbox },
        other ?? path,
        folder,
      ),
    ).toThrow(expected);
  });
});
