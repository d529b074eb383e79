/** Streams of clients end with the edge that serves them, whether or not it could report that. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EventReader } from '../support/event-reader.ts';
import { shapesOfLane, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { metricsOf } from '../support/metrics.ts';
import type { RunningProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';

const detached = 'omnibus_client_streams_detached_total';

describe('edges that come and go', () => {
  let upstream: Upstream;
  let gateway: GatewayUnderTest;
  let worker: RunningProcess;

  /** A fraction of the time that an unused session has is the time between two looks for idle ones. */
  const configOf = (idleSession: string): object => ({
    timeouts: { idleSession, unusedSession: '20s' },
    mcpServers: { up: { url: upstream.url } },
  });

  /** Number of streams that were detached before the test. */
  let before: number;

  beforeAll(async () => {
    upstream = await Upstream.start({ tools: [tool('echo')] });
    gateway = await startGateway('nats', configOf('1h'));
    worker = gateway.processes.find((part) => part !== gateway.edge && part !== gateway.backend) as RunningProcess;
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('echo'));
    await client.delete();
  });

  beforeEach(async () => {
    before = await measure(detached);
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const measure = async (name: string): Promise<number> => (await metricsOf(worker)).get(name) ?? 0;

  /** Starts another edge. */
  async function startEdge(): Promise<{ readonly edge: RunningProcess; readonly url: string }> {
    const edge = await gateway.startPart('edge');
    const [, url = ''] = await edge.line(/"endpoint":"([^"]+)"/);
    return { edge, url };
  }

  it('SIGKILL: a client whose edge is gone opens a new stream and receives everything there; streams of the dead edge are removed', async () => {
    const { edge, url } = await startEdge();
    using client = await RawClient.open(gateway.url);
    await client.callTool('echo');
    for (let count = 0; count < 7; count += 1) await EventReader.open(url, client.session as string);
    await gateway.lose(edge);
    const reader = await EventReader.open(gateway.url, client.session as string);
    expect(reader.status).toBe(200);
    upstream.notify('notifications/tools/list_changed');
    await reader.events.untilSome(({ message }) => message?.method === 'notifications/tools/list_changed');
    await expect.poll(() => measure(detached)).toBe(before + 7);
    // There is room for as many streams as before.
    const more = await Promise.all(
      Array.from({ length: 7 }, () => EventReader.open(gateway.url, client.session as string)),
    );
    expect(more.map(({ status }) => status)).toEqual(more.map(() => 200));
    for (const each of [reader, ...more]) each.break();
    await client.delete();
  });

  it('while an edge is paused, messages go to streams of other edges, and it goes on when it is back', async () => {
    const { edge, url } = await startEdge();
    using client = await RawClient.open(gateway.url);
    await client.callTool('echo');
    const there = await EventReader.open(gateway.url, client.session as string);
    const paused = await EventReader.open(url, client.session as string);
    edge.kill('SIGSTOP');
    await expect.poll(() => measure(detached)).toBe(before + 1);
    upstream.notify('notifications/tools/list_changed');
    await there.events.untilSome(({ message }) => message?.method === 'notifications/tools/list_changed');
    edge.kill('SIGCONT');
    there.break();
    // Streams at the restarted edge are attached again, under their own ids.
    await expect
      .poll(
        () => {
          upstream.notify('notifications/tools/list_changed');
          return paused.messages.length;
        },
        { interval: 500 },
      )
      .toBeGreaterThan(0);
    paused.break();
    await client.delete();
  });

  it('streams that clients closed while NATS was unreachable are removed when it is back', async () => {
    using client = await RawClient.open(gateway.url);
    const readers = await Promise.all(
      Array.from({ length: 8 }, () => EventReader.open(gateway.url, client.session as string)),
    );
    const restarted = gateway.restartBus();
    for (const reader of readers) reader.break();
    await restarted;
    await expect.poll(async () => (await EventReader.open(gateway.url, client.session as string)).status).toBe(200);
  });

  it('SIGKILL: a session whose only stream was read at an edge that is gone ends when it is idle', async () => {
    await gateway.configure(configOf('5s'));
    await worker.line(/the changed configuration is applied/);
    const { edge, url } = await startEdge();
    using client = await RawClient.open(gateway.url);
    await EventReader.open(url, client.session as string);
    const ready = 'omnibus_sessions{state="ready"}';
    const others = (await measure(ready)) - 1;
    await gateway.lose(edge);
    await expect.poll(() => measure(ready), { interval: 500 }).toBeLessThanOrEqual(others);
    expect((await client.request('ping')).status).toBe(404);
  });
});

describe.each(shapesOfLane)('clients that go away at once, %s', (shape) => {
  it('leave no stream behind: sixty aborted GETs do not prevent the next one', async () => {
    await using upstream = await Upstream.start();
    await using gateway = await startGatewayHere(shape, { mcpServers: { up: { url: upstream.url } } });
    using client = await RawClient.open(gateway.url);
    for (let count = 0; count < 60; count += 1) {
      const connection = new AbortController();
      const asked = fetch(gateway.url, {
        headers: { accept: 'text/event-stream', 'mcp-session-id': client.session as string },
        signal: connection.signal,
      });
      // The delay varies from before the request is sent to after its answer has arrived.
      for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
      connection.abort();
      await asked
        .then(
          (response) => response.body?.cancel(),
          () => undefined,
        )
        .catch(() => undefined);
    }
    await expect
      .poll(async () => {
        const reader = await EventReader.open(gateway.url, client.session as string);
        reader.break();
        return reader.status;
      })
      .toBe(200);
  });
});
