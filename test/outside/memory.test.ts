/**
 * The gateway's memory for messages of clients, compared with its own gauges. Each test sends dozens of megabytes one way and leaves them
 * in one state; differences of memory are compared with differences of gauges, so that neither the machine nor the size of the program matters.
 */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { JsonObject } from '@omnibus/protocol';
import { EraServer } from '../matrix/era-server.ts';
import { shapesOfLane, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { byLane } from '../support/lane.ts';
import { collectedMemoryOf, measured, metricsOf } from '../support/metrics.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { dial, requestText } from '../support/raw-http.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';

const megabyte = 1024 * 1024;
const count = byLane('OMNIBUS_MEMORY_CALLS', 8, 16);
const padding = 'x'.repeat(3 * megabyte);
/** Of the 24 or 48 MB that were sent: less than one copy of each. */
const allowedBytes = 16 * megabyte;
/** Every gauge of bytes for clients. */
const gauges = [
  'omnibus_client_body_bytes',
  'omnibus_client_unread_bytes',
  'omnibus_kept_bytes',
  'omnibus_kept_calls_bytes',
  'omnibus_session_bytes',
  'omnibus_upstream_reading_bytes',
];
/** Each look collects the garbage of every process, and what a connection holds goes after seconds. */
const pauses = { interval: 1_500 };
/** Copies of an open request: one in each process that it passes, except at an edge that its client has left, and the text that was sent to the server. */
const copies = { embedded: 2, nats: 3 };
const tasks = { 'io.modelcontextprotocol/tasks': {} };

const headers = ['content-type: application/json', 'accept: application/json, text/event-stream'];

const several = <Made>(make: (index: number) => Promise<Made>): Promise<Made[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});

interface DuplexClient {
  send(body: string): Promise<void>;
  close(): void;
}

async function overWebSocket(url: string): Promise<DuplexClient> {
  const socket = new WebSocket(url.replace('http', 'ws').replace('/mcp', '/ws'), 'mcp');
  await once(socket, 'open');
  socket.send(initialize);
  await once(socket, 'message');
  return {
    send: (body) => Promise.resolve(socket.send(body)),
    close: () => socket.terminate(),
  };
}

async function overEvents(url: string): Promise<DuplexClient> {
  const stop = new AbortController();
  const response = await fetch(url.replace('/mcp', '/sse'), { signal: stop.signal });
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .getReader();
  let heard = '';
  const until = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(heard);
      if (found !== null) return found[1] as string;
      const { value, done } = await reader.read();
      if (done) throw new Error(`the stream ended: ${heard}`);
      heard += value;
    }
  };
  const address = new URL(await until(/data: (\/messages\S+)/), url).href;
  const send = async (body: string): Promise<void> => {
    const answer = await fetch(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(answer.status).toBe(202);
    await answer.text();
  };
  await send(initialize);
  await until(/("id":"init")/);
  return { send, close: () => stop.abort() };
}

describe.each(shapesOfLane)('the memory of a gateway, %s', (shape) => {
  let upstream: Upstream;
  let era: EraServer;
  let gateway: GatewayUnderTest;
  let held: Call[] = [];

  beforeAll(async () => {
    upstream = await Upstream.start({
      tools: ['act', 'large', 'never', 'risky'].map(tool),
      onCall: (call) => {
        if (call.name === 'never') {
          held.push(call);
          return;
        }
        call.progress(1); // From now on the worker stores the answer for a client that comes back.
        call.answer(text(call.name === 'large' ? padding : 'done'));
      },
    });
    era = await EraServer.start('2025-11-25');
    gateway = await startGateway(
      shape,
      {
        mcpServers: { up: { url: upstream.url }, era: { url: era.url } },
        access: { default: 'allow', rules: [{ id: 'risky', who: 'everyone', ask: ['up/risky'], by: 'approvers' }] },
      },
      measured,
    );
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => ['up__act', 'era__form'].every((name) => names.includes(name)));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await Promise.all([upstream, era].map((each) => each[Symbol.asyncDispose]()));
  });

  const gauged = async (names: readonly string[] = gauges): Promise<number> => {
    const all = await Promise.all(gateway.processes.map(metricsOf));
    return all.reduce((sum, metrics) => names.reduce((more, name) => more + (metrics.get(name) ?? 0), sum), 0);
  };

  const heldBytes = async (): Promise<number> =>
    (await Promise.all(gateway.processes.map(collectedMemoryOf))).reduce((sum, bytes) => sum + bytes, 0);

  /** Measures from now on. @returns the bytes that processes hold beyond what gauges have counted. @param times copies of a counted byte. */
  const uncounted = async (): Promise<(times?: number) => () => Promise<number>> => {
    const [memory, counted] = [await heldBytes(), await gauged()];
    return (times = 1) =>
      async () =>
        (await heldBytes()) - memory - Math.max(0, (await gauged()) - counted) * times;
  };

  /** Makes calls with clients that disconnect as soon as the calls wait. */
  const leave = async (name: string, params: JsonObject, untilTheyWait: () => Promise<unknown>): Promise<void> => {
    const clients = await several(async () => {
      using client = await RawClient.open(gateway.url);
      const socket = await dial(gateway.url);
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, ...params },
      });
      socket.write(
        requestText(gateway.url, ['POST /mcp HTTP/1.1', ...headers, `mcp-session-id: ${client.session}`], body),
      );
      return socket;
    });
    await untilTheyWait();
    for (const socket of clients) socket.destroy();
    await expect.poll(() => gauged(['omnibus_client_body_bytes'])).toBe(0);
  };

  const answerHeld = (): void => {
    for (const call of held) call.answer(text('late'));
    held = [];
  };

  it('holds nothing of requests that were answered', async () => {
    const more = await uncounted();
    using client = await RawClient.open(gateway.url);
    const answers = await several((index) => client.callTool('up__act', { padding }, { progressToken: index }));
    expect(answers.map(({ last }) => last.result)).toEqual(answers.map(() => text('done')));
    await expect.poll(more(), pauses).toBeLessThan(allowedBytes);
  });

  it('counts the answers that it keeps for clients who may come back', async () => {
    const more = await uncounted();
    const clients = await several(() => RawClient.open(gateway.url));
    await Promise.all(clients.map((client) => client.callTool('up__large', {}, { progressToken: 1 })));
    expect(await gauged(['omnibus_kept_bytes'])).toBeGreaterThan(count * padding.length);
    await expect.poll(more(), pauses).toBeLessThan(allowedBytes);
    await Promise.all(clients.map((client) => client.delete()));
  });

  it('counts calls whose clients have disconnected', async () => {
    const more = await uncounted();
    const before = upstream.calls.values.length;
    await leave('up__never', { arguments: { padding } }, () => upstream.calls.until(before + count));
    await expect.poll(more(copies[shape]), pauses).toBeLessThan(allowedBytes);
    answerHeld();
    await expect.poll(more(), pauses).toBeLessThan(allowedBytes);
  });

  it.each(['a WebSocket', 'HTTP+SSE'])(
    'counts calls over %s, on which no HTTP request waits for the answer',
    async (way) => {
      const more = await uncounted();
      const before = upstream.calls.values.length;
      const body = (id: number): string =>
        JSON.stringify({
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: 'up__never', arguments: { padding } },
        });
      const client = way === 'HTTP+SSE' ? await overEvents(gateway.url) : await overWebSocket(gateway.url);
      for (let id = 1; id <= count; id += 1) await client.send(body(id));
      await upstream.calls.until(before + count);
      expect(await gauged(['omnibus_client_body_bytes'])).toBeGreaterThan(count * padding.length);
      await expect.poll(more(copies[shape] + 1), pauses).toBeLessThan(allowedBytes);
      answerHeld();
      await expect.poll(() => gauged(['omnibus_client_body_bytes'])).toBe(0);
      client.close();
      await expect.poll(more(), pauses).toBeLessThan(allowedBytes);
    },
  );

  it('counts calls that wait for approvers after their clients have disconnected', async () => {
    const more = await uncounted();
    // An approver must see all arguments, so these are short.
    await leave('up__risky', { _meta: { padding } }, () =>
      expect.poll(() => gauged(['omnibus_approvals_waiting'])).toBe(count),
    );
    await expect.poll(more(copies[shape]), pauses).toBeLessThan(allowedBytes);
  });

  it('counts calls that wait for the answers of clients without sessions, and what is left of them afterwards', async () => {
    const more = await uncounted();
    using client = new ModernClient(gateway.url);
    const asked = (await several(() => client.call('era__form', { arguments: { padding } }))).map(required);
    await expect.poll(more(copies[shape]), pauses).toBeLessThan(allowedBytes);
    const answers = await Promise.all(
      asked.map(({ requests, requestState }) =>
        client.call('era__form', {
          arguments: { padding },
          requestState,
          inputResponses: Object.fromEntries(
            Object.keys(requests).map((key) => [key, { action: 'accept', content: { answer: 'yes' } }]),
          ),
        }),
      ),
    );
    expect(new Set(answers.map(({ last }) => last.result?.['resultType']))).toEqual(new Set(['complete']));
    await expect.poll(more(), pauses).toBeLessThan(allowedBytes);
  });

  it('counts requests of clients that listen', async () => {
    const more = await uncounted();
    using client = new ModernClient(gateway.url);
    const acknowledged = await several(
      () =>
        new Promise<JsonObject>((resolve) => {
          void client
            .stream(
              'subscriptions/listen',
              { notifications: { toolsListChanged: true }, _meta: { padding } },
              (message) => Promise.resolve(resolve(message)),
            )
            .catch(() => undefined);
        }),
    );
    expect(acknowledged.map(({ method }) => method)).toEqual(
      acknowledged.map(() => 'notifications/subscriptions/acknowledged'),
    );
    await expect.poll(more(copies[shape]), pauses).toBeLessThan(allowedBytes);
  });

  it('counts what is left of requests for tasks', async () => {
    const more = await uncounted();
    using client = new ModernClient(gateway.url, { roots: {}, extensions: tasks });
    const created = await several(() => client.call('era__task', { arguments: { padding } }));
    await expect.poll(more(), pauses).toBeLessThan(allowedBytes);
    const asking = await Promise.all(
      created.map(({ last }) => client.request('tasks/get', { taskId: last.result?.['taskId'], _meta: { padding } })),
    );
    expect(asking.map(({ last }) => last.result?.['status'] ?? last)).toEqual(asking.map(() => 'input_required'));
    await expect.poll(more(), pauses).toBeLessThan(allowedBytes);
  });
});
