/** HTTP+SSE with a server that a test plays, on no socket. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Dispatcher } from 'undici';
import { defaultLimits, type JsonRpcRequest } from '@omnibus/protocol';
import { HttpSseTransport } from './http-sse.ts';
import { ReadingBudget } from './reading-budget.ts';
import type { DropKind } from './transport.ts';
import { silentTransport } from './transport-under-test.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

interface Sent {
  readonly path: string;
  readonly handler: Dispatcher.DispatchHandler;
  readonly controller: Dispatcher.DispatchController;
  isAborted: boolean;
}

async function connected() {
  const sent: Sent[] = [];
  const heard: unknown[] = [];
  const dropped: (readonly [DropKind, string])[] = [];
  const failed: unknown[] = [];
  const transport = new HttpSseTransport(
    {
      url: 'http://127.0.0.1:1/sse',
      headers: {},
      limits: defaultLimits,
      reading: new ReadingBudget({ maxBytes: 1_000_000, onWait: () => undefined }).share(),
      openTimeoutMs: 1_000,
      dispatcher: {
        dispatch({ path }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
          const controller: Dispatcher.DispatchController = {
            aborted: false,
            paused: false,
            reason: null,
            abort: () => void (each.isAborted = true),
            pause: () => undefined,
            resume: () => undefined,
          };
          const each: Sent = { path, handler, controller, isAborted: false };
          sent.push(each);
          handler.onRequestStart?.(controller, {});
          return true;
        },
      },
    },
    {
      ...silentTransport,
      message: (value) => heard.push(value),
      requestFailed: (id) => failed.push(id),
      lost: (problem) => expect.fail(problem),
      dropped: (kind, problem) => dropped.push([kind, problem]),
    },
  );
  const opening = transport.open();
  const [stream] = sent as [Sent];
  stream.handler.onResponseStart?.(stream.controller, 200, { 'content-type': 'text/event-stream' }, undefined);
  const event = (name: string, data: string): void =>
    stream.handler.onResponseData?.(stream.controller, Buffer.from(`event: ${name}\ndata: ${data}\n\n`));
  event('endpoint', '/first');
  await opening;
  const ask = (id: number): Sent => {
    transport.request({ jsonrpc: '2.0', id, method: 'tools/list' } satisfies JsonRpcRequest);
    return sent.at(-1) as Sent;
  };
  const answer = (id: number): void => event('message', JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
  const notify = (): Sent => {
    transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } });
    return sent.at(-1) as Sent;
  };
  return { transport, heard, failed, dropped, event, ask, answer, notify };
}

it('a POST without an end is closed a while after its answer came on the stream', async () => {
  const { heard, failed, ask, answer } = await connected();
  const [hanging, open] = [ask(1), ask(2)];
  answer(1);
  expect(heard).toHaveLength(1);
  expect(hanging.isAborted).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect([hanging.isAborted, open.isAborted, failed]).toEqual([true, false, []]);
});

it('a POST without an end is closed a while after an answer on the stream that cannot be read', async () => {
  const { failed, event, ask } = await connected();
  const hanging = ask(1);
  event('message', '{"jsonrpc":"2.0","id":1,"result":{"content":[}}');
  expect([failed, hanging.isAborted]).toEqual([[1], false]);
  vi.advanceTimersByTime(60_000);
  expect(hanging.isAborted).toBe(true);
});

it('a POST that ends is left alone, and leaves no timer behind', async () => {
  const { ask, answer } = await connected();
  const { handler, controller } = ask(1);
  answer(1);
  handler.onResponseStart?.(controller, 202, {}, undefined);
  handler.onResponseEnd?.(controller, {});
  expect(vi.getTimerCount()).toBe(0);
});

it('the end of the transport closes each open POST', async () => {
  const { transport, ask, answer } = await connected();
  const posts = [ask(1), ask(2)];
  answer(1);
  await transport.close();
  expect(posts.map(({ isAborted }) => isAborted)).toEqual([true, true]);
  expect(vi.getTimerCount()).toBe(0);
});

it('the end of the transport closes the POST of a notification that is never answered, after a while in which it may arrive', async () => {
  const { transport, notify } = await connected();
  const [hanging, answered] = [notify(), notify()];
  answered.handler.onResponseStart?.(answered.controller, 202, {}, undefined);
  answered.handler.onResponseEnd?.(answered.controller, {});
  await transport.close();
  expect(hanging.isAborted).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect([hanging.isAborted, answered.isAborted]).toEqual([true, false]);
});

it('a later address to post to replaces the one before, unless it is of another origin', async () => {
  const { dropped, event, ask } = await connected();
  event('endpoint', '/second?sid=2');
  expect(ask(1).path).toBe('/second?sid=2');
  event('endpoint', 'http://other.example/third');
  expect(ask(2).path).toBe('/second?sid=2');
  expect(dropped).toEqual([['refusal', expect.stringContaining('another origin')]]);
});
