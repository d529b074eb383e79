/** The transport with a server that a test plays, on no socket. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Dispatcher } from 'undici';
import { defaultLimits, type JsonObject, type JsonRpcId } from '@omnibus/protocol';
import { ReadingBudget } from './reading-budget.ts';
import { StreamableHttpTransport } from './streamable-http.ts';
import type { RequestFailure } from './transport.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** One request to the server, and the test's answer. */
interface Posted {
  readonly body: JsonObject;
  /** Begins the answer: a stream of events, or an error. */
  begin(status: number): void;
  say(message: JsonObject): void;
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
      limits: defaultLimits,
      reading: new ReadingBudget({ maxBytes: 1_000_000, onWait: () => undefined }).share(),
      openTimeoutMs: 1_000,
      dispatcher: {
        dispatch({ body }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
          const given = controller as unknown as Dispatcher.DispatchController;
          handler.onRequestStart?.(given, {});
          posted.push({
            body: JSON.parse(body as string) as JsonObject,
            begin: (status) =>
              handler.onResponseStart?.(given, status, { 'content-type': 'text/event-stream' }, undefined),
            say: (message) =>
              handler.onResponseData?.(
                given,
                Buffer.from(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`),
              ),
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
