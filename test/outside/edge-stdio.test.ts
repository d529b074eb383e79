/** `omnibus stdio` answers read messages, ends with its client, and its servers end with it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeConfig } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { fixturePath, omnibusProgram } from '../support/processes.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});
const call = JSON.stringify({
  jsonrpc: '2.0',
  id: 'call',
  method: 'tools/call',
  params: { name: 'slow', _meta: { progressToken: 1 } },
});

let upstream: Upstream;
let gateway: GatewayHere;
let config: string;

beforeAll(async () => {
  upstream = await Upstream.start({
    tools: [tool('slow'), tool('quick')],
    onCall: (each: Call) => (each.name === 'slow' ? undefined : each.answer(text('answered'))),
  });
  gateway = await startGatewayHere('embedded', { mcpServers: { up: { url: upstream.url } } });
  config = await writeConfig({
    prefix: 'never',
    timeouts: { drain: '2s' },
    mcpServers: {
      up: { url: upstream.url },
      child: { command: process.execPath, args: [fixturePath('stdio-server')] },
    },
  });
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

describe.each(['--config', '--connect'] as const)('a client of omnibus stdio %s', (mode) => {
  const start = (): ChildProcess =>
    spawn(process.execPath, [omnibusProgram, 'stdio', mode, mode === '--config' ? config : gateway.url], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  const ended = async (omnibus: ChildProcess): Promise<void> => {
    if (omnibus.exitCode === null && omnibus.signalCode === null) await once(omnibus, 'exit');
  };
  /** Sends messages until a tool call is open. */
  const working = async (omnibus: ChildProcess): Promise<Call> => {
    const lines = createInterface({ input: omnibus.stdout as NodeJS.ReadableStream });
    const arrived = upstream.calls.values.length + 1;
    omnibus.stdin?.write(`${initialize}\n`);
    await once(lines, 'line');
    omnibus.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n${call}\n`);
    return (await upstream.calls.until(arrived)).at(-1) as Call;
  };

  it('that closes stdin at once ends the process', async () => {
    const omnibus = start();
    omnibus.stdin?.end();
    await ended(omnibus);
    expect(omnibus.signalCode).toBe(null);
  });

  it('that closes stdin during the start ends the process', async () => {
    const omnibus = start();
    omnibus.stdin?.write(`${initialize}\n`, () => omnibus.stdin?.end());
    await ended(omnibus);
  });

  it('that stops reading, although it goes on writing, ends the process and its children with the next progress', async () => {
    const omnibus = start();
    omnibus.on('error', () => undefined);
    omnibus.stdin?.on('error', () => undefined);
    const slow = await working(omnibus);
    const children = mode === '--config' ? childrenOf(omnibus.pid as number) : [];
    expect(children.length > 0).toBe(mode === '--config');
    omnibus.stdout?.destroy();
    const exit = ended(omnibus);
    const progressing = setInterval(() => slow.progress(1), 20);
    await exit;
    clearInterval(progressing);
    await expect.poll(() => children.filter(isAlive)).toEqual([]);
  });

  it('that is a pipe gets the answer to everything it wrote before its end, and the process ends with 0', async () => {
    const omnibus = start();
    const lines: string[] = [];
    createInterface({ input: omnibus.stdout as NodeJS.ReadableStream }).on('line', (line) => lines.push(line));
    const later = (id: string, method: string, params: object): string =>
      JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    omnibus.stdin?.end(
      `${[initialize, initialized, later('list', 'tools/list', {}), later('quick', 'tools/call', { name: 'quick', arguments: {} })].join('\n')}\n`,
    );
    await Promise.all([once(omnibus, 'close'), ended(omnibus)]);
    const answers = lines.map((line) => JSON.parse(line) as { id?: string; result?: { tools?: { name: string }[] } });
    expect(new Set(answers.flatMap(({ id, result }) => (result === undefined ? [] : [id])))).toEqual(
      new Set(['init', 'list', 'quick']),
    );
    expect(answers.find(({ id }) => id === 'list')?.result?.tools?.map(({ name }) => name)).toContain('quick');
    expect(omnibus.exitCode).toBe(0);
  });

  it('that closes stdin during a call gets its answer, and the process ends', async () => {
    const omnibus = start();
    const slow = await working(omnibus);
    const written: string[] = [];
    omnibus.stdout?.on('data', (chunk: Buffer) => written.push(chunk.toString()));
    omnibus.stdin?.end(() => slow.answer(text('late')));
    await Promise.all([once(omnibus, 'close'), ended(omnibus)]);
    expect([written.join('').includes('late'), omnibus.exitCode]).toEqual([true, 0]);
  });
});

it('a client of omnibus stdio that closes stdin during a call that is not answered in `timeouts.drain` ends the process', async () => {
  const omnibus = spawn(process.execPath, [omnibusProgram, 'stdio', '--config', config], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const calls = upstream.calls.values.length + 1;
  const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
  omnibus.stdin.end(`${initialize}\n${initialized}\n${call}\n`);
  await Promise.all([upstream.calls.until(calls), once(omnibus, 'exit')]);
  expect(omnibus.exitCode).toBe(0);
});

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter((each) => each !== '')
    .map(Number);
}

/** A process that has ended, but was not collected by its parent, does not count as alive. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toMatch(/^(ENOENT|ESRCH)$/);
    return false;
  }
}
