/** A gateway of one process with `sessions.store` is restarted or killed while clients stay connected. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { Heard } from '@omnibus/bus/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { anyPort, configText } from '../support/gateway.ts';
import { EventReader, type ReadEvent } from '../support/event-reader.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { end, omnibusProgram, root, startProcess, type RunningProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';
import { make, makingLimitMs, pythonSdks, usable } from '../direct/toolchains.ts';
import { EraServer } from '../matrix/era-server.ts';
import { isLongLane } from '../support/lane.ts';

const info = { name: 'restarted', version: '1.0.0' };
/** The gate kills processes only; the long lane stops them in order, too. */
const signals = isLongLane ? (['SIGKILL', 'SIGTERM'] as const) : (['SIGKILL'] as const);

let upstream: Upstream;
let modern: EraServer;
let folder: string;
let running: RunningProcess;
let url: string;

async function start(): Promise<void> {
  const listen = url === '' ? anyPort : new URL(url).host;
  running = startProcess('node', [
    ...[omnibusProgram, 'serve', '--config', join(folder, 'omnibus.json'), '--listen', listen, '--admin', anyPort],
  ]);
  const [, endpoint] = (await running.line(/"endpoint":"([^"]+)"/)) as unknown as [string, string];
  url = endpoint;
  await running.line(/"msg":"ready"/);
}

async function configure(more: object): Promise<void> {
  const mcpServers = { up: { url: upstream.url }, modern: { url: modern.url } };
  await writeFile(join(folder, 'omnibus.json'), configText({ sessions: { store: 'state' }, mcpServers, ...more }));
}

async function restart(signal: NodeJS.Signals): Promise<void> {
  await end(running, signal);
  await start();
}

beforeAll(async () => {
  modern = await EraServer.start('2026-07-28');
  upstream = await Upstream.start({
    tools: [tool('echo'), tool('slow')],
    resources: [{ uri: 'up://one', name: 'one' }],
    capabilities: { tools: {}, resources: { subscribe: true } },
    onCall: (call) => {
      if (call.name === 'echo') call.answer(text('echoed'));
    },
    onRequest: ({ method }) => (method === 'resources/subscribe' ? {} : undefined),
  });
});

afterAll(async () => {
  await upstream[Symbol.asyncDispose]();
  await modern[Symbol.asyncDispose]();
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-restart-'));
  await configure({});
  url = '';
  await start();
});

afterEach(async () => {
  await running[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

it.each(signals)('%s: open sessions of the official SDK clients of both major versions go on', async (signal) => {
  const one = new ClientOne(info);
  await one.connect(new TransportOne(new URL(url)));
  const two = new ClientTwo(info);
  await two.connect(new TransportTwo(new URL(url)));
  for (const client of [one, two])
    expect(await client.callTool({ name: 'up__echo', arguments: {} })).toMatchObject(text('echoed'));
  for (let round = 0; round < 2; round += 1) {
    await restart(signal);
    for (const client of [one, two])
      expect(await client.callTool({ name: 'up__echo', arguments: {} })).toMatchObject(text('echoed'));
  }
  await one.close();
  await two.close();
});

const python = isLongLane ? usable([{ name: 'the Python SDK', needs: [pythonSdks] }]) : [];
it.each(python.flatMap(() => signals))(
  '%s: an open session of the official Python SDK client goes on',
  async (signal) => {
    await make([pythonSdks]);
    await using client = startProcess(
      pythonSdks.python,
      [join(root, 'test/direct/python/restarted.py'), url, 'up__echo'],
      {},
      'pipe',
    );
    const answers = async (count: number): Promise<void> => {
      client.child.stdin?.write('again\n');
      await expect.poll(() => client.output().split('\n')).toEqual(Array.from({ length: count }, () => 'echoed'));
    };
    await answers(1);
    await restart(signal);
    await answers(2);
    client.child.stdin?.end();
  },
  makingLimitMs,
);

it.each(signals)('%s: a subscription and the stream for it are there again', async (signal) => {
  const heard = new Heard<string>();
  const client = new ClientOne(info);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => heard.add(params.uri));
  const patient = { initialReconnectionDelay: 50, maxReconnectionDelay: 50, reconnectionDelayGrowFactor: 1 };
  await client.connect(new TransportOne(new URL(url), { reconnectionOptions: { ...patient, maxRetries: 10_000 } }));
  await client.subscribeResource({ uri: 'up://one' });
  const subscribed = (): number => upstream.requests.filter(({ method }) => method === 'resources/subscribe').length;
  // The client opens its stream by itself, at a time of its own, and does not try again if the first attempt fails.
  const hears = async (): Promise<void> => {
    const known = heard.values.length;
    await expect
      .poll(() => {
        upstream.notify('notifications/resources/updated', { uri: 'up://one' });
        return heard.values.length;
      })
      .toBeGreaterThan(known);
  };
  await hears();
  const before = subscribed();
  const known = heard.values.length;
  await restart(signal);
  // The client may have missed a change.
  await heard.until(known + 1);
  await upstream.answered.untilSome(() => subscribed() > before);
  await hears();
  await client.close();
});

it('SIGTERM: an open call is finished by the process that stops', async () => {
  using client = await RawClient.open(url);
  const calls = upstream.calls.values.length;
  const waiting = client.callTool('up__slow');
  const call = (await upstream.calls.until(calls + 1))[calls] as Call;
  const restarted = restart('SIGTERM');
  await running.line(/"msg":"stopping"/);
  call.answer(text('at last'));
  expect((await waiting).last.result).toEqual(text('at last'));
  await restarted;
  expect((await client.callTool('up__echo')).last.result).toEqual(text('echoed'));
});

it('SIGKILL: a client that resumes the stream of its call gets the messages that it has missed, and "outcome unknown"', async () => {
  using client = await RawClient.open(url);
  const session = client.session as string;
  const calls = upstream.calls.values.length;
  const params = { name: 'up__slow', arguments: {}, _meta: { progressToken: 'p' } };
  const reader = await EventReader.open(url, session, {
    body: { jsonrpc: '2.0', id: 7, method: 'tools/call', params },
  });
  const call = (await upstream.calls.until(calls + 1))[calls] as Call;
  call.progress(1);
  call.progress(2);
  const isStep = (step: number) => (event: ReadEvent) => event.message?.params?.['progress'] === step;
  const first = await reader.events.untilSome(isStep(1));
  await reader.events.untilSome(isStep(2));
  await restart('SIGKILL');
  await reader.ended;
  const resumed = await EventReader.open(url, session, { lastEventId: first.id as string });
  await resumed.ended;
  expect(resumed.messages).toMatchObject([
    { method: 'notifications/progress', params: { progress: 2 } },
    { id: 7, error: { data: { reason: 'gateway.interrupted', retry: 'unknown-outcome' } } },
  ]);
  expect(upstream.calls.values.length).toBe(calls + 1);
});

it.each(signals)('%s: a call between two rounds goes on at a server of 2026-07-28', async (signal) => {
  // The state of a known caller is encrypted, so the next process needs the same key.
  await using keys = await Keys.make('ann');
  await configure({ auth: keys.auth });
  await restart('SIGTERM');
  const client = new ModernClient(url, undefined, keys.headersOf('ann'));
  const asked = required(await client.call('modern__form'));
  await restart(signal);
  const [name] = Object.keys(asked.requests) as [string];
  const answer = await client.call('modern__form', {
    requestState: asked.requestState,
    inputResponses: { [name]: { action: 'accept', content: { answer: 'after the restart' } } },
  });
  expect(JSON.stringify(answer.last.result)).toContain('after the restart');
});

it('a session that its client has ended does not come back, and no second gateway uses the same folder', async () => {
  using client = await RawClient.open(url);
  expect((await client.callTool('up__echo')).status).toBe(200);
  await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': client.session as string } });
  await restart('SIGTERM');
  expect((await client.callTool('up__echo')).status).toBe(404);
  await using other = startProcess('node', [
    ...[omnibusProgram, 'serve', '--config', join(folder, 'omnibus.json'), '--listen', anyPort, '--admin', anyPort],
  ]);
  await other.line(/sessions\.store: another gateway uses .*gateway\.db: stop it first, or name another folder/);
});
