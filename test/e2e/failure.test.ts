import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shapesOfLane, startGateway } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { untilTrue } from '../support/paced.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const textOf = (message: Message): string => (message.result?.['content'] as { text: string }[])[0]?.text ?? '';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Whether a process runs: not one that has ended, and that its parent has not yet asked about. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.startsWith('Z');
}

describe.each(shapesOfLane)('a server that fails, %s', (shape) => {
  it('killed by SIGKILL during a hundred calls: every call is answered, the tools leave the list and come back', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-journal-'));
    const journal = join(folder, 'calls');
    await using other = await Upstream.start();
    await using gateway = await startGateway(shape, {
      mcpServers: {
        // One session may use three quarters of them.
        fragile: {
          command: 'node',
          args: [fixturePath('stdio-server'), journal],
          concurrency: 256,
          restart: { minDelay: '200ms', maxDelay: '1s' },
        },
        steady: { url: other.url },
      },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('steady__echo') && names.includes('fragile__pid'));
    const heard = await client.standing();
    const changesBefore = heard.values.length;
    const pid = Number(textOf((await client.callTool('fragile__pid')).last));
    const calls = Array.from({ length: 100 }, (_, number) =>
      client.callTool('fragile__hang', { number }, undefined, number),
    );
    await untilLines(journal, 101);
    process.kill(pid, 'SIGKILL');
    for (const [number, { status, last }] of (await Promise.all(calls)).entries()) {
      expect(status).toBe(200);
      expect(last).toMatchObject({
        id: number,
        error: { code: -32_603, data: { reason: 'upstream.lost', retry: 'unknown-outcome', server: 'fragile' } },
      });
    }
    expect((await client.callTool('steady__echo')).last.result).toEqual(text('{}'));
    await heard.until(changesBefore + 1);
    await client.untilTools((names) => names.includes('fragile__echo'));
    expect((await client.callTool('fragile__echo', { back: true })).last.result).toEqual(text('{"back":true}'));
    expect(Number(textOf((await client.callTool('fragile__pid')).last))).not.toBe(pid);
    for (const running of gateway.processes) expect(running.child.exitCode).toBeNull();
    const metrics = await (await fetch(`http://${await gateway.admin(gateway.backend)}/metrics`)).text();
    expect(metrics).toContain('omnibus_upstream_restarts_total{server="fragile"} 1');
    await rm(folder, { recursive: true });
  });

  it('that is down is named in the answer to a call of its tools, and its return is announced', async () => {
    const upstream = await Upstream.start();
    await using steady = await Upstream.start();
    await using gateway = await startGatewayHere(shape, {
      mcpServers: {
        gone: { url: upstream.url, restart: { minDelay: '100ms', maxDelay: '200ms' } },
        steady: { url: steady.url },
      },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.length === 2);
    await upstream.stop();
    await client.untilTools((names) => names.length === 1);
    const { last } = await client.callTool('gone__echo');
    expect(last.error).toMatchObject({
      code: -32_603,
      data: { reason: 'upstream.unavailable', retry: 'same', server: 'gone' },
    });
    // Until the first attempt to connect again has failed, it says how the connection was lost.
    await expect
      .poll(async () => (await client.callTool('gone__echo')).last.error?.message)
      .toMatch(/server "gone" is not available: cannot connect/);
    await upstream.listen();
    await client.untilTools((names) => names.length === 2);
    expect((await client.callTool('gone__echo')).last.result).toEqual(text('{}'));
    await upstream.stop();
  });

  it('at the start affects no other server, and the reason is reported', async () => {
    await using steady = await Upstream.start();
    await using gateway = await startGatewayHere(shape, {
      mcpServers: {
        missing: { command: 'no-such-program' },
        broken: { command: 'node', args: ['-e', 'console.error("no licence"); process.exit(3)'] },
        steady: { url: steady.url },
      },
    });
    const client = new RawClient(gateway.url);
    const { instructions } = (await client.initialize('2025-06-18')).last.result as { instructions: string };
    expect(instructions).toMatch(/# missing\n\nThis server is not available now: cannot start "no-such-program"/);
    // Only the operator sees the program's stderr.
    expect(instructions).toMatch(/# broken\n\nThis server is not available now: the program ended with exit code 3/);
    expect(instructions).not.toContain('no licence');
    expect(gateway.backend.output()).toContain('no licence');
    using open = await RawClient.open(gateway.url);
    await open.untilTools((names) => names.includes('steady__echo'));
  });
});

it('a gateway that is stopped ends its programs, and gives them no secrets of its own', async () => {
  const gateway = await startGateway('embedded', {
    mcpServers: { child: { command: 'node', args: [fixturePath('stdio-server')], env: { GIVEN: '1' } } },
  });
  using client = await RawClient.open(gateway.url);
  const pid = Number(textOf((await client.callTool('pid')).last));
  const variables = textOf((await client.callTool('environment')).last).split(' ');
  expect(variables).toContain('GIVEN');
  expect(variables).toContain('PATH');
  expect(variables).not.toContain('VITEST');
  expect(isAlive(pid)).toBe(true);
  await gateway[Symbol.asyncDispose]();
  expect(isAlive(pid)).toBe(false);
  expect(gateway.edge.child.exitCode).toBe(0);
});

it('a gateway that is stopped, even while its programs start, ends only after them, and after what they have started', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-stopped-'));
  const journal = join(folder, 'pids');
  /** Writes down its number, and answers nothing. @param ends whether it ends with its input. */
  const program = (ends: boolean): string =>
    `require('node:fs').appendFileSync(${JSON.stringify(journal)}, process.pid + '\\n');${ends ? 'process.stdin.resume()' : 'setInterval(() => {}, 1e6)'}`;
  const gateway = await startGateway('embedded', {
    mcpServers: {
      // It ignores the end of its input and SIGTERM, and so does its child.
      stubborn: { command: 'node', args: [fixturePath('stubborn-server'), journal] },
      starting: { command: 'node', args: ['-e', program(true)], connectTimeout: '1s' },
      deaf: { command: 'node', args: ['-e', program(false)], connectTimeout: '1s' },
      shell: {
        command: 'sh',
        args: ['-c', 'node -e "$PROGRAM" & wait'],
        env: { PROGRAM: program(false) },
        connectTimeout: '1s',
      },
    },
  });
  await untilLines(journal, 5);
  const alive = async (): Promise<number[]> =>
    (await readFile(journal, 'utf8')).trim().split('\n').map(Number).filter(isRunning);
  expect((await alive()).length).toBeGreaterThan(1);
  const ended = once(gateway.edge.child, 'exit').then(alive);
  gateway.edge.kill('SIGTERM');
  expect(await ended).toEqual([]);
  expect(gateway.edge.child.exitCode).toBe(0);
  await gateway[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

it('a gateway that is killed leaves no process behind, not even one that ignores signals', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-orphans-'));
  const journal = join(folder, 'pids');
  await using gateway = await startGateway('embedded', {
    mcpServers: { stubborn: { command: 'node', args: [fixturePath('stubborn-server'), journal] } },
  });
  await untilLines(journal, 2);
  const pids = (await readFile(journal, 'utf8')).trim().split('\n').map(Number);
  expect(pids.map(isAlive)).toEqual([true, true]);
  gateway.edge.kill('SIGKILL');
  // The processes have no parent any more, so their end is noticed only by asking.
  await untilTrue(() => !pids.some(isAlive));
  await rm(folder, { recursive: true });
});

it('a gateway that is stopped lets a running call finish, and refuses new sessions', async () => {
  await using upstream = await Upstream.start({ tools: [tool('slow')], onCall: () => undefined });
  const gateway = await startGateway('embedded', { mcpServers: { up: { url: upstream.url } } });
  using client = await RawClient.open(gateway.url);
  const pending = client.callTool('slow');
  const [call] = await upstream.calls.until(1);
  gateway.edge.kill('SIGTERM');
  await gateway.edge.line(/"msg":"stopping"/);
  call?.answer(text('finished'));
  expect((await pending).last.result).toEqual(text('finished'));
  await gateway[Symbol.asyncDispose]();
  expect(gateway.edge.child.exitCode).toBe(0);
});

/** Resolves when the file has that many lines. The process that writes it has no other means of communication. */
function untilLines(file: string, count: number): Promise<void> {
  return untilTrue(async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').length > count);
}
