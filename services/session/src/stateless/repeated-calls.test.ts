/** Requests without a session that their client sends again with a key. */
import { subjects } from '@omnibus/bus';
import {
  fault,
  repeatKey,
  repeatMs,
  repeatsKey,
  newRequestKey,
  type JsonObject,
  type ModernReply,
  type Principal,
} from '@omnibus/protocol';
import { beforeEach, expect, it } from 'vitest';
import { noBarrier } from '../call/barrier.ts';
import { EndedCalls } from './ended-calls.ts';
import {
  accepted,
  done,
  holdTime,
  pass,
  question,
  RequestsUnderTest,
  type Asked,
  type Sent,
} from './requests-under-test.ts';

holdTime();

const key = 'a-random-key-of-a-client';
let test: RequestsUnderTest;

beforeEach(async () => {
  test = await RequestsUnderTest.start();
  test.callMs = 3 * repeatMs;
});

/** Sends the request with id 1 and a key. */
function send(meta: JsonObject = {}, more: JsonObject = {}): Sent {
  const params = { name: 'act', arguments: {}, _meta: { [repeatKey]: key, ...meta }, ...more };
  const command = test.command('tools/call', params);
  const sent = { ...command, key: newRequestKey(), request: { ...command.request, id: 1 } };
  const frames: ModernReply[] = [];
  test.bus.request(subjects.modern(test.worker), sent, {
    reply: (frame) => frames.push(frame),
    failed: (error) => test.faults.push(String(error)),
  });
  const answer = (): JsonObject | undefined => {
    const frame = frames.at(-1);
    if (frame?.kind === 'refused') return { reason: frame.fault.reason };
    return frame?.kind === 'message' ? (JSON.parse(frame.text) as JsonObject) : undefined;
  };
  return { key: sent.key, frames, answer };
}

const again = (more: JsonObject = {}): Sent => send({ [repeatsKey]: true }, more);
const exchange = (index = 0): Asked => test.asked[index] as Asked;
const answered = { id: 1, result: { content: [] } };

it('a request joins the call of the first one, whose connection is gone, and the server gets neither key', async () => {
  const first = send();
  await pass();
  test.close(first);
  await pass(repeatMs / 2);
  const second = again();
  await pass();
  expect(test.asked.length).toBe(1);
  expect(JSON.stringify(exchange().command)).not.toContain('dev.omnibus');
  exchange().reply(done);
  await pass();
  expect(second.answer()).toMatchObject(answered);
  expect(first.frames).toEqual([]);
  expect(test.cancelled).toEqual([]);
});

it('each request of the time gets an answer that came while the client was away, and a later one gets unknown', async () => {
  const first = send();
  await pass();
  test.close(first);
  exchange().reply(done);
  await pass();
  const soon = [again(), send()];
  await pass();
  for (const sent of soon) expect(sent.answer()).toMatchObject(answered);
  await pass(60_500);
  const late = again();
  await pass();
  expect(late.answer()).toEqual({ reason: 'gateway.interrupted' });
  expect(test.asked.length).toBe(1);
});

it('the call of a client that does not come back is cancelled', async () => {
  const first = send();
  await pass();
  test.close(first);
  await pass(repeatMs - 500);
  expect(test.cancelled).toEqual([]);
  await pass(1_000);
  expect(test.cancelled.length).toBe(1);
  const late = again();
  await pass();
  expect(late.answer()).toEqual({ reason: 'gateway.interrupted' });
});

it('a question of the server is asked again, and its answer goes to the call', async () => {
  const first = send();
  await pass();
  exchange().reply(question(1));
  await pass(50);
  expect(first.answer()).toMatchObject({ result: { resultType: 'input_required' } });
  const second = again();
  await pass();
  const asked = (second.answer() as { readonly result: JsonObject }).result;
  const [name = ''] = Object.keys(asked['inputRequests'] as JsonObject);
  const third = test.call({}, { requestState: asked['requestState'], inputResponses: { [name]: accepted } });
  await pass();
  exchange().reply(done);
  await pass();
  expect(third.answer()).toMatchObject({ content: [], resultType: 'complete' });
  expect(test.asked.length).toBe(1);
});

it.each([
  ['another caller', (of: RequestsUnderTest) => (of.principal = 'ann' as Principal), {}],
  ['another body', () => undefined, { arguments: { other: true } }],
  ['another key', () => undefined, { _meta: { [repeatKey]: 'another-key-of-a-client' } }],
] as const)('a request of %s is one of its own', async (_, change, more) => {
  send();
  await pass();
  change(test);
  send({}, more);
  await pass();
  expect(test.asked.length).toBe(2);
});

it.each([
  ['a short key', { [repeatKey]: 'short' }],
  ['a key that is no text', { [repeatKey]: 17 }],
  ['a remark that is neither true nor false', { [repeatsKey]: 'yes' }],
])('%s is refused', async (_, meta) => {
  const sent = send(meta);
  await pass();
  expect(sent.answer()).toEqual({ reason: 'params.invalid' });
  expect(test.asked).toEqual([]);
});

it('a call fails for the request that is left after an edge has given the other one to another worker', async () => {
  test = await RequestsUnderTest.start({}, undefined, true);
  test.callMs = 3 * repeatMs;
  const [first, second] = [send(), again()];
  await pass();
  expect(test.asked.length).toBe(1);
  const { worker } = test;
  test.bus.publish(subjects.modernControl, { kind: 'closed', key: first.key, reason: 'it is elsewhere', worker });
  await pass();
  test.requests.barred({ ...noBarrier, callerProblem: () => fault('auth.blocked') });
  await pass();
  expect([first.frames, second.answer()]).toEqual([[], { reason: 'auth.blocked' }]);
});

it('right after the start of one process, a repeated request that it does not know is unknown, and later begins', async () => {
  const early = again();
  await pass();
  expect(early.answer()).toEqual({ reason: 'gateway.interrupted' });
  await pass(repeatMs + 1_000);
  again();
  await pass();
  expect(test.asked.length).toBe(1);
});

it('ended calls are forgotten in time, and when there are too many, the gateway knows that it does not know all', () => {
  let now = 0;
  const ended = new EndedCalls(() => now);
  now = repeatMs + 1;
  expect(ended.isComplete).toBe(true);
  const first = newRequestKey();
  ended.add(first);
  for (let made = 1; made < 20_000; made += 1) ended.add(newRequestKey());
  expect([ended.has(first), ended.isComplete]).toEqual([true, true]);
  ended.add(newRequestKey());
  expect([ended.has(first), ended.isComplete]).toEqual([false, false]);
  now += 2 * repeatMs + 1;
  const last = newRequestKey();
  ended.add(last);
  expect([ended.has(last), ended.isComplete]).toEqual([true, true]);
});

it('a request with a key is written out and hashed once, since its arguments may be large', async () => {
  let written = 0;
  const args = {
    toJSON: () => {
      written += 1;
      return {};
    },
  };
  send({}, { arguments: args });
  await pass();
  expect(test.asked.length).toBe(1);
  expect(written).toBe(1);
});
