import { expect, it } from 'vitest';
import { addEvent, callOf, sentArguments } from './calls.ts';
import type { TapEvent } from './traffic.ts';

let at = 1_000;
const event = (from: TapEvent['from'], what: string, more: object = {}): TapEvent => ({
  tag: 't',
  at: (at += 1),
  process: `${from}-1`,
  from,
  what,
  ...more,
});
const states = (...events: readonly TapEvent[]): readonly unknown[] =>
  events.map((_, index) => callOf(events.slice(0, index + 1)).state);

it('a call is at work, waits for a place, waits for its client, and has ended', () => {
  expect(
    states(
      event('edge', 'arrived', { method: 'tools/call' }),
      event('session', 'routed'),
      event('backend', 'queued'),
      event('backend', 'written'),
      event('backend', 'server-asked'),
      event('session', 'asked'),
      event('session', 'client-answered'),
      event('session', 'settled', { outcome: 'result', ms: 7 }),
      event('edge', 'answered', { ms: 8 }),
    ),
  ).toEqual(['running', 'running', 'queued', 'running', 'running', 'asked', 'running', 'ended', 'ended']);
});

it('a call over several rounds has not ended with the answer that asks its client, and takes as long as all rounds', () => {
  const call = [
    event('edge', 'arrived'),
    event('session', 'routed'),
    event('session', 'asked'),
    event('session', 'parked', { round: 1 }),
    event('edge', 'answered', { ms: 3 }),
    event('session', 'client-answered'),
    event('session', 'continued'),
  ];
  expect(states(...call).slice(3)).toEqual(['asked', 'asked', 'running', 'running']);
  expect(callOf([...call, event('session', 'settled', { outcome: 'result', ms: 900 })])).toMatchObject({
    state: 'ended',
    outcome: 'result',
    ms: 900,
  });
});

it('a call waits for an approval until it is sent, or refused', () => {
  const waits = [event('edge', 'arrived'), event('session', 'approval-asked', { by: 'approvers', server: 'shop' })];
  expect(callOf(waits)).toMatchObject({ state: 'approval', server: 'shop' });
  expect(callOf([...waits, event('session', 'routed')]).state).toBe('running');
  expect(
    callOf([...waits, event('session', 'settled', { outcome: 'fault', reason: 'approval.refused' })]),
  ).toMatchObject({ state: 'ended', reason: 'approval.refused' });
});

it('a list, which no server is asked for, ends with its answer; of a call that ran before only its backend reports', () => {
  expect(states(event('edge', 'arrived', { method: 'tools/list' }), event('edge', 'answered', { ms: 1 }))).toEqual([
    'running',
    'ended',
  ]);
  const standing = event('backend', 'standing', { at: 5, method: 'tools/call', server: 'shop', tool: 'book' });
  expect(callOf([standing])).toMatchObject({ at: 5, state: 'running', server: 'shop', tool: 'book' });
  expect(callOf([standing, event('backend', 'server-answered', { answer: 'tool_error', ms: 90 })])).toMatchObject({
    state: 'ended',
    outcome: 'toolError',
    ms: 90,
  });
});

it('kinds of events of a newer version are left aside', () => {
  expect(
    callOf([event('edge', 'arrived'), event('session', 'routed'), event('backend', 'weighed', { grams: 3 })]),
  ).toMatchObject({ state: 'running' });
});

it('of progress the latest is kept, and the end of a call is kept however much came before it', () => {
  const events: TapEvent[] = [];
  for (let step = 0; step < 50; step += 1)
    addEvent(events, event('backend', 'server-progress', { progress: step, total: 50 }), 3);
  expect(callOf(events).progress).toEqual({ done: 49, total: 50 });
  for (let step = 0; step < 50; step += 1) addEvent(events, event('session', 'asked'), 3);
  addEvent(events, event('session', 'settled', { outcome: 'result' }), 3);
  expect([events.length, callOf(events).state]).toEqual([4, 'ended']);
});

it('the arguments of a call are known only if their values were watched, and none was hidden or cut', () => {
  const routed = (payload?: unknown): readonly TapEvent[] => [
    event('edge', 'arrived'),
    event('session', 'routed', payload === undefined ? {} : { payload }),
  ];
  expect(sentArguments(routed({ q: 'lamps', limit: 3 }))).toBe('{"q":"lamps","limit":3}');
  for (const payload of [
    undefined,
    { key: '•••' },
    { q: 'string(5)' },
    { list: ['number', 'and 3 more'] },
    'cut… (9000 characters)',
  ])
    expect(sentArguments(routed(payload))).toBeUndefined();
});

it('a call that makes calls is known as one, and each of these by its tag', () => {
  const run = [
    event('edge', 'arrived', { method: 'tools/call', name: 'run_code' }),
    event('session', 'run', { name: 'run_code' }),
    event('session', 'settled', { outcome: 'toolError', ms: 7, bytes: 80, calls: 2 }),
    event('edge', 'answered', { ms: 8 }),
  ];
  expect(callOf(run.slice(0, 2))).toMatchObject({ name: 'run_code', runs: true, state: 'running' });
  expect(callOf(run)).toMatchObject({ outcome: 'toolError', bytes: 80, ms: 8, state: 'ended' });
  expect(callOf(run)).not.toHaveProperty('run');
  const inner = { ...event('session', 'routed', { server: 'a', tool: 'b' }), tag: 't-2' };
  expect(callOf([inner])).toMatchObject({ run: 't', state: 'running' });
});
