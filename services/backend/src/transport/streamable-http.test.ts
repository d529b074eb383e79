/** The transport with a server that a test plays, on no socket. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Dispatcher } from 'undici';
import { defaultLimits, RepairCounts, type JsonObject, type JsonRpcId, type JsonRpcMessage } from '@omnibus/protocol';
import { ReadingBudget } from './reading-budget.ts';
import { StreamableHttpTransport } from './streamable-http.ts';
import type { RequestFailure } from './transport.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** One request to the server, and the test's answer. */
interface Posted {
  /** Of the standing stream: empty. */
  readonly body: JsonObject;
  /** In which it was sent. */
  readonly session: string | undefined;
  isAborted: boolean;
  /** Begins the answer: a stream of events, or an error. @param type media type. @param session that it names. */
  begin(status: number, type?: string, session?: string): void;
  say(message: JsonObject): void;
  /** Writes an event. @param event its type. */
  write(data: string, event?: string): void;
  /** Writes a part of the body. */
  text(body: string): void;
  end(): void;
}

function connected() {
  const posted: Posted[] = [];
  const failed: (readonly [JsonRpcId, RequestFailure])[] = [];
  const gone: string[] = [];
  const missed: string[] = [];
  const repairs = new RepairCounts();
  const transport = new StreamableHttpTransport(
    {
      url: 'http://127.0.0.1:1/mcp',
      headers: {},
      child: undefined,
      limits: { ...defaultLimits, repairs },
      reading: new ReadingBudget({ maxBytes: 1_000_000, onWait: () => undefined }).share(),
      openTimeoutMs: 1_000,
      dispatcher: {
        dispatch({ body, headers }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
          const given = {
            abort: () => void (each.isAborted = true),
            pause: () => undefined,
            resume: () => undefined,
          } as unknown as Dispatcher.DispatchController;
          const text = (body: string): void => handler.onResponseData?.(given, Buffer.from(body));
          const write = (data: string, event = 'message'): void => text(`event: ${event}\ndata: ${data}\n\n`);
          const each: Posted = {
            body: JSON.parse((body ?? '{}') as string) as JsonObject,
            session: (headers as Record<string, string>)['mcp-session-id'],
            isAborted: false,
            begin: (status, type = 'text/event-stream', session) => {
              const named = session === undefined ? {} : { 'mcp-session-id': session };
              handler.onResponseStart?.(
                given,
                status,
                type === '' ? named : { 'content-type': type, ...named },
                undefined,
              );
            },
            say: (message) => write(JSON.stringify({ jsonrpc: '2.0', ...message })),
            write,
            text,
            end: () => handler.onResponseEnd?.(given, {}),
          };
          handler.onRequestStart?.(given, {});
          posted.push(each);
          return true;
        },
      },
    },
    {
      message: () => undefined,
      requestFailed: (id, failure) => failed.push([id, failure]),
      sessionGone: () => gone.push('session'),
      missed: () => missed.push('missed'),
      lost: (problem) => expect.fail(problem),
      takesAfterText: () => false,
      dropped: () => undefined,
    },
  );
  /** Makes a call in which the server asks something. */
  const call = (id: number): Posted => {
    transport.request({ jsonrpc: '2.0', id, method: 'tools/call', params: {} });
    const answer = posted.at(-1) as Posted;
    answer.begin(200);
    answer.say({ id: `question-${id}`, method: 'elicitation/create', params: {} });
    return answer;
  };
  return { transport, posted, failed, gone, missed, repairs, call };
}

it('an answer that cannot be delivered ends its call, however many questions were dropped before', async () => {
  const { transport, posted, failed, call } = connected();
  for (let id = 1; id <= 150; id += 1) {
    const answer = call(id);
    answer.say({ id, result: {} });
    answer.end();
  }
  call(151);
  const before = posted.length;
  transport.send({ jsonrpc: '2.0', id: 'question-151', result: {} });
  for (let attempt = 0; attempt < 4; attempt += 1) {
    posted[before + attempt]?.begin(500);
    posted[before + attempt]?.end();
    await vi.advanceTimersByTimeAsync(5_000);
  }
  expect(failed).toEqual([
    [151, { kind: 'lost', problem: expect.stringContaining('could not be delivered') as string }],
  ]);
});

/** A server that accepts requests, and answers them on the standing stream. @param accepts whether with an empty stream. */
function deferring(accepts: 'HTTP 202' | 'an empty stream' = 'HTTP 202') {
  const { transport, posted, failed, repairs } = connected();
  transport.listen();
  const stream = posted[0] as Posted;
  stream.begin(200);
  /** @returns the acceptance, which has not come. Its argument writes what the stream brings. */
  const call = (id: number): ((bring?: (post: Posted) => void) => void) => {
    transport.request({ jsonrpc: '2.0', id, method: 'tools/call', params: {} });
    const post = posted.at(-1) as Posted;
    return (bring) => {
      if (accepts === 'HTTP 202') post.begin(202, '');
      else post.begin(200);
      bring?.(post);
      post.end();
    };
  };
  return { stream, failed, repairs, call };
}

it('an answer on the standing stream ends its request, also if it comes before the acceptance', () => {
  const { stream, failed, call } = deferring();
  const [first, second, third] = [call(1), call(2), call(3)];
  stream.say({ id: 1, result: {} });
  first();
  second();
  stream.say({ id: 2, result: {} });
  third();
  stream.end();
  expect(failed).toEqual([[3, { kind: 'lost', problem: expect.any(String) as string }]]);
});

it.each(['before', 'after'])(
  'an answer on the standing stream that cannot be read ends its request at once, %s its acceptance',
  (when) => {
    const { stream, failed, call } = deferring();
    const accept = call(1);
    if (when === 'after') accept();
    stream.write('{"jsonrpc":"2.0","id":1,"result":{"content":[}}');
    if (when === 'before') accept();
    // It answers no request.
    stream.write('{"jsonrpc":"2.0","id":2,"result":{"content":[}}');
    expect(failed).toEqual([[1, { kind: 'invalid', problem: expect.stringContaining('cannot be read') as string }]]);
  },
);

it('an empty stream is a failure after five seconds, unless the server has answered on its standing stream', async () => {
  const { stream, failed, repairs, call } = deferring('an empty stream');
  const counted = (): number | undefined => repairs.rows[0]?.count;
  call(1)();
  await vi.advanceTimersByTimeAsync(4_900);
  expect([failed, counted()]).toEqual([[], undefined]);
  await vi.advanceTimersByTimeAsync(200);
  expect(failed).toEqual([[1, { kind: 'lost', problem: 'the server ended its answer without a result' }]]);
  call(2)();
  stream.say({ id: 2, result: {} });
  expect(counted()).toBe(1);
  call(3)();
  expect(counted()).toBe(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(failed).toHaveLength(1);
});

it('the first answer on the standing stream lifts the five seconds of every other call', async () => {
  const { stream, failed, repairs, call } = deferring('an empty stream');
  call(1)();
  call(2)();
  stream.say({ id: 1, result: {} });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(failed).toEqual([]);
  stream.say({ id: 2, result: {} });
  expect(repairs.rows[0]?.count).toBe(2);
});

it.each<readonly [string, (post: Posted) => void]>([
  ['a notification', (post) => post.say({ method: 'notifications/message', params: { level: 'info', data: 'on it' } })],
  ['a message that cannot be read', (post) => post.write('{"jsonrpc":"2.0","id":99,"result":{"content":[}}')],
  ['an event of another type', (post) => post.write('', 'ping')],
])('a stream that ends after %s is no acceptance: its call fails at once', (_what, bring) => {
  const { failed, call } = deferring('an empty stream');
  call(1)(bring);
  expect(failed).toEqual([[1, { kind: 'lost', problem: 'the server ended its answer without a result' }]]);
});

it.each([
  ['text/html', []],
  ['application/json', []],
  ['text/plain', ['stream-type']],
])(
  'events in the place of the standing stream as %s are read unless that is a page or a JSON text',
  (type, expected) => {
    const { transport, posted, repairs } = connected();
    transport.listen();
    const [stream] = posted as [Posted];
    stream.begin(200, type);
    stream.say({ method: 'notifications/tools/list_changed' });
    stream.end();
    expect(repairs.rows.map(({ repair }) => repair)).toEqual(expected);
  },
);

it('a JSON text in the place of the standing stream is no stream: it is asked for again with growing pauses, and nothing was missed', async () => {
  const { transport, posted, missed } = connected();
  transport.listen();
  const answer = (): void => {
    const stream = posted.at(-1) as Posted;
    stream.begin(200, 'application/json');
    stream.text('{"ok":true}');
    stream.end();
  };
  answer();
  for (const pauseMs of [1_000, 2_000, 4_000, 8_000]) {
    const count = posted.length;
    await vi.advanceTimersByTimeAsync(pauseMs - 100);
    expect(posted.length).toBe(count);
    await vi.advanceTimersByTimeAsync(200);
    expect(posted.length).toBe(count + 1);
    answer();
  }
  expect(missed).toEqual([]);
});

/** A connection after its handshake, in the session `first`; the standing stream is the last that was posted. */
function inSession() {
  const it = connected();
  const { transport, posted } = it;
  const ask = (id: number): Posted => {
    transport.request({ jsonrpc: '2.0', id, method: 'tools/call', params: {} });
    return posted.at(-1) as Posted;
  };
  const answer = (id: number, post: Posted, session: string): void => {
    post.begin(200, 'text/event-stream', session);
    post.say({ id, result: {} });
    post.end();
  };
  answer(0, ask(0), 'first');
  transport.agreed('2025-11-25');
  transport.listen();
  return { ...it, ask, answer };
}

it('the late answer to a notification does not bring back the session in which it was sent', () => {
  const { transport, posted, ask, answer } = inSession();
  transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } });
  const notified = posted.at(-1) as Posted;
  answer(1, ask(1), 'second');
  notified.begin(202, '', 'first');
  notified.end();
  expect(ask(2).session).toBe('second');
});

it('a 404 is judged by the session in which the request was sent', () => {
  const { failed, ask, answer } = inSession();
  const [old, renaming] = [ask(1), ask(2)];
  answer(2, renaming, 'second');
  const present = ask(3);
  for (const post of [old, present]) {
    post.begin(404, '');
    post.end();
  }
  expect(failed).toMatchObject([
    [1, { kind: 'session-gone', hasNewer: true }],
    [3, { kind: 'session-gone', hasNewer: false }],
  ]);
});

it('a 404 to a request that was sent without a session does not mean that it may be sent again', () => {
  const { transport, posted, failed } = connected();
  transport.agreed('2025-11-25');
  const ask = (id: number): Posted => {
    transport.request({ jsonrpc: '2.0', id, method: 'ping', params: {} });
    return posted.at(-1) as Posted;
  };
  const [early, opening] = [ask(1), ask(2)];
  opening.begin(200, 'text/event-stream', 'late');
  early.begin(404, '');
  early.end();
  expect(failed).toMatchObject([[1, { kind: 'refused', httpStatus: 404 }]]);
});

it('a standing stream that is refused in a replaced session opens no new one', async () => {
  const { posted, gone, ask, answer } = inSession();
  const stream = posted.at(-1) as Posted;
  stream.begin(200);
  stream.end();
  const refuse = async (before?: () => void): Promise<void> => {
    const count = posted.length;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(posted.length).toBe(count + 1);
    const again = posted.at(-1) as Posted;
    before?.();
    again.begin(404, '');
    again.end();
  };
  await refuse(() => answer(1, ask(1), 'second'));
  expect(gone).toEqual([]);
  await refuse();
  expect(gone).toEqual(['session']);
});

it('the end of the transport closes the POST of a notification that is never answered, after a while in which it may arrive', async () => {
  const { transport, posted } = connected();
  transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } });
  const [notified] = posted as [Posted];
  await transport.close();
  expect(notified.isAborted).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(notified.isAborted).toBe(true);
});

it.each<readonly [string, JsonRpcMessage, number, string]>([
  ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, 202, ''],
  ['an answer', { jsonrpc: '2.0', id: 'question', result: {} }, 200, 'application/json'],
])(
  'the POST of %s whose response begins and never ends is closed a while later, and one without a response is not',
  (_what, message, status, type) => {
    const { transport, posted } = connected();
    transport.send(message);
    transport.send(message);
    const [begun, silent] = posted as [Posted, Posted];
    begun.begin(status, type);
    vi.advanceTimersByTime(5_000);
    expect(begun.isAborted).toBe(false);
    begun.text(' ');
    vi.advanceTimersByTime(60_000);
    expect([begun.isAborted, silent.isAborted, posted.length]).toEqual([true, false, 2]);
  },
);

it('an answer whose refusal begins and never ends is posted again', () => {
  const { transport, posted } = connected();
  transport.send({ jsonrpc: '2.0', id: 'question', result: {} });
  posted[0]?.begin(503);
  vi.advanceTimersByTime(60_000);
  expect([posted[0]?.isAborted, posted.length]).toEqual([true, 2]);
});

it('a stream that a server does not end after its answer is closed a while later, and one that it ends leaves no timer behind', () => {
  const { failed, call } = connected();
  const [answered, open, ended] = [call(1), call(2), call(3)];
  answered.say({ id: 1, result: {} });
  ended.say({ id: 3, result: {} });
  ended.end();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(5_000);
  expect(answered.isAborted).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect([answered, open, ended].map(({ isAborted }) => isAborted)).toEqual([true, false, false]);
  expect(failed).toEqual([]);
});

it('a POST whose request was answered on the standing stream, and which is not answered itself, is closed a while later', () => {
  const { transport, posted, failed } = connected();
  transport.listen();
  const [stream] = posted as [Posted];
  stream.begin(200);
  transport.request({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} });
  const post = posted.at(-1) as Posted;
  stream.say({ id: 1, result: {} });
  expect(post.isAborted).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect([post.isAborted, stream.isAborted, failed]).toEqual([true, false, []]);
});

it('the DELETE of a session that is never answered is closed a while later', async () => {
  const { transport, posted } = inSession();
  const closed = transport.close();
  const deleted = posted.at(-1) as Posted;
  await vi.advanceTimersByTimeAsync(60_000);
  await closed;
  expect(deleted.isAborted).toBe(true);
});
