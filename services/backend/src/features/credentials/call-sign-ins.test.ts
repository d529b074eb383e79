/** Calls that wait until their user has signed in. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault,
  newRequestKey,
  parseServerName,
  type ExchangeEvent,
  type ExchangeId,
  type ExchangeOutcome,
  type InputKey,
  type Principal,
  type SessionKey,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Call } from '../../call/call.ts';
import { CallSignIns } from './call-sign-ins.ts';
import { QuestionRelay } from '../../call/question-relay.ts';
import { SchemaChecks } from '../schemas/schema-checks.ts';
import type { SignInAnswer } from './sign-in-answer.ts';

const server = parseServerName('one');
const [ann, ben] = ['p_ann', 'p_ben'] as readonly string[] as readonly [Principal, Principal];
const refused: ExchangeOutcome = { kind: 'fault', fault: fault('upstream.unavailable') };
const outcomeOf = (text: string): ExchangeOutcome => ({ kind: 'result', result: { text } });
const wait = (more: object = {}): SignInAnswer => ({
  kind: 'wait',
  params: undefined,
  message: 'sign in at x',
  otherwise: outcomeOf('the address'),
  declined: outcomeOf('declined'),
  isCodeWanted: () => Promise.resolve(false),
  ...more,
});
const url = { mode: 'url', elicitationId: 'e', url: 'https://gateway.example/connect/x', message: 'sign in' };

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function open() {
  const bus = new MemoryBus((problem) => expect.fail(problem.what));
  const wheel = new DeadlineWheel({ now: () => Date.now(), onFault: (error) => expect.fail(String(error)) });
  const metrics = new Metrics({ processMetrics: false });
  const schemas = new SchemaChecks({
    mode: 'off',
    server,
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: metrics.upstream,
    prompt: () => undefined,
  });
  const questions = new QuestionRelay({ bus, server, wheel });
  questions.join([schemas]);
  const state = { answer: wait(), wanted: new Set([ann, ben]) };
  const [isOpen, made, ended, reports] = [
    new Set<Call>(),
    [] as Call[],
    new Map<Call, ExchangeOutcome>(),
    [] as string[],
  ];
  const signIns = new CallSignIns({
    signIn: {
      ask: ({ context: { principal } }) => (state.wanted.has(principal) ? Promise.resolve(state.answer) : undefined),
      isWanted: (principal) => state.wanted.has(principal),
      refusal: () => undefined,
    },
    wheel,
    questions,
  });
  signIns.join({
    isOpen: (call) => isOpen.has(call),
    again: (call) => made.push(call),
    end(call, outcome) {
      isOpen.delete(call);
      ended.set(call, outcome);
    },
    failed: (call) => ended.set(call, outcomeOf('failed')),
    report: (_call, message, step) => reports.push(`${message} ${step > 0 && step < 1e-3}`),
  });
  const begin = async (
    principal = ann,
  ): Promise<{
    readonly call: Call;
    readonly events: ExchangeEvent[];
    readonly answer: (action: string) => void;
    readonly left: () => boolean;
  }> => {
    const events: ExchangeEvent[] = [];
    const exchange = newRequestKey() as string as ExchangeId;
    const call = new Call(
      {
        kind: 'call',
        exchange,
        method: 'tools/call',
        params: { name: 'x' },
        context: {
          principal,
          session: 's' as SessionKey,
          capabilities: {},
          standsAlone: false,
          logLevel: undefined,
          wantsProgress: true,
          maxTimeMs: 600_000,
        },
      },
      (event) => events.push(event),
      wheel.schedule(600_000, () => undefined),
      undefined,
    );
    let hasLeft = false;
    call.place = { leave: () => (hasLeft = true) } as never;
    isOpen.add(call);
    expect(signIns.holds(call, refused)).toBe(true);
    await vi.advanceTimersByTimeAsync(0);
    return {
      call,
      events,
      left: () => hasLeft,
      answer: (action) =>
        questions.answer(
          exchange,
          (events.find(({ kind }) => kind === 'input') as { readonly input: InputKey }).input,
          { result: { action } },
        ),
    };
  };
  const signsIn = (principal: Principal): void => {
    state.wanted.delete(principal);
    signIns.changed(principal);
  };
  return {
    signIns,
    state,
    begin,
    made,
    ended,
    reports,
    signsIn,
    close: (call: Call) => {
      isOpen.delete(call);
      signIns.forgotten(call);
    },
  };
}

it('a call waits without a place, says so from time to time, and is made when its own user has signed in', async () => {
  const { begin, made, signsIn, reports } = open();
  const { call, left } = await begin();
  expect(left()).toBe(true);
  signsIn(ben);
  await vi.advanceTimersByTimeAsync(11_000);
  expect([made, new Set(reports), reports.length]).toEqual([[], new Set(['sign in at x true']), 3]);
  signsIn(ann);
  expect(made).toEqual([call]);
  await vi.advanceTimersByTimeAsync(20 * 60_000);
  expect(reports).toHaveLength(3);
});

it('a wait ends with its call, with its time, and when the adapter leaves', async () => {
  const { begin, made, ended, signsIn, close, signIns, reports } = open();
  const [cancelled, late] = [await begin(), await begin()];
  close(cancelled.call);
  await vi.advanceTimersByTimeAsync(9.6 * 60_000);
  expect([ended.get(cancelled.call), ended.get(late.call)]).toEqual([undefined, outcomeOf('the address')]);
  const leaving = await begin();
  signIns.stop();
  const after = await begin();
  expect([ended.get(leaving.call), ended.get(after.call)]).toEqual([
    outcomeOf('the address'),
    outcomeOf('the address'),
  ]);
  const said = reports.length;
  signsIn(ann);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([made, reports.length]).toEqual([[], said]);
});

it("one user's calls do not take all places: the next of his is answered with the address at once, and another's waits", async () => {
  const { begin, ended, signIns, close } = open();
  const held = [];
  for (let count = 0; count < 250; count += 1) held.push(await begin());
  const [next, other] = [await begin(), await begin(ben)];
  expect([ended.get(next.call), ended.get(other.call), ended.size, signIns.waiting]).toEqual([
    outcomeOf('the address'),
    undefined,
    1,
    251,
  ]);
  close((held[0] as { readonly call: Call }).call);
  const after = await begin();
  expect([ended.has(after.call), signIns.waiting]).toEqual([false, 251]);
});

it('a client that opens addresses is asked first; without its consent the call ends, unless the user has signed in by then', async () => {
  const { begin, made, ended, signsIn, state } = open();
  state.answer = wait({ params: url });
  const [accepted, declined] = [await begin(), await begin()];
  expect(accepted.events).toEqual([
    expect.objectContaining({ kind: 'input', method: 'elicitation/create', params: url }),
  ]);
  accepted.answer('accept');
  declined.answer('decline');
  expect([made, ended.get(declined.call), ended.has(accepted.call)]).toEqual([[], outcomeOf('declined'), false]);
  const cancelled = await begin();
  signsIn(ann);
  cancelled.answer('cancel');
  expect(made).toEqual([accepted.call, cancelled.call]);
});

it('a user who has to confirm a sign-in with a code is asked for it in the call that waits', async () => {
  const { begin, made, ended, state, signIns } = open();
  const { call, events, answer } = await begin();
  signIns.codeWanted(ben);
  state.answer = {
    kind: 'question',
    params: { mode: 'form', message: 'code?', requestedSchema: { type: 'object', properties: {} } },
    answered: () => Promise.resolve(undefined),
  };
  signIns.codeWanted(ann);
  await vi.advanceTimersByTimeAsync(0);
  expect(events).toEqual([expect.objectContaining({ kind: 'input' })]);
  answer('accept');
  await vi.advanceTimersByTimeAsync(0);
  expect([made, ended.size]).toEqual([[call], 0]);
  // If the client accepts no questions, the answer has the address.
  state.answer = wait();
  const other = await begin();
  state.answer = outcomeOf('say the code') as SignInAnswer;
  signIns.codeWanted(ann);
  await vi.advanceTimersByTimeAsync(0);
  expect(ended.get(other.call)).toEqual(outcomeOf('say the code'));
});

it('a call that is for the gateway is answered after the sign-in, and a server that always wants another one is asked three times', async () => {
  const { begin, made, ended, signsIn, state, signIns } = open();
  state.answer = wait({ done: outcomeOf('signed in') });
  const own = await begin(ben);
  signsIn(ben);
  expect([made, ended.get(own.call)]).toEqual([[], outcomeOf('signed in')]);
  state.answer = wait();
  const { call } = await begin();
  for (let time = 1; time <= 3; time += 1) {
    signsIn(ann);
    state.wanted.add(ann);
    expect(made).toHaveLength(time);
    signIns.holds(call, refused);
    await vi.advanceTimersByTimeAsync(0);
  }
  expect(ended.get(call)).toEqual(outcomeOf('the address'));
});

it('a bug in the wait of a call ends that call alone', async () => {
  const { begin, ended, state, made, signsIn, close } = open();
  state.answer = wait({
    isCodeWanted: () => {
      throw new Error('by a test, on purpose');
    },
  });
  const { call } = await begin();
  expect(ended.get(call)).toEqual(outcomeOf('failed'));
  close(call);
  state.answer = wait();
  const other = await begin();
  signsIn(ann);
  expect(made).toEqual([other.call]);
});
