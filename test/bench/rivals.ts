/**
 * Gateways from npm that can carry the benchmark's traffic: Streamable HTTP clients in front of a stdio server. They are installed when the benchmark
 * first needs them, into a folder that git ignores. `mcp-hub` is not among them: it serves its clients over the HTTP+SSE transport of 2024-11-05 only.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '@omnibus/bus/testing';
import { root, startProcess } from '../support/processes.ts';
import { stdioUpstream, type Measured } from './subjects.ts';

const packages = { 'mcp-proxy': '6.7.19', supergateway: '4.0.0' };
const folder = join(root, 'test/bench/.work');
const bin = (name: string): string => join(folder, 'node_modules/.bin', name);

export async function startRivals(): Promise<Measured[]> {
  if (!Object.keys(packages).every((name) => existsSync(bin(name)))) {
    const specs = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
    const { status } = spawnSync(
      'npm',
      ['install', '--prefix', folder, '--no-audit', '--no-fund', '--silent', ...specs],
      { stdio: 'inherit' },
    );
    if (status !== 0) {
      console.error('the other gateways could not be installed; they are left out');
      return [];
    }
  }
  const { command, args } = stdioUpstream;
  return [
    await start('mcp-proxy', (port) => [
      '--host',
      '127.0.0.1',
      '--port',
      port,
      '--server',
      'stream',
      '--',
      command,
      ...args,
    ]),
    await start('supergateway', (port) => [
      '--stdio',
      [command, ...args].join(' '),
      '--outputTransport',
      'streamableHttp',
      '--stateful',
      '--logLevel',
      'none',
      '--port',
      port,
    ]),
  ];
}

async function start(name: keyof typeof packages, args: (port: string) => readonly string[]): Promise<Measured> {
  const port = String((await freePorts(1))[0]);
  const running = startProcess('node', [bin(name), ...args(port)]);
  await untilListening(Number(port));
  return {
    name: `${name} ${packages[name]}`,
    url: `http://127.0.0.1:${port}/mcp`,
    pids: [running.pid],
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** They have no common way to report that they listen, so the port is tried. */
async function untilListening(port: number): Promise<void> {
  for (;;) {
    try {
      await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'OPTIONS' });
      return;
    } catch {
      await new Promise(setImmediate);
    }
  }
}
