/** Servers with the tools that the official suites call, each on the SDK of another language, in both eras where the SDK supports them. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePorts } from '@omnibus/bus/testing';
import { vi } from 'vitest';
import type { GatewayUnderTest } from '../support/gateway.ts';
import { root, startFixture, startProcess, type RunningProcess } from '../support/processes.ts';
import { goServers, pythonSdks, rustPrograms, type Making } from './toolchains.ts';

export interface ConformanceServer {
  readonly name: string;
  readonly needs?: readonly Making[];
  /** @param port a free one, for programs that cannot report which port they have taken. */
  start(port: number): RunningProcess;
  /** The path of its address, when the program does not print `listening URL`. */
  readonly path?: string;
}

const sources = join(root, 'test/direct/python');

export const conformanceServers: readonly ConformanceServer[] = [
  { name: 'our fixture', start: () => startFixture('conformance-server') },
  { name: 'TypeScript SDK 2.4', start: () => startFixture('dual-era-sdk2') },
  {
    name: 'Python SDK 2.3',
    needs: [pythonSdks],
    start: () => startProcess(pythonSdks.python, [join(sources, 'python_sdk.py')]),
  },
  {
    name: 'FastMCP 4.1',
    needs: [pythonSdks],
    start: () => startProcess(pythonSdks.python, [join(sources, 'fastmcp_server.py')]),
  },
  // It has sessions, so that it asks its client by requests, or it speaks both eras.
  {
    name: 'Go SDK 1.8',
    needs: [goServers],
    path: '/',
    start: (port) => startProcess(goServers.program('everything-server'), [`-http=127.0.0.1:${port}`]),
  },
  {
    name: 'Go SDK 1.8 with sessions',
    needs: [goServers],
    path: '/',
    start: (port) =>
      startProcess(goServers.program('everything-server'), [`-http=127.0.0.1:${port}`, '-stateless=false']),
  },
  {
    name: 'Rust SDK 3.9',
    needs: [rustPrograms],
    path: '/mcp',
    start: (port) => startProcess(rustPrograms.program('server'), [String(port)]),
  },
];

export interface StartedServer {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a built server, and waits until it listens. */
export async function startServer(asked: ConformanceServer): Promise<StartedServer> {
  const [port] = (await freePorts(1)) as [number];
  const server = asked.start(port);
  const url =
    asked.path === undefined
      ? ((await server.line(/^listening (\S+)$/))[1] as string)
      : `http://127.0.0.1:${port}${asked.path}`;
  await listening(server, url);
  return { url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Resolves when each server of a gateway of one process can be used. @throws {Error} with the problems of servers that cannot. */
export async function untilAllAreUp(gateway: GatewayUnderTest): Promise<void> {
  const admin = await gateway.admin(gateway.backend);
  await vi.waitFor(
    async () => {
      const { servers } = (await (await fetch(`http://${admin}/status`)).json()) as {
        servers: { server: string; status: string; problem?: string }[];
      };
      const missing = servers
        .filter(({ status }) => status !== 'up')
        .map(({ server, status, problem = '' }) => `${server} is ${status}: ${problem}`);
      if (missing.length > 0) throw new Error(missing.join('\n'));
    },
    { timeout: 60_000, interval: 100 },
  );
}

/** Resolves when a server accepts connections at the address. */
async function listening(server: RunningProcess, url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  for (;;) {
    const socket = connect(Number(port), hostname);
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    if (server.child.exitCode !== null) throw new Error(`the server ended: ${server.output()}`);
  }
}
