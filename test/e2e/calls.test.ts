import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapes } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';

/** Tools with calls that stay open until the test ends them. */
const held = new Set(['slow', 'impatient', 'stubborn']);

describe.each(shapes)('a call, %s', (shape) => {
  let a: Upstream;
  let b: Upstream;
  let gateway: GatewayHere;
  let client: RawClient;

  const onCall = (call: Call): void => {
    if (call.name === 'echo') call.answer(text(JSON.stringify(call.args)));
    else if (call.name === 'large') call.answer(text('x'.repeat(Number(call.args['bytes']))));
    else if (call.name === 'refuse') call.fail(-32_005, 'MCP error -32005: not today', { until: 'tomorrow' });
    else if (call.name === 'chatty') {
      for (const progress of [1, 2, 2, 1, 3]) call.progress(progress, 3);
      call.log('debug', 'quiet');
      call.log('error', 'loud');
      call.answer(text('done'));
    } else if (!held.has(call.name)) call.drop();
  };

  beforeAll(async () => {
    const tools = ['echo', 'slow', 'impatient', 'stubborn', 'large', 'refuse', 'chatty', 'vanish'].map(tool);
    a = await Upstream.start({ tools, onCall, capabilities: { logging: {} } });
    b = await Upstream.start({ tools, onCall });
    gateway = await startGatewayHere(shape, {
      limits: { maxInFlightPerSession: 50 },
      mcpServers: {
        a: {
          url: a.url,
          tools: { impatient: { timeout: '300ms' }, stubborn: { timeout: '1500ms', maxTime: '2500ms' } },
        },
        b: { url: b.url, concurrency: 2, maxWaiting: 1 },
      },
    });
    client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.length === 16);
  });

  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway[Symbol.asyncDispose]();
    await a[Symbol.asyncDispose]();
    await b[Symbol.asyncDispose]();
  });

  it('is answered as JSON when the answer is the first message', async () => {
    // On a machine that stalls, an answer takes longer than a moment and comes as a stream.
    await expect
      .poll(() => client.callTool('a__echo', { x: 1 }, undefined, 'one'))
      .toMatchObject({ status: 200, type: 'application/json', last: { id: 'one', result: text('{"x":1}') } });
  });

  it('is answered as a stream when the answer takes longer than a moment, so that proxies do not time out', async () => {
    const arrived = a.calls.values.length + 1;
    const response = await fetch(gateway.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': client.session as string,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a__slow' } }),
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    ((await a.calls.until(arrived)).at(-1) as Call).answer(text('at last'));
    expect(await response.text()).toContain('at last');
  });

  it("is answered as a stream when another message comes first: progress under the client's own token, and never decreasing", async () => {
    const answer = await client.callTool('a__chatty', {}, { progressToken: 'mine' }, 7);
    expect(answer.type).toBe('text/event-stream');
    const progress = answer.messages
      .filter(({ method }) => method === 'notifications/progress')
      .map(({ params }) => params);
    expect(progress).toEqual([1, 2, 3].map((value) => ({ progressToken: 'mine', progress: value, total: 3 })));
    expect(answer.last).toMatchObject({ id: 7, result: text('done') });
  });

  it("carries log messages of the level the session set, with the server's name", async () => {
    using quiet = await RawClient.open(gateway.url);
    await quiet.request('logging/setLevel', { level: 'error' });
    const logs = (await quiet.callTool('a__chatty')).messages.filter(
      ({ method }) => method === 'notifications/message',
    );
    expect(logs.map(({ params }) => params)).toEqual([{ level: 'error', data: 'loud', logger: 'a' }]);
  });

  it("gives the server a progress token of the gateway's own, whether or not the client has sent one", async () => {
    await client.callTool('a__echo', {}, { progressToken: 'mine', 'example.com/kept': 1 });
    const withToken = a.calls.values.at(-1)?.meta;
    expect(withToken?.['progressToken']).not.toBe('mine');
    expect(withToken?.['example.com/kept']).toBe(1);
    await client.callTool('a__echo');
    expect(a.calls.values.at(-1)?.meta['progressToken']).toBeTypeOf('number');
  });

  it("passes a server's error on with its code, its message and its data, to clients of either era", async () => {
    const error = { code: -32_005, message: 'MCP error -32005: not today', data: { until: 'tomorrow' } };
    expect((await client.callTool('a__refuse')).last.error).toEqual(error);
    using modern = new ModernClient(gateway.url, {});
    expect((await modern.call('a__refuse')).last.error).toEqual(error);
  });

  it('gets its own answer although many calls carry the same id', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, number) =>
        client.callTool(number % 2 === 0 ? 'a__echo' : 'a__chatty', { number }, undefined, 1),
      ),
    );
    answers.forEach((answer, number) => {
      expect(answer.last.id).toBe(1);
      expect(answer.last.result).toEqual(text(number % 2 === 0 ? JSON.stringify({ number }) : 'done'));
    });
  });

  it('keeps the type of its id', async () => {
    for (const id of [1, '1', 0, '', 'é', 9_007_199_254_740_991])
      expect((await client.callTool('a__echo', {}, undefined, id)).last.id).toBe(id);
  });

  it('is cancelled only at the server that works on it, and gets no answer', async () => {
    const [beforeA, beforeB] = [a.cancelled.values.length, b.cancelled.values.length];
    const arrived = b.calls.values.length + 1;
    const pending = client.callTool('b__slow', {}, undefined, 'to-cancel');
    const call = (await b.calls.until(arrived)).at(-1) as Call;
    await client.post({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'to-cancel', reason: 'changed my mind' },
    });
    const answer = await pending;
    expect(answer.messages).toEqual([]);
    expect((await b.cancelled.until(beforeB + 1)).at(-1)?.reason).toBe('changed my mind');
    expect(a.cancelled.values.length).toBe(beforeA);
    call.answer(text('too late'));
    expect((await client.callTool('b__echo')).last.result).toEqual(text('{}'));
  });

  it('is not cancelled by a notification with an id of another type, or of several requests', async () => {
    const arrived = a.calls.values.length;
    const calls = [
      client.callTool('a__slow', {}, undefined, 5),
      client.callTool('a__slow', {}, undefined, 6),
      client.callTool('a__slow', {}, undefined, 6),
    ];
    const received = (await a.calls.until(arrived + 3)).slice(arrived);
    for (const requestId of ['5', 6, 7])
      await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    for (const call of received) call.answer(text('finished'));
    for (const answer of await Promise.all(calls)) expect(answer.last.result).toEqual(text('finished'));
  });

  it('is not cancelled when the client goes away', async () => {
    const before = a.cancelled.values.length;
    const arrived = a.calls.values.length + 1;
    const leaving = await RawClient.open(gateway.url);
    const gone = leaving.callTool('a__slow').catch(() => 'gone');
    const call = (await a.calls.until(arrived)).at(-1) as Call;
    leaving[Symbol.dispose]();
    expect(await gone).toBe('gone');
    call.answer(text('nobody reads this'));
    await client.callTool('a__echo');
    expect(a.cancelled.values.length).toBe(before);
  });

  it('that takes longer than its limit is given up, and cancelled at the server', async () => {
    const before = a.cancelled.values.length;
    const answer = await client.callTool('a__impatient');
    expect(answer.last.error).toMatchObject({
      code: -32_603,
      data: { reason: 'upstream.timeout', retry: 'unknown-outcome', server: 'a', limitMs: 300 },
    });
    expect(answer.last.error?.message).toContain('"a__impatient"');
    await a.cancelled.until(before + 1);
  });

  it('goes on as long as it makes progress, but never beyond its maximum', async () => {
    const arrived = a.calls.values.length + 1;
    const pending = client.callTool('a__stubborn', {}, { progressToken: 1 });
    const call = (await a.calls.until(arrived)).at(-1) as Call;
    let progress = 0;
    const ticking = setInterval(() => call.progress((progress += 1)), 100);
    const answer = await pending;
    clearInterval(ticking);
    expect(answer.last.error?.data).toMatchObject({ reason: 'upstream.timeout', limitMs: 2_500 });
    expect(answer.messages.length).toBeGreaterThan(4);
  });

  it('is refused at once when its server has its maximum of running and waiting calls', async () => {
    const arrived = b.calls.values.length;
    const running = [1, 2, 3].map(() => client.callTool('b__slow'));
    await b.calls.until(arrived + 2);
    const refused = await client.callTool('b__slow');
    expect(refused.last.error).toMatchObject({
      code: -32_603,
      data: { reason: 'upstream.busy', retry: 'same', server: 'b' },
    });
    expect((await client.callTool('a__echo')).last.result).toEqual(text('{}'));
    for (const count of [1, 2, 3])
      ((await b.calls.until(arrived + count))[arrived + count - 1] as Call).answer(text('done'));
    for (const answer of await Promise.all(running)) expect(answer.last.result).toEqual(text('done'));
  });

  it('is refused when its session has too many waiting calls', async () => {
    const arrived = a.calls.values.length;
    const running = Array.from({ length: 50 }, () => client.callTool('a__slow'));
    await a.calls.until(arrived + 50);
    expect((await client.callTool('a__echo')).last.error?.data).toMatchObject({ reason: 'session.busy' });
    for (const call of a.calls.values.slice(arrived)) call.answer(text('done'));
    await Promise.all(running);
  });

  it('returns results far larger than one message of the bus', async () => {
    const answer = await client.callTool('a__large', { bytes: 5_000_000 });
    expect((answer.last.result?.['content'] as { text: string }[])[0]?.text.length).toBe(5_000_000);
    const sent = 'y'.repeat(2_000_000);
    expect((await client.callTool('a__echo', { sent })).last.result).toEqual(text(JSON.stringify({ sent })));
  });

  it('whose connection breaks is answered with an error that says the outcome is unknown', async () => {
    expect((await client.callTool('a__vanish')).last.error).toMatchObject({
      code: -32_603,
      data: { reason: 'upstream.lost', retry: 'unknown-outcome', server: 'a' },
    });
    expect((await client.callTool('a__echo')).last.result).toEqual(text('{}'));
  });

  it('is sent again when the server has forgotten its session, because then it was not executed', async () => {
    const arrived = a.calls.values.length;
    a.forgetSessions();
    const answers = await Promise.all([1, 2, 3].map((number) => client.callTool('a__echo', { number })));
    expect(answers.map(({ last }) => last.result)).toEqual([1, 2, 3].map((number) => text(JSON.stringify({ number }))));
    expect(a.calls.values.length).toBe(arrived + 3);
  });
});
