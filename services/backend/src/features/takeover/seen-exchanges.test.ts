import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  newRequestKey,
  newWorkerId,
  exchangeOf,
  type AttachReply,
  type ExchangeContext,
  type ExchangeId,
  type ExchangeOutcome,
  type Principal,
} from '@omnibus/protocol';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { keepMs, markMs, SeenExchanges, type TakenCall } from './seen-exchanges.ts';

const [first, second, third] = [newWorkerId('session'), newWorkerId('session'), newWorkerId('session')];
let wheel: DeadlineWheel;
let seen: SeenExchanges;

beforeEach(() => {
  vi.useFakeTimers();
  wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  seen = new SeenExchanges(wheel, { maxKeptAnswerBytes: 1_000, maxKeptAnswerBytesPerCaller: 600 });
});

afterEach(() => {
  seen.stop();
  vi.useRealTimers();
});

interface Begun {
  readonly exchange: ExchangeId;
  readonly call: TakenCall;
  readonly heard: unknown[];
  readonly asks: () => number;
  readonly end: (outcome: ExchangeOutcome | undefined, isSent?: boolean) => void;
}

function begin(principal = 'anyone'): Begun {
  const exchange = exchangeOf(newRequestKey(), 1);
  const heard: unknown[] = [];
  let asks = 0;
  const call: TakenCall = {
    command: { exchange, context: { principal: principal as Principal } as ExchangeContext },
    owner: first,
    reply: (event) => void heard.push(event),
  };
  const running = seen.begin(call, () => {
    asks += 1;
  });
  return {
    exchange,
    call,
    heard,
    asks: () => asks,
    end: (outcome, isSent = true) => seen.end(running, outcome, isSent),
  };
}

const resultOf = (text: string): ExchangeOutcome => ({ kind: 'result', result: { text } });

function attach(exchange: ExchangeId, { owner = second, takes = false, ageMs = 0, turn = 1 } = {}): AttachReply[] {
  const replies: AttachReply[] = [];
  seen.attach({ exchange, owner, takes, ageMs, turn }, (reply) => void replies.push(reply));
  return replies;
}
const stateOf = (...asked: Parameters<typeof attach>): unknown =>
  attach(...asked).map((reply) => (reply.kind === 'seen' ? reply.state : reply));

it('a running call gets another owner, which hears what follows and is asked open questions again', () => {
  const { exchange, call, heard, asks } = begin();
  expect([stateOf(exchange), call.owner]).toEqual([['running'], first]);
  const replies = attach(exchange, { takes: true });
  expect([call.owner, asks()]).toEqual([second, 1]);
  call.reply({ kind: 'alive' });
  expect([replies, heard]).toEqual([[{ kind: 'alive' }], []]);
  attach(exchange, { owner: third, turn: 2, takes: true });
  expect([attach(exchange, { takes: true }), call.owner]).toEqual([[{ kind: 'seen', state: 'unknown' }], third]);
});

it('an answer is kept for ten seconds, given as often as it is asked for, and then is only known to have been', async () => {
  const { exchange, end } = begin();
  end(resultOf('late'));
  expect([stateOf(exchange), stateOf(exchange, { takes: true }), stateOf(exchange, { takes: true })]).toEqual([
    ['answered'],
    [resultOf('late')],
    [resultOf('late')],
  ]);
  await vi.advanceTimersByTimeAsync(2 * keepMs + 100);
  expect([stateOf(exchange), stateOf(exchange, { takes: true }), seen.bytes]).toEqual([['unknown'], ['unknown'], 0]);
  await vi.advanceTimersByTimeAsync(markMs + keepMs);
  // What is older than the oldest mark that was dropped may have been here.
  expect([stateOf(exchange, { ageMs: 3 * markMs }), stateOf(exchange, { ageMs: 1 })]).toEqual([['unknown'], ['never']]);
});

it('a call that was not sent to its server, and one that never came, may begin elsewhere, and then not here for its former owner', () => {
  const { exchange, end } = begin();
  end({ kind: 'fault', fault: { reason: 'gateway.interrupted', message: 'its owner is gone' } }, false);
  expect(stateOf(exchange)).toEqual(['never']);
  const other = exchangeOf(newRequestKey(), 'one');
  expect(seen.isFenced({ exchange: other, owner: first })).toBe(false);
  expect(stateOf(other)).toEqual(['never']);
  const isFenced = (owner = first): boolean =>
    seen.isFenced({ exchange: other, owner, turn: [first, second, third].indexOf(owner) });
  expect([isFenced(), isFenced(second), seen.isFenced({ exchange, owner: first })]).toEqual([true, false, true]);
  // A third owner takes the place of the second.
  expect(stateOf(other, { owner: third, turn: 2 })).toEqual(['never']);
  expect([isFenced(second), isFenced(third)]).toEqual([true, false]);
  // The second one asks late: it is not the owner any more.
  expect(stateOf(other)).toEqual(['unknown']);
  expect([isFenced(second), isFenced(third)]).toEqual([true, false]);
});

it('a call that its owner sends again, since it never came, does not begin by the first message, which may still arrive', () => {
  const exchange = exchangeOf(newRequestKey(), 1);
  seen.attach({ exchange, owner: first, ageMs: 0, turn: 0, takes: true, sendings: 2 }, () => undefined);
  const isFenced = (sending?: number): boolean =>
    seen.isFenced({ exchange, owner: first, ...(sending === undefined ? {} : { sending }) });
  expect([isFenced(), isFenced(2), isFenced(3)]).toEqual([true, true, false]);
});

it('a call that came to its owner again does not begin by the first copy of its request, though that is of the same owner', () => {
  const exchange = exchangeOf(newRequestKey(), 1);
  const ask = (turn: number): void =>
    seen.attach({ exchange, owner: first, ageMs: 0, turn, takes: false }, () => undefined);
  const isFenced = (turn?: number): boolean =>
    seen.isFenced({ exchange, owner: first, ...(turn === undefined ? {} : { turn }) });
  ask(1);
  expect([isFenced(), isFenced(1)]).toEqual([true, false]);
  // Another worker had it meanwhile.
  ask(3);
  expect([isFenced(1), isFenced(3)]).toEqual([true, false]);
});

it('a fence stands for as long as NATS may hold messages for a worker that is frozen', async () => {
  const exchange = exchangeOf(newRequestKey(), 1);
  stateOf(exchange);
  await vi.advanceTimersByTimeAsync(6 * 60_000);
  expect(seen.isFenced({ exchange, owner: first })).toBe(true);
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(seen.isFenced({ exchange, owner: first })).toBe(false);
});

it('a cancelled call stays cancelled', () => {
  const { exchange, end } = begin();
  end(undefined);
  expect([stateOf(exchange), stateOf(exchange, { takes: true })]).toEqual([['cancelled'], ['cancelled']]);
});

it('answers of one caller do not take the place of those of another, and the oldest give way', () => {
  const answered = (principal: string, length: number): ExchangeId => {
    const { exchange, end } = begin(principal);
    end(resultOf('x'.repeat(length)));
    return exchange;
  };
  const [one, two] = [answered('greedy', 400), answered('greedy', 400)];
  // The caller has 600 bytes: the second answer is not kept.
  expect([stateOf(one), stateOf(two)]).toEqual([['answered'], ['unknown']]);
  const other = answered('modest', 400);
  expect([stateOf(one), stateOf(other)]).toEqual([['answered'], ['answered']]);
  const last = answered('third', 400);
  expect([stateOf(one), stateOf(other), stateOf(last)]).toEqual([['unknown'], ['answered'], ['answered']]);
  expect(seen.bytes).toBeLessThanOrEqual(1_000);
});

it('an answer that is larger than what there is room for is not kept, and no other one gives way to it', () => {
  const [small, large] = [begin('one'), begin('two')];
  small.end(resultOf('x'));
  large.end(resultOf('x'.repeat(700)));
  expect([stateOf(small.exchange), stateOf(large.exchange)]).toEqual([['answered'], ['unknown']]);
});

it('of more calls than it can remember, the oldest may have been here', () => {
  const { exchange, end } = begin();
  end(resultOf('first'));
  for (let index = 0; index < 50_001; index += 1) begin(`caller ${index % 7}`).end(resultOf(''));
  expect([stateOf(exchange, { ageMs: 60_000 }), stateOf(exchangeOf(newRequestKey(), 1), { ageMs: 60_000 })]).toEqual([
    ['unknown'],
    ['unknown'],
  ]);
});
