/** Overload: readers that stop, servers that send without end, very many clients. The excess is refused or ended, and other clients are not affected. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent, request } from 'undici';
import { shapesOfLane, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { byLane } from '../support/lane.ts';
import { collectedMemoryOf, measured, metricsOf, settledMemoryOf } from '../support/metrics.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';

const megabyte = 1024 * 1024;
/** Idle sessions; half as many initialize at the same time, and a server sends five times as many messages. */
const crowdSize = byLane('OMNIBUS_CROWD', 1_000, 10_000);
const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'crowd', version: '1' } },
});

/** Sends an HTTP request on a socket of its own, without reading the answer. */
async function send(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Promise<Socket> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const lines = Object.entries({
    ...headers,
    host: `${hostname}:${port}`,
    'content-length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`${method} ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  return socket;
}

describe.each(shapesOfLane)('under load, %s', (shape) => {
  let upstream: Upstream;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    upstream = await Upstream.start({
      tools: [tool('flood'), tool('echo')],
      onCall: (call) => (call.name === 'echo' ? call.answer(text('echoed')) : undefined),
    });
    const config = { limits: { sessionBurst: 20_000 }, mcpServers: { up: { url: upstream.url } } };
    gateway = await startGateway(shape, config, measured);
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('flood'));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const flood = async (count: number): Promise<Call> => (await upstream.calls.until(count)).at(-1) as Call;

  // The first one, since an edge holds buffers of the other tests for some seconds more.
  it(`${crowdSize} idle sessions with open streams use little, and each is notified of a change`, async () => {
    const count = crowdSize;
    const held = (): Promise<number[]> => Promise.all(gateway.processes.map(settledMemoryOf));
    const before = await held();
    const crowd = new Agent({ connections: 64 });
    const post = async (body: string, session?: string): Promise<string> => {
      const answer = await request(gateway.url, {
        dispatcher: crowd,
        method: 'POST',
        headers: { ...jsonHeaders, ...(session === undefined ? {} : { 'mcp-session-id': session }) },
        body,
      });
      await answer.body.dump();
      return answer.headers['mcp-session-id'] as string;
    };
    let told = 0;
    const everybody = Promise.withResolvers<void>();
    const sockets: Socket[] = [];
    for (let start = 0; start < count; start += 200) {
      await Promise.all(
        Array.from({ length: 200 }, async () => {
          const session = await post(initialize);
          await post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), session);
          const socket = await send(gateway.url, 'GET', { accept: 'text/event-stream', 'mcp-session-id': session });
          sockets.push(socket);
          const attached = Promise.withResolvers<void>();
          let content = '';
          socket.on('data', (chunk: Buffer) => {
            if (content.includes('list_changed')) return;
            content += chunk.toString();
            if (content.includes('text/event-stream')) attached.resolve();
            if (!content.includes('list_changed')) return;
            told += 1;
            if (told === count) everybody.resolve();
          });
          await attached.promise;
        }),
      );
    }
    await crowd.close();
    // Garbage that is not collected yet is not counted: how much there is depends on the load of the machine.
    const perSession = (await held()).map((bytes, index) => (bytes - (before[index] as number)) / count / 1024);
    process.stdout.write(
      `\n${count} idle sessions with open streams, ${shape}: ${perSession.map((kilobytes) => `${kilobytes.toFixed(1)} KiB`).join(' + ')} each\n`,
    );
    expect(Math.max(...perSession)).toBeLessThan(32);
    upstream.tools = [...upstream.tools, tool('new')];
    upstream.notify('notifications/tools/list_changed');
    await everybody.promise;
    for (const socket of sockets) socket.destroy();
    using client = await RawClient.open(gateway.url);
    expect((await client.callTool('echo')).last.result).toEqual(text('echoed'));
  });

  it('a client that stops reading is disconnected before it uses much memory, and others are not affected', async () => {
    using client = await RawClient.open(gateway.url);
    using other = await RawClient.open(gateway.url);
    const before = await Promise.all(gateway.processes.map(collectedMemoryOf));
    const arrived = upstream.calls.values.length + 1;
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'flood', _meta: { progressToken: 1 } },
    });
    const socket = await send(
      gateway.url,
      'POST',
      { ...jsonHeaders, 'mcp-session-id': client.session as string },
      body,
    );
    socket.pause();
    const closed = once(socket, 'close');
    const call = await flood(arrived);
    const piece = 'x'.repeat(megabyte);
    // Only the metric shows whether the stream was closed: the client does not read, so it does not notice.
    for (let sent = 0; (await metricsOf(gateway.edge)).get('omnibus_slow_readers_closed_total') !== 1; sent += 1) {
      call.log('info', piece);
      expect(sent).toBeLessThan(500);
    }
    expect((await other.callTool('echo')).last.result).toEqual(text('echoed'));
    call.answer(text('finished'));
    const grown = (await Promise.all(gateway.processes.map(collectedMemoryOf))).map(
      (bytes, index) => (bytes - (before[index] as number)) / megabyte,
    );
    expect(Math.max(...grown)).toBeLessThan(300);
    socket.destroy();
    await closed;
  });

  it('a server that floods progress is passed on in order, to its answer', async () => {
    using client = await RawClient.open(gateway.url);
    const arrived = upstream.calls.values.length + 1;
    const heard: number[] = [];
    const answers: Message[] = [];
    const streaming = client.stream(
      { jsonrpc: '2.0', id: 'flooded', method: 'tools/call', params: { name: 'flood', _meta: { progressToken: 'p' } } },
      (message) => {
        if (message.method === undefined) answers.push(message);
        else heard.push(message.params?.['progress'] as number);
        return Promise.resolve();
      },
    );
    const call = await flood(arrived);
    const count = crowdSize * 5;
    for (let progress = 1; progress <= count; progress += 1) call.progress(progress, count);
    call.answer(text('finished'));
    await streaming;
    expect(answers).toMatchObject([{ id: 'flooded', result: text('finished') }]);
    expect(heard).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  });

  it(`each of ${crowdSize / 2} simultaneous initialize requests is served, or refused with advice`, async () => {
    const crowd = new Agent({ connections: 1_000 });
    const answers = await Promise.all(
      Array.from({ length: crowdSize / 2 }, async () => {
        const { statusCode, headers, body } = await request(gateway.url, {
          dispatcher: crowd,
          method: 'POST',
          headers: jsonHeaders,
          body: initialize,
        });
        return { statusCode, session: headers['mcp-session-id'], message: (await body.json()) as Message };
      }),
    );
    const opened = answers.filter(({ session }) => session !== undefined);
    const refused = answers.filter(({ session }) => session === undefined);
    expect(new Set(opened.map(({ session }) => session)).size).toBe(opened.length);
    expect(refused.filter(({ message }) => message.error?.data?.['retry'] === undefined)).toEqual([]);
    expect(opened.length).toBeGreaterThan(crowdSize * 0.4);
    await crowd.close();
    using client = await RawClient.open(gateway.url);
    expect((await client.callTool('echo')).last.result).toEqual(text('echoed'));
  });
});

it('sessions beyond the limit are refused, and open ones go on', async () => {
  await using upstream = await Upstream.start();
  await using gateway = await startGatewayHere('embedded', {
    limits: { maxSessions: 10 },
    mcpServers: { up: { url: upstream.url } },
  });
  // A session that was opened and never used would be removed for the next one.
  const opened = await Promise.all(Array.from({ length: 10 }, () => RawClient.open(gateway.url)));
  await Promise.all(opened.map((client) => client.request('ping')));
  const late = await Promise.all(Array.from({ length: 20 }, () => new RawClient(gateway.url).initialize('2025-11-25')));
  for (const answer of late) expect(answer.last.error?.data).toMatchObject({ reason: 'session.limit' });
  for (const client of opened) expect((await client.request('ping')).last.result).toEqual({});
});
