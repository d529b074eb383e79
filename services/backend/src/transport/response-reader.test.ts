import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { defaultLimits } from '@omnibus/protocol';
import { ReadingBudget } from './reading-budget.ts';
import { ResponseReader, silentObserver, type EndedResponse } from './response-reader.ts';

const mb = 1_024 * 1_024;

/** Feeds a response to the reader, and notes whether the reader has paused it. */
function response(share: ReturnType<ReadingBudget['share']>, mediaType: string) {
  const messages: unknown[] = [];
  const state = { isWaiting: false, isAborted: false };
  const reader = new ResponseReader(
    { ...silentObserver, readsAsEvents: (type) => type === 'text/plain', message: (value) => messages.push(value) },
    defaultLimits,
    share,
  );
  const controller = {
    pause: () => {
      state.isWaiting = true;
    },
    resume: () => {
      state.isWaiting = false;
    },
    abort: () => {
      state.isAborted = true;
    },
  } as unknown as Dispatcher.DispatchController;
  reader.onRequestStart(controller);
  reader.onResponseStart(controller, 200, { 'content-type': mediaType });
  return {
    messages,
    state,
    reader,
    controller,
    feed: (text: string) => reader.onResponseData(controller, Buffer.from(text)),
    end: () => reader.onResponseEnd(),
  };
}

describe.each([
  ['application/json', '', ''],
  ['text/event-stream', 'data: ', '\n\n'],
])('a large answer as %s', (mediaType, before, after) => {
  it('waits while another of its server is read, and is read to its end afterwards', async () => {
    const share = new ReadingBudget({ maxBytes: mb, onWait: () => undefined }).share();
    const [first, second] = [response(share, mediaType), response(share, mediaType)];
    const half = 'x'.repeat(mb);
    for (const each of [first, second]) each.feed(`${before}{"jsonrpc":"2.0","id":1,"result":{"text":"${half}`);
    expect([first.state.isWaiting, second.state.isWaiting]).toEqual([false, true]);
    first.feed(`"}}${after}`);
    first.end();
    await expect.poll(() => second.state.isWaiting).toBe(false);
    second.feed(`"}}${after}`);
    second.end();
    for (const { messages } of [first, second])
      expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, result: { text: half } }]);
  });

  it('that is abandoned while it waits leaves its room to others', async () => {
    const share = new ReadingBudget({ maxBytes: mb, onWait: () => undefined }).share();
    const [first, second, third] = [response(share, mediaType), response(share, mediaType), response(share, mediaType)];
    for (const each of [first, second, third]) each.feed(`${before}{"a":"${'x'.repeat(mb)}`);
    expect([first.state.isWaiting, second.state.isWaiting, third.state.isWaiting]).toEqual([false, true, true]);
    second.reader.abort();
    first.reader.abort();
    await expect.poll(() => third.state.isWaiting).toBe(false);
  });
});

it('a body of another type that may be events is read no further after 64 KiB without one, and takes no room', () => {
  const budget = new ReadingBudget({ maxBytes: mb, onWait: () => undefined });
  const share = budget.share();
  const [text, events] = [response(share, 'text/plain'), response(share, 'text/plain')];
  const feedLines = ({ feed }: typeof text): void => {
    for (let kib = 0; kib < 65; kib += 1) feed(`${'x'.repeat(1_023)}\n`);
  };
  feedLines(text);
  expect([text.state.isAborted, budget.bytes]).toEqual([true, 0]);
  events.feed('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
  feedLines(events);
  expect(events.state.isAborted).toBe(false);
});

it.each([
  ['begins with a large message', `data: {"text":"${'x'.repeat(100_000)}`, '"}\n\n', [{ text: 'x'.repeat(100_000) }]],
  ['has comments alone for a long time', ': nothing yet\n\n'.repeat(10_000), 'data: {}\n\n', [{}]],
])('a body of another type that %s is a stream of events', (_what, beginning, rest, expected) => {
  const share = new ReadingBudget({ maxBytes: mb, onWait: () => undefined }).share();
  const { messages, state, feed } = response(share, 'text/plain');
  for (let at = 0; at < beginning.length; at += 16_384) feed(beginning.slice(at, at + 16_384));
  feed(rest);
  expect([state.isAborted, messages]).toEqual([false, expected]);
});

it.each(
  [
    [': ping\n\n'],
    [': ping\r\n\r\n'],
    [':\n'.repeat(5)],
    ['id: 7\n\n'],
    [': ping\n', '\n'],
    [': ', 'ping', '\n'],
    ['id: 7\n', '\n'],
    ['id: 7\r\n', '\r\n'],
    ['id: 7\r', '\n', '\r', '\n'],
    ['id: 7\r', '\r'],
    ['id: 7\r', '\r\n'],
    ['id: 7\n\r'],
  ].map((texts) => [texts]),
)(
  'however often a quiet stream says %j, it takes no room from large answers, and a large message of it does',
  (texts) => {
    const budget = new ReadingBudget({ maxBytes: mb, onWait: () => undefined });
    const { feed } = response(budget.share(), 'text/event-stream');
    feed('retry: 3000\n');
    for (let bytes = 0; bytes < 70_000; bytes += texts.join('').length) for (const text of texts) feed(text);
    expect(budget.bytes).toBe(0);
    feed(`data: ${'x'.repeat(200_000)}`);
    expect(budget.bytes).toBeGreaterThan(100_000);
  },
);

it('parts of a line that look like comments count', () => {
  const budget = new ReadingBudget({ maxBytes: mb, onWait: () => undefined });
  const { feed } = response(budget.share(), 'text/event-stream');
  for (let count = 0; count < 20; count += 1) {
    feed(`data: ${'x'.repeat(1_024)}`);
    feed(`:${'x'.repeat(10_000)}\n`);
  }
  expect(budget.bytes).toBeGreaterThan(100_000);
});

/** Feeds an event to a reader with a bound. @returns the problems of the server and its messages. */
function readEvent(chunks: readonly string[], maxUpstreamMessageBytes: number) {
  const share = new ReadingBudget({ maxBytes: mb, onWait: () => undefined }).share();
  const read: { readonly invalid: string[]; readonly messages: unknown[] } = { invalid: [], messages: [] };
  const reader = new ResponseReader(
    {
      ...silentObserver,
      invalid: (problem) => read.invalid.push(problem),
      message: (value) => read.messages.push(value),
    },
    { ...defaultLimits, maxUpstreamMessageBytes },
    share,
  );
  const controller = { abort: () => undefined, pause: () => undefined } as unknown as Dispatcher.DispatchController;
  reader.onRequestStart(controller);
  reader.onResponseStart(controller, 200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunks) reader.onResponseData(controller, Buffer.from(chunk));
  return read;
}

it.each([
  [0, '\n', 1_450],
  [0, '\r\n', 1_430],
  [0, '\r', 1_450],
  [1_000, '\n', 94],
])('lines of an event with %i characters that end with %j count, each with 64 bytes more', (length, end, count) => {
  const lines = Array.from({ length: count }, () => `data:${'x'.repeat(length)}${end}`);
  expect(readEvent(lines, 100_000).invalid).toEqual([
    'it sent an event larger than 100000 bytes (each line counts 64 more)',
  ]);
  expect(readEvent(lines.slice(0, -30), 100_000).invalid).toEqual([]);
});

it('an event of twenty thousand short lines is read within a bound of 2 MiB', () => {
  const value = { numbers: Array.from({ length: 20_000 }, (_, number) => number) };
  const lines = JSON.stringify(value, null, 1).split('\n');
  const chunks = [...lines.map((line) => `data: ${line}\n`), '\n'];
  expect(readEvent(chunks, 2 * mb)).toEqual({ invalid: [], messages: [value] });
});

it.each([
  [429, '1', 1_000],
  [503, '120', 120_000],
  [429, 'Thu, 01 Jan 1970 00:00:00 GMT', 0],
  [429, '999999999', 24 * 60 * 60_000],
  [429, 'soon', undefined],
  [500, '1', undefined],
])('of a refusal with HTTP %i and Retry-After %j, the time to wait is %s ms', (status, said, expected) => {
  let ended: EndedResponse | undefined;
  const share = new ReadingBudget({ maxBytes: mb, onWait: () => undefined }).share();
  const reader = new ResponseReader(
    { ...silentObserver, ended: (response) => (ended = response) },
    defaultLimits,
    share,
  );
  const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
  reader.onRequestStart(controller);
  reader.onResponseStart(controller, status, { 'retry-after': said });
  reader.onResponseEnd();
  expect([ended?.status, ended?.retryAfterMs]).toEqual([status, expected]);
});

it.each([
  ['application/json', ''],
  ['text/event-stream', 'data: '],
])('an answer as %s that comes byte by byte is read', (mediaType, before) => {
  const share = new ReadingBudget({ maxBytes: mb, onWait: () => undefined }).share();
  const { messages, reader, controller, end } = response(share, mediaType);
  const result = { text: 'ä'.repeat(3_000), lines: 'a\r\n' };
  const bytes = Buffer.from(`${before}${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\r\n\r\n`);
  for (const byte of bytes) reader.onResponseData(controller, Buffer.from([byte]));
  end();
  expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, result }]);
});
