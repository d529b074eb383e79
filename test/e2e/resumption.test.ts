import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';

describe.each(shapesOfLane)('a client that lost its stream, %s', (shape) => {
  let upstream: Upstream;
  let gateway: GatewayHere;
  let client: RawClient;

  beforeAll(async () => {
    upstream = await Upstream.start({ tools: [tool('slow')], onCall: () => undefined });
    gateway = await startGatewayHere(shape, { mcpServers: { up: { url: upstream.url } } });
    client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.length === 1);
  });

  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  /** Calls the tool, reads the stream up to the first progress, and breaks the connection. */
  async function loseCall(): Promise<{ readonly call: Call; readonly lastEventId: string }> {
    const arrived = upstream.calls.values.length + 1;
    const connection = new AbortController();
    const response = fetch(gateway.url, {
      method: 'POST',
      signal: connection.signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': client.session as string,
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'lost',
        method: 'tools/call',
        params: { name: 'slow', _meta: { progressToken: 1 } },
      }),
    });
    const call = (await upstream.calls.until(arrived)).at(-1) as Call;
    call.progress(1);
    const { body } = await response;
    let content = '';
    for await (const chunk of (body as ReadableStream<Uint8Array>).pipeThrough(
      new TextDecoderStream() as never,
    ) as unknown as AsyncIterable<string>) {
      content += chunk;
      if (content.includes('"progress":1')) break;
    }
    connection.abort();
    const ids = [...content.matchAll(/^id: (.+)$/gm)].map(([, id]) => id as string);
    expect(content).toMatch(/^id: [\w-]+\.0\nretry: 1000\ndata: \n\n/);
    expect(ids).toHaveLength(2);
    return { call, lastEventId: ids[1] as string };
  }

  const comeBack = (lastEventId: string): Promise<Response> =>
    fetch(gateway.url, {
      headers: {
        accept: 'text/event-stream',
        'mcp-session-id': client.session as string,
        'mcp-protocol-version': '2025-11-25',
        'last-event-id': lastEventId,
      },
    });

  it('gets what it missed and the answer on the stream it comes back with, and nothing twice', async () => {
    const { call, lastEventId } = await loseCall();
    call.progress(2);
    const resumed = await comeBack(lastEventId);
    expect(resumed.status).toBe(200);
    call.progress(3);
    call.answer(text('finished'));
    const content = await resumed.text();
    const messages = [...content.matchAll(/^data: (\{.+)$/gm)].map(
      ([, data]) => JSON.parse(data as string) as { params?: { progress: number }; id?: string },
    );
    expect(messages.map(({ params, id }) => params?.progress ?? id)).toEqual([2, 3, 'lost']);
  });

  it('gets an answer that came while it was away', async () => {
    const { call, lastEventId } = await loseCall();
    call.answer(text('finished'));
    // When a later message is answered, the gateway has received the answer.
    const arrived = upstream.calls.values.length + 1;
    const next = client.callTool('slow');
    ((await upstream.calls.until(arrived)).at(-1) as Call).answer(text('next'));
    await next;
    expect(await (await comeBack(lastEventId)).text()).toContain('finished');
  });

  it('gets the notifications it missed on its GET stream', async () => {
    using client = await RawClient.open(gateway.url);
    const [connection, witness] = [new AbortController(), await RawClient.open(gateway.url)];
    const told = await witness.listen();
    const stream = await fetch(gateway.url, {
      signal: connection.signal,
      headers: {
        accept: 'text/event-stream',
        'mcp-session-id': client.session as string,
        'mcp-protocol-version': '2025-11-25',
      },
    });
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    const [, primed] = /^id: (.+\.0)$/m.exec(new TextDecoder().decode((await reader.read()).value)) as unknown as [
      string,
      string,
    ];
    connection.abort();
    upstream.notify('notifications/tools/list_changed');
    await told.until(1);
    const resumed = await fetch(gateway.url, {
      signal: AbortSignal.timeout(10_000),
      headers: { accept: 'text/event-stream', 'mcp-session-id': client.session as string, 'last-event-id': primed },
    });
    let content = '';
    const again = (resumed.body as ReadableStream<Uint8Array>).getReader();
    while (!content.includes('list_changed')) content += new TextDecoder().decode((await again.read()).value);
    expect(content).toContain(
      `id: ${primed.replace(/0$/, '1')}\nevent: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
    );
    await again.cancel();
    witness[Symbol.dispose]();
  });

  it('is refused an event id that is unknown or of another session', async () => {
    const { call, lastEventId } = await loseCall();
    using stranger = await RawClient.open(gateway.url);
    const probe = (session: string, id: string): Promise<number> =>
      fetch(gateway.url, {
        headers: { accept: 'text/event-stream', 'mcp-session-id': session, 'last-event-id': id },
      }).then(({ status }) => status);
    expect(await probe(stranger.session as string, lastEventId)).toBe(400);
    expect(await probe(client.session as string, 'nonsense')).toBe(400);
    expect(await probe(client.session as string, lastEventId.replace(/\d+$/, '77'))).toBe(400);
    call.answer(text('done'));
  });
});
