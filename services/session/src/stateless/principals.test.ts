/** Known callers without a session: what one of them was handed opens nothing for another. */
import { expect, it, vi } from 'vitest';
import {
  anonymous,
  parseEndpointName,
  parseServerName,
  rootEndpoint,
  type JsonObject,
  type Principal,
} from '@omnibus/protocol';
import { Sealer } from '../public-ids/sealer.ts';
import { TaskIds } from '../public-ids/task-ids.ts';
import { accepted, holdTime, recordOf, RequestsUnderTest, type Asked, type Sent } from './requests-under-test.ts';

const up = parseServerName('up');
const [ann, bob] = ['p_ann', 'p_bob'] as [Principal, Principal];

holdTime();

/** Callers and requests; all are delivered. */
async function call(
  test: RequestsUnderTest,
  principal: Principal,
  more: JsonObject = {},
  args: JsonObject = {},
): Promise<Sent> {
  test.principal = principal;
  const sent = test.call(args, more);
  await vi.advanceTimersByTimeAsync(50);
  return sent;
}

/** A call that its server answers by something. */
async function answered(
  test: RequestsUnderTest,
  principal: Principal,
  result: JsonObject,
  more: JsonObject = {},
): Promise<JsonObject> {
  const sent = await call(test, principal, more);
  (test.asked.at(-1) as Asked).reply({ kind: 'result', result });
  await vi.advanceTimersByTimeAsync(50);
  return sent.answer() as JsonObject;
}

it('a call that waits for the answers of one is continued by nobody else', async () => {
  const test = await RequestsUnderTest.start();
  const sent = await call(test, ann);
  const [asked] = test.asked as [Asked];
  asked.reply({ kind: 'input', input: 1, method: 'elicitation/create', params: { message: 'Well?' } });
  await vi.advanceTimersByTimeAsync(50);
  const { requestState, inputRequests } = sent.answer() as {
    readonly requestState: string;
    readonly inputRequests: JsonObject;
  };
  const back = { requestState, inputResponses: { [Object.keys(inputRequests)[0] as string]: accepted } };
  for (const other of [bob, anonymous])
    expect((await call(test, other, back)).answer()).toMatchObject({ reason: 'state.invalid' });
  expect(test.answers).toEqual([]);
  await call(test, ann, back);
  expect(test.answers).toMatchObject([{ answer: { result: accepted } }]);
});

it('answers for a waiting call count only at the endpoint where it began: another one may have other servers under the same names, and other keys', async () => {
  const [test, newer] = [await RequestsUnderTest.start(), await modern()];
  const sent = await call(test, ann);
  (test.asked[0] as Asked).reply({
    kind: 'input',
    input: 1,
    method: 'elicitation/create',
    params: { message: 'Well?' },
  });
  await vi.advanceTimersByTimeAsync(50);
  const { requestState, inputRequests } = sent.answer() as {
    readonly requestState: string;
    readonly inputRequests: JsonObject;
  };
  const ofServer = (await answered(newer, ann, wanted)) as { readonly requestState: string };
  for (const [where, back, key] of [
    [test, requestState, Object.keys(inputRequests)[0] as string],
    [newer, ofServer.requestState, 'one'],
  ] as const) {
    where.endpoint = parseEndpointName('other');
    expect(
      (await call(where, ann, { requestState: back, inputResponses: { [key]: accepted } })).answer(),
    ).toMatchObject({ reason: 'state.invalid' });
    expect([where.asked.length, where.answers]).toEqual([1, []]);
    where.endpoint = rootEndpoint;
    await call(where, ann, { requestState: back, inputResponses: { [key]: accepted } });
  }
  expect(test.answers).toMatchObject([{ answer: { result: accepted } }]);
  expect(newer.asked[1]?.command.params).toMatchObject({ requestState: state });
});

const state = 'the state of the server';
const wanted: JsonObject = {
  resultType: 'input_required',
  inputRequests: { one: { method: 'elicitation/create', params: { message: 'Well?' } } },
  requestState: state,
};
const modern = (): Promise<RequestsUnderTest> =>
  RequestsUnderTest.start({}, [recordOf(up, { revision: '2026-07-28' })]);

it('the state of a server of the same revision is bound to its caller and to the request, and the server gets its own back', async () => {
  const test = await modern();
  const { requestState } = (await answered(test, ann, wanted)) as { readonly requestState: string };
  expect(requestState).not.toContain(state);
  for (const [principal, more, args] of [
    [bob, { requestState }, {}],
    [anonymous, { requestState }, {}],
    [ann, { requestState }, { other: 1 }],
    [ann, { requestState: `${requestState.slice(0, -2)}AA` }, {}],
    [ann, { requestState: state }, {}],
  ] as const) {
    expect((await call(test, principal, more, args)).answer(), principal).toMatchObject({ reason: 'state.invalid' });
  }
  expect(test.asked).toHaveLength(1);
  await call(test, ann, { requestState, inputResponses: { one: accepted } });
  expect(test.asked[1]?.command.params).toMatchObject({ requestState: state, inputResponses: { one: accepted } });
});

it('where nobody need be known, the state of such a server passes as it is', async () => {
  const test = await modern();
  expect(await answered(test, anonymous, wanted)).toMatchObject({ requestState: state });
  await call(test, anonymous, { requestState: state, inputResponses: { one: accepted } });
  expect(test.asked[1]?.command.params).toMatchObject({ requestState: state });
});

it('the id of a task, and a cursor among tasks, open nothing for another', () => {
  const sealer = new Sealer();
  const idsOf = (principal: Principal): TaskIds =>
    new TaskIds(sealer, principal, { owner: 'key' as never, place: undefined, tool: undefined });
  const [id, cursor] = [idsOf(ann).publish(up, 'task-1'), idsOf(ann).publishCursor({ server: up, cursor: 'next' })];
  expect([idsOf(ann).open(id), idsOf(ann).openCursor(cursor)]).toMatchObject([
    { server: up, id: 'task-1' },
    { server: up, cursor: 'next' },
  ]);
  for (const other of [bob, anonymous])
    expect([idsOf(other).open(id), idsOf(other).openCursor(cursor)]).toEqual([undefined, undefined]);
});
