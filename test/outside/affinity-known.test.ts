/**
 * Known callers at a program that keeps state in memory, with the default `isolation`. There are two processes of each role: a caller reaches the same
 * program through each of them, also after the worker of the session is gone, and never the program of another caller.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { Keys } from '../support/keys.ts';
import { fixturePath, type RunningProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';

interface ProcessStatus {
  readonly role: string;
  readonly adapters?: Readonly<Record<string, number>>;
}

let folder: string;
let keys: Keys;
let gateway: GatewayUnderTest;
let urls: readonly [string, string];
/** Sessions by caller and number. */
const sessions = new Map<string, RawClient>();

async function statusOf(process: RunningProcess): Promise<ProcessStatus> {
  return (await (await fetch(`http://${await gateway.admin(process)}/status`)).json()) as ProcessStatus;
}

async function partsOf(role: string): Promise<RunningProcess[]> {
  const alive = gateway.processes.filter(({ child }) => child.exitCode === null && child.signalCode === null);
  const statuses = await Promise.all(alive.map(statusOf));
  return alive.filter((_, index) => statuses[index]?.role === role);
}

async function untilKnown(count: number): Promise<void> {
  for (const process of await partsOf('session'))
    await vi.waitFor(async () => expect((await statusOf(process)).adapters).toEqual({ counter: count, newer: count }), {
      timeout: 120_000,
      interval: 100,
    });
}

async function count(client: RawClient, server: string): Promise<number> {
  const { body } = await client.callTool(`${server}__count`, { marker: 'mk-0000000000000000-1' });
  return Number(/mk-[0-9a-f]+-1 (\d+)/.exec(body)?.[1] ?? expect.fail(body));
}

async function open(name: string, subject: string, url: string): Promise<RawClient> {
  const client = await RawClient.open(url, '2025-11-25', keys.headersOf(subject));
  sessions.set(name, client);
  return client;
}

async function end(process: RunningProcess): Promise<void> {
  const ended = new Promise((resolve) => {
    process.child.once('close', resolve);
  });
  process.child.kill('SIGKILL');
  await ended;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-known-'));
  keys = await Keys.make('ann', 'bob');
  const keeper = (name: string, revision: string): object => ({
    command: 'node',
    args: [fixturePath('keeper-stdio'), revision, name, join(folder, 'notes')],
  });
  gateway = await startGateway('nats', {
    auth: keys.auth,
    mcpServers: { counter: keeper('counter', '2025-11-25'), newer: keeper('newer', '2026-07-28') },
  });
  const [, , edge] = await Promise.all([
    gateway.startPart('backend'),
    gateway.startPart('session'),
    gateway.startEdge(),
  ]);
  urls = [gateway.url, edge];
  await untilKnown(2);
});

afterAll(async () => {
  for (const client of sessions.values()) client[Symbol.dispose]();
  await gateway[Symbol.asyncDispose]();
  await keys[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

it("all sessions of one caller reach the caller's program, through any edge and worker, and no other caller does", async () => {
  for (const [index, url] of [...urls, ...urls].entries())
    for (const subject of ['ann', 'bob']) await open(`${subject} ${index}`, subject, url);
  for (const server of ['counter', 'newer']) {
    const counts: Record<string, number[]> = { ann: [], bob: [] };
    for (const [name, client] of sessions) counts[name.split(' ')[0] as string]?.push(await count(client, server));
    expect(counts).toEqual({ ann: [1, 2, 3, 4], bob: [1, 2, 3, 4] });
  }
});

it('a session worker that takes over sends calls to the same program', async () => {
  const [first] = (await partsOf('session')) as [RunningProcess];
  await end(first);
  const counts: number[] = [];
  for (const index of [0, 1, 2, 3]) counts.push(await count(sessions.get(`ann ${index}`) as RawClient, 'counter'));
  expect(counts).toEqual([5, 6, 7, 8]);
  expect(await count(sessions.get('bob 0') as RawClient, 'counter')).toBe(5);
});

it('a backend worker that takes over starts a new program for each caller', async () => {
  const [one, other] = (await partsOf('backend')) as [RunningProcess, RunningProcess];
  await gateway.startPart('backend');
  await untilKnown(3);
  await end(one);
  await end(other);
  await untilKnown(1);
  const counts: Record<string, number[]> = { ann: [], bob: [] };
  for (const index of [0, 1, 2])
    for (const subject of ['ann', 'bob'])
      counts[subject]?.push(await count(sessions.get(`${subject} ${index}`) as RawClient, 'counter'));
  expect(counts).toEqual({ ann: [1, 2, 3], bob: [1, 2, 3] });
});
