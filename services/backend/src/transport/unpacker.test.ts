/** Answers that come packed. */
import { brotliCompressSync, createGzip, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { defaultLimits, RepairCounts, type SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest } from '../adapter-under-test.ts';
import { ReadingBudget } from './reading-budget.ts';
import { ResponseReader, silentObserver, type EndedResponse } from './response-reader.ts';

const session = 'session one' as unknown as SessionKey;
const mb = 1_024 * 1_024;

/** A response that a test feeds. */
function response(coding: string, mediaType = 'application/json', { status = 200, maxBytes = 8 * mb } = {}) {
  const repairs = new RepairCounts();
  const messages: unknown[] = [];
  const over = Promise.withResolvers<{ readonly problem?: string; readonly ended?: EndedResponse }>();
  const share = new ReadingBudget({ maxBytes: 64 * mb, onWait: () => undefined }).share();
  let problem: string | undefined;
  const reader = new ResponseReader(
    {
      ...silentObserver,
      message: (value) => messages.push(value),
      invalid: (said) => {
        problem = said;
      },
      ended: (ended) => over.resolve({ ended }),
      failed: (error) => over.resolve({ problem: problem ?? error.message }),
    },
    { ...defaultLimits, maxUpstreamMessageBytes: maxBytes, repairs },
    share,
  );
  const controller = {
    pause: () => undefined,
    resume: () => undefined,
    abort: () => undefined,
  } as unknown as Dispatcher.DispatchController;
  reader.onRequestStart(controller);
  reader.onResponseStart(controller, status, { 'content-type': mediaType, 'content-encoding': coding });
  return {
    messages,
    repairs,
    over: over.promise,
    feed: (chunk: Buffer) => reader.onResponseData(controller, chunk),
    end: () => reader.onResponseEnd(),
    fail: () => reader.onResponseError(controller, new Error('reset')),
  };
}

const answer = { jsonrpc: '2.0', id: 1, result: { text: 'ä'.repeat(1_000) } };

describe.each([
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
] as const)('an answer packed with %s', (coding, pack) => {
  it('is read, byte by byte', async () => {
    const { messages, over, feed, end } = response(coding);
    for (const byte of pack(JSON.stringify(answer))) feed(Buffer.of(byte));
    end();
    expect((await over).ended).toMatchObject({ status: 200 });
    expect(messages).toEqual([answer]);
  });

  it('that unpacks to more than a message may have, or to a thousand times its size, is not read to its end', async () => {
    const [large, bomb] = [response(coding, 'application/json', { maxBytes: 1_000 }), response(coding)];
    large.feed(pack(JSON.stringify(answer)));
    large.end();
    expect((await large.over).problem).toBe('its answer is larger than 1000 bytes');
    bomb.feed(pack(Buffer.alloc(16 * mb)));
    bomb.end();
    expect((await bomb.over).problem).toMatch(/^its answer unpacks to more than 250 times its size$|is larger than/);
    expect(bomb.messages).toEqual([]);
  });
});

it('comments in a packed stream that unpack to a thousand times their size end it, although none is a message', async () => {
  const { over, feed } = response('gzip', 'text/event-stream', { maxBytes: 256 * mb });
  feed(gzipSync(Buffer.alloc(16 * mb, ':\n')));
  expect((await over).problem).toBe('its answer unpacks to more than 250 times its size');
});

it('events of a packed stream are heard before its end, and those that came before it broke too', async () => {
  const gzip = createGzip();
  const { messages, over, feed, fail } = response('gzip', 'text/event-stream');
  gzip.on('data', feed);
  for (const [index, message] of [answer, { ...answer, id: 2 }].entries()) {
    gzip.write(`data: ${JSON.stringify(message)}\n\n`);
    await new Promise<void>((resolve) => gzip.flush(resolve));
    if (index === 0) await expect.poll(() => messages.length).toBe(1);
  }
  fail();
  expect(await over).toEqual({ problem: 'reset' });
  expect(messages).toHaveLength(2);
});

it('a body that is not packed as it says, or packed in a way that was not asked for, is refused with the reason', async () => {
  const broken = response('gzip');
  broken.feed(Buffer.from('{"jsonrpc":"2.0"}'));
  expect((await broken.over).problem).toBe('its answer is not packed as it says (gzip)');
  expect((await response('zstd').over).problem).toContain('did not ask for');
});

it.each(['utf-8', 'UTF8', 'none', 'binary', 'iso-8859-1'])(
  'a Content-Encoding of %s, which packs nothing, is read as none and counted',
  async (coding) => {
    const { messages, repairs, over, feed, end } = response(coding);
    feed(Buffer.from(JSON.stringify(answer)));
    end();
    expect((await over).ended).toMatchObject({ status: 200 });
    expect(messages).toEqual([answer]);
    expect(repairs.rows.map(({ repair }) => repair)).toEqual(['no-packing']);
  },
);

it('the body of a packed refusal is read', async () => {
  const refusal = response('br', 'application/json', { status: 400 });
  refusal.feed(brotliCompressSync('{"error":"no"}'));
  refusal.end();
  expect((await refusal.over).ended).toMatchObject({ status: 400, errorBody: '{"error":"no"}' });
});

it('a server is told that answers may be packed, and is used if they are', async () => {
  const asked = new Set<string | undefined>();
  await using it = await AdapterUnderTest.start({
    says: ({ id, method }, answering, request) => {
      asked.add(request.headers['accept-encoding'] as string | undefined);
      if (id === undefined || method !== 'tools/call') return undefined;
      answering
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br' })
        .end(brotliCompressSync(JSON.stringify({ ...answer, id })));
      return 'silence';
    },
  });
  await it.adapter.firstAttempt;
  expect(await it.call(session, 'tools/call', { name: 'act' })).toMatchObject({
    kind: 'result',
    result: answer.result,
  });
  expect([...asked]).toEqual(['gzip, br']);
});
