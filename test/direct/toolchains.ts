/** Servers on the SDKs of other languages, made ready where their toolchain is; what is made is kept for the next run. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { root, startFixture, startProcess, type RunningProcess } from '../support/processes.ts';

export interface DirectServer {
  readonly name: string;
  /** Builds and installs what it needs; takes a minute the first time. */
  prepare?(): Promise<void>;
  /** Starts a program that prints `listening URL`. */
  start(): RunningProcess;
}

const sources = join(root, 'test/direct/servers');
/** Virtual environments and built programs. */
const work = join(root, 'test/direct/.work');

/** Runs a build step to its end. @throws {Error} with what it printed. */
function build(command: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}

function isThere(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

const python = join(work, 'python', 'bin', 'python');

async function preparePython(): Promise<void> {
  const marker = join(work, 'python', 'installed');
  if (await access(marker).then(() => true, () => false)) return;
  await mkdir(work, { recursive: true });
  build('python3', ['-m', 'venv', join(work, 'python')], root);
  build(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', join(sources, 'requirements.txt')], root);
  build('touch', [marker], root);
}

/** Every server this machine can run, each of both eras at one address. */
export function directServers(): readonly DirectServer[] {
  const servers: DirectServer[] = [
    { name: 'our fixture', start: () => startFixture('conformance-server') },
    { name: 'TypeScript SDK 2.4', start: () => startFixture('dual-era-sdk2') },
  ];
  if (isThere('python3', '-m', 'venv', '--help')) {
    servers.push(
      { name: 'Python SDK 2.3', prepare: preparePython, start: () => startProcess(python, [join(sources, 'python_sdk.py')]) },
      { name: 'FastMCP 4.1', prepare: preparePython, start: () => startProcess(python, [join(sources, 'fastmcp_server.py')]) },
    );
  }
  return servers;
}

/** Resolves with the address of a started server when something listens there. */
export async function listening(server: RunningProcess): Promise<string> {
  const [, url] = (await server.line(/^listening (\S+)$/)) as unknown as [string, string];
  const { hostname, port } = new URL(url);
  for (;;) {
    const socket = connect(Number(port), hostname);
    const isOpen = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'error').then(() => false)]).catch(() => false);
    socket.destroy();
    if (isOpen) return url;
    if (server.child.exitCode !== null) throw new Error(`the server ended: ${server.output()}`);
  }
}
