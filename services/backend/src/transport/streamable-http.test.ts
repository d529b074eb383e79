/** The transport with a server that a test plays, on no socket. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Dispatcher } from 'undici';
import { defaultLimits, RepairCounts, type JsonObject, type JsonRpcId } from '@omnibus/protocol';
import { ReadingBudget } from './reading-budget.ts';
import { StreamableHttpTransport } from './streamable-http.ts';
import type { RequestFailure } from './transport.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** One request to the server, and the test's answer. */
interface Posted {
  /** Of the standing stream: empty. */
  readonly body: JsonObject;
  /** Begins the answer: a stream of events, or an error. @param type media type. */
  begin(status: number, type?: string): void;
  say(message: JsonObject): void;
  /** Writes an event. */
  write(data: string): void;
  end(): void;
}

function connected() {
  const posted: Posted[] = [];
  const failed: (readonly [JsonRpcId, RequestFailure])[] = [];
  const controller = { abort: () => undefined, pause: () => undefined, resume: () => undefined };
  const transport = new StreamableHttpTransport(
    {
      url: 'http://127.0.0.1:1/mcp',
      headers: {},
      child: undefined,
      limits: { ...defaultLimits, repairs: new RepairCounts() },
      reading: new ReadingBudget({ maxBytes: 1_000_000, onWait: () => undefined }).share(),
      openTimeoutMs: 1_000,
      dispatcher: {
        dispatch({ body }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
          const given = controller as unknown as Dispatcher.DispatchController;
          const write = (data: string): void => handler.onResponseData?.(given, Buffer.from(`data: ${data}\n\n`));
          handler.onRequestStart?.(given, {});
          posted.push({
            body: JSON.parse((body ?? '{}') as string) as JsonObject,
            begin: (status, type = 'text/event-stream') =>
              handler.onResponseStart?.(given, status, type === '' ? {} : { 'content-type': type }, undefined),
            say: (message) => write(JSON.stringify({ jsonrpc: '2.0', ...message })),
            write,
            end: () => handler.onResponseEnd?.(given, {}),
          });
          return true;
        },
      },
    },
    {
      message: () => undefined,
      requestFailed: (id, failure) => failed.push([id, failure]),
      sessionGone: () => undefined,
      missed: () => undefined,
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
  return { transport, posted, failed, call };
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

/** A server that accepts requests with HTTP 202, and answers them on the standing stream. */
function deferring() {
  const { transport, posted, failed } = connected();
  transport.listen();
  const stream = posted[0] as Posted;
  stream.begin(200);
  /** @returns the acceptance, which has not come. */
  const call = (id: number): (() => void) => {
    transport.request({ jsonrpc: '2.0', id, method: 'tools/call', params: {} });
    const post = posted.at(-1) as Posted;
    return () => {
      post.begin(202, '');
      post.end();
    };
  };
  return { stream, failed, call };
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
