import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TapLease, TapReport, WorkerId } from '@omnibus/protocol';
import { payloadOf } from './payload.ts';
import { maxWatches, shownTag, Tap } from './tap.ts';

let said: TapReport[];
let dropped: number;
let tap: Tap;
const lease: TapLease = {
  watch: 'w1',
  to: 'all-1' as WorkerId,
  termMs: 10_000,
  filter: {},
  perSecond: 2,
  payload: 'none',
};
const known = { server: 'github', tool: 'search', client: 'Cursor', session: 'abcdef' };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  said = [];
  dropped = 0;
  const clock = {
    schedule: (delayMs: number, run: () => void) => {
      const timer = setTimeout(run, delayMs);
      return { cancel: () => clearTimeout(timer) };
    },
  };
  tap = new Tap({
    process: 'edge-1' as WorkerId,
    clock,
    say: (_to, report) => said.push(report),
    mayPayloads: () => true,
    metrics: { watches: { set: () => undefined }, dropped: { inc: (count) => (dropped += count) } },
  });
});
afterEach(() => {
  tap.stop();
  vi.useRealTimers();
});

it('nobody is told of anything while nobody watches, and no call is chosen', () => {
  expect(tap.isWatched).toBe(false);
  expect(tap.chooseAny(undefined)).toBeUndefined();
  tap.tell('tag~w1', 'edge', 'arrived');
  vi.advanceTimersByTime(1_000);
  expect(said).toEqual([]);
});

it('more calls than the rate are counted as dropped, and the rest is told together', () => {
  tap.hear(lease);
  const tags = [1, 2, 3, 4, 5].map(() => tap.chooseAny(undefined));
  expect(tags.filter((tag) => tag !== undefined)).toHaveLength(2);
  for (const tag of tags) if (tag !== undefined) tap.tell(tag, 'edge', 'arrived', { method: 'tools/call' });
  vi.advanceTimersByTime(100);
  expect(said).toMatchObject([
    {
      process: 'edge-1',
      watch: 'w1',
      dropped: 3,
      events: [{ what: 'arrived', tag: shownTag(tags[0] as string) }, { what: 'arrived' }],
    },
  ]);
  expect(dropped).toBe(3);
  vi.advanceTimersByTime(1_000);
  expect(tap.chooseAny(undefined)).toBeDefined();
});

it('a watch that is not said again is forgotten after its term, and one that ends at once', () => {
  tap.hear(lease);
  vi.advanceTimersByTime(6_000);
  tap.hear(lease);
  vi.advanceTimersByTime(9_000);
  expect(tap.isWatched).toBe(true);
  vi.advanceTimersByTime(2_000);
  expect(tap.isWatched).toBe(false);
  tap.hear(lease);
  tap.hear({ ...lease, termMs: 0 });
  expect(tap.isWatched).toBe(false);
});

it('where a filter names a server, tool, client or session, routing decides, once for each who watches', () => {
  tap.hear({ ...lease, filter: { server: 'github', client: 'cursor' } });
  tap.hear({ ...lease, watch: 'w2' });
  tap.hear({ ...lease, watch: 'w3', filter: { tool: 'other' } });
  const tag = tap.chooseAny('trace');
  expect(tag).toBe('trace~w2');
  expect(tap.chooseKnown(tag, known)).toBe('trace~w2~w1');
  expect(tap.chooseKnown('trace~w2~w1', known)).toBe('trace~w2~w1');
  expect(tap.chooseKnown(undefined, { ...known, server: 'jira' })).toBeUndefined();
});

it('there are no more watches than the bound, and no more events wait than theirs', () => {
  for (let watch = 0; watch < 20; watch += 1) tap.hear({ ...lease, watch: `x${watch}`, perSecond: 100 });
  const tag = tap.chooseAny('tag') as string;
  expect(tag.split('~')).toHaveLength(1 + maxWatches);
  for (let event = 0; event < 5_000; event += 1) tap.tell('tag~x0', 'edge', 'progress');
  vi.advanceTimersByTime(100);
  expect(said.find(({ watch }) => watch === 'x0')).toMatchObject({ dropped: 4_500, events: { length: 500 } });
});

it('what is shown of arguments is names and types, or values without what looks secret, and little of much', () => {
  const value = {
    query: 'find me',
    apiKey: 'hunter2',
    nested: { list: [1, 2, 3, 4, 5], note: 'Bearer abcdefghijkl', _meta: { x: 1 } },
    picture: 'A'.repeat(5_000),
  };
  expect(payloadOf('shape', value)).toEqual({
    query: 'string(7)',
    apiKey: 'string(7)',
    nested: { list: ['number', 'number', 'number', 'and 2 more'], note: 'string(19)' },
    picture: 'string(5000)',
  });
  expect(payloadOf('redacted', value)).toEqual({
    query: 'find me',
    apiKey: '•••',
    nested: { list: [1, 2, 3, 4, 5], note: '•••' },
    picture: '(5000 characters)',
  });
  expect(
    JSON.stringify(
      payloadOf(
        'redacted',
        Array.from({ length: 10_000 }, () => ({ a: 'some words '.repeat(10) })),
      ),
    ).length,
  ).toBeLessThan(4_000);
});

it('arguments are shown to nobody where one of those who watch a call did not ask for them', () => {
  tap.hear({ ...lease, payload: 'redacted' });
  tap.hear({ ...lease, watch: 'w2' });
  expect(tap.payload('tag~w1', { a: 1 })).toEqual({ payload: { a: 1 } });
  expect(tap.payload('tag~w1~w2', { a: 1 })).toEqual({});
});
