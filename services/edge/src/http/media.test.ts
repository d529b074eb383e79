import { expect, it } from 'vitest';
import { readAccept } from './media.ts';

it.each([
  [undefined, true, false],
  ['application/json, text/event-stream', true, true],
  ['application/json;q=0, text/event-stream', false, true],
  ['application/json, text/event-stream;q=0.000', true, false],
  ['application/json;q=0.5, text/event-stream;q=0.1', true, true],
  ['*/*', true, true],
  ['*/*, application/json;q=0', false, true],
  ['*/*;q=0, text/*', false, true],
  ['text/*;q=0, text/event-stream', false, true],
  ['application/json; charset=utf-8, Text/Event-Stream; Q=1', true, true],
  ['text/html', false, false],
])('Accept: %s takes JSON: %s, and streams: %s', (header, json, events) => {
  expect(readAccept(header)).toEqual({ json, events });
});
