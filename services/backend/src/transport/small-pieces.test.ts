/** What a server sends in small pieces takes about as much memory as it has bytes. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Dispatcher } from 'undici';
import { expect, it } from 'vitest';
import { defaultLimits } from '@omnibus/protocol';
import { exchange } from '../features/openapi/exchange.ts';
import { Lines } from './lines.ts';
import { ReadingBudget } from './reading-budget.ts';
import { ResponseReader, silentObserver } from './response-reader.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const nothing = (): void => undefined;
const controller: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => expect.fail('it is within its bounds'),
  pause: nothing,
  resume: nothing,
};
const share = () => new ReadingBudget({ maxBytes: 64 * 1_024 * 1_024, onWait: nothing }).share();

/** Takes the pieces. */
type Feed = (piece: Buffer) => void;

function response(mediaType: string): Feed {
  const reader = new ResponseReader(silentObserver, defaultLimits, share());
  reader.onRequestStart(controller);
  reader.onResponseStart(controller, 200, { 'content-type': mediaType });
  return (piece) => reader.onResponseData(controller, piece);
}

function answerOfApi(): Feed {
  let feed: Feed = nothing;
  exchange({
    dispatcher: {
      dispatch: (_options, handler) => {
        handler.onRequestStart?.(controller, {});
        handler.onResponseStart?.(controller, 200, {}, '');
        feed = (piece) => handler.onResponseData?.(controller, piece);
        return true;
      },
    },
    origin: 'http://127.0.0.1:1',
    path: '/',
    method: 'GET',
    headers: {},
    maxBytes: defaultLimits.maxUpstreamMessageBytes,
    reading: share(),
  });
  return feed;
}

function lineOfProgram(): Feed {
  const lines = new Lines({
    maxBytes: defaultLimits.maxUpstreamMessageBytes,
    line: nothing,
    tooLong: () => expect.fail('it is within its bound'),
  });
  return (piece) => lines.read(piece);
}

/** So many that whatever else the process allocates meanwhile is little beside their bytes. */
const count = 300_000;

it.each<readonly [string, string, () => Feed]>([
  ['a JSON body', '{"text":"', () => response('application/json')],
  ['an event', 'data: {"text":"', () => response('text/event-stream')],
  ['a line of a program', '{"text":"', lineOfProgram],
  ['an answer of an API', '{"text":"', answerOfApi],
])('%s that comes three bytes at a time takes about as much memory as it has bytes', (_what, beginning, open) => {
  const used = (): number => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const feed = open();
  feed(Buffer.from(beginning));
  const before = used();
  for (let each = 0; each < count; each += 1) feed(Buffer.from('xyz'));
  expect(used() - before).toBeLessThan(5 * 3 * count);
  feed(Buffer.from('xyz'));
});

it('the beginning of an event does not hold a large one before it', () => {
  const heapUsed = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const feed = response('text/event-stream');
  const beginning = 'data: {"text":"the beginning of an event';
  const event = (before: string, after: string): void => {
    feed(Buffer.from(before));
    for (let each = 0; each < 64; each += 1) feed(Buffer.from('x'.repeat(64_000)));
    feed(Buffer.from(`"}\n\n${after}`));
  };
  event(beginning, '');
  const before = heapUsed();
  event(beginning, beginning);
  expect(heapUsed() - before).toBeLessThan(32 * 64_000);
  event('', '');
});
