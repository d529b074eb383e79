/** HTTP+SSE with a server that a test plays, on no socket. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Dispatcher } from 'undici';
import { defaultLimits, type JsonRpcRequest } from '@omnibus/protocol';
import { HttpSseTransport } from './http-sse.ts';
import { ReadingBudget } from './reading-budget.ts';
import type { TransportObserver } from './transport.ts';

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
  const dropped: string[] = [];
  const transport = new HttpSseTransport(
    {
      url: 'http://127.0.0.1:1/sse',
      headers: {},
      limits: defaultLimits,
      reading: new ReadingBudget({ maxBytes: 1_000_000, onWait: () => undefined }).share(),
      openTimeoutMs: 1_000,
      dispatcher: {
        dispatch({ path }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
          const controller = {
            abort: () => void (each.isAborted = true),
            pause: () => undefined,
            resume: () => undefined,
          } as unknown as Dispatcher.DispatchController;
          const each: Sent = { path, handler, controller, isAborted: false };
          sent.push(each);
          handler.onRequestStart?.(controller, {});
          return true;
        },
      },
    },
    {
      message: (value: unknown) => heard.push(value),
      requestFailed: (id: unknown) => expect.fail(`the request ${String(id)} failed`),
      lost: (problem: string) => expect.fail(problem),
      dropped: (_kind: string, problem: string) => dropped.push(problem),
    } as unknown as TransportObserver,
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
  return { transport, heard, dropped, event, ask, answer };
}

it('a POST without an end is closed a while after its answer came on the stream', async () => {
  const { heard, ask, answer } = await connected();
  const [hanging, open] = [ask(1), ask(2)];
  answer(1);
  expect(heard).toHaveLength(1);
  expect(hanging.isAborted).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect([hanging.isAborted, open.isAborted]).toEqual([true, false]);
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

it('a later address to post to replaces the one before, unless it is of another origin', async () => {
  const { dropped, event, ask } = await connected();
  event('endpoint', '/second?sid=2');
  expect(ask(1).path).toBe('/second?sid=2');
  event('endpoint', 'http://other.example/third');
  expect(ask(2).path).toBe('/second?sid=2');
  expect(dropped).toEqual([expect.stringContaining('another origin')]);
});
