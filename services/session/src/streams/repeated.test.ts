/** A client without its connection sends a request once more: which of these requests reach the server, on a bus in memory, as in one process. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { subjects } from '@omnibus/bus';
import { firstReply, Heard } from '@omnibus/bus/testing';
import {
  anonymous,
  newWorkerId,
  noLists,
  rootEndpoint,
  sessionKey,
  type ExchangeEvent,
  type JsonObject,
  type JsonRpcId,
  type SessionCommand,
  type SessionKey,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { WorkerUnderTest } from '../worker-under-test.ts';

const result: ExchangeEvent = { kind: 'result', result: { content: [] } };
const caller = { principal: anonymous, endpoint: rootEndpoint };
let test: WorkerUnderTest;
let worker: WorkerId;
let key: SessionKey;
/** The server's answers, for the calls in order. */
let answers: ((event: ExchangeEvent) => void)[];

beforeEach(async () => {
  test = await WorkerUnderTest.start(['up']);
  await test.put('up', { lists: { ...noLists, tools: [{ name: 'pay', inputSchema: { type: 'object' } }] } });
  const opened = await firstReply(test.bus, subjects.sessionOpen(undefined), {
    kind: 'open',
    caller,
    request: {
      jsonrpc: '2.0',
      id: 'init',
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    },
  });
  if (opened.kind !== 'opened') throw new Error(JSON.stringify(opened));
  [worker, key, answers] = [opened.worker, sessionKey(opened.session), []];
});

afterEach(() => {
  for (const answer of answers) answer(result);
  return test.stop();
});

/** Posts a call. @returns the frames that its client gets. */
async function pay(stream: string, id: JsonRpcId, args: JsonObject = {}, edge?: WorkerId): Promise<Heard<StreamFrame>> {
  const heard = new Heard<StreamFrame>();
  test.takes = (reply) => answers.push(reply);
  send(
    {
      kind: 'post',
      caller,
      stream: stream as StreamId,
      message: {
        kind: 'request',
        message: { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'up__pay', arguments: args } },
      },
    },
    heard,
    edge,
  );
  // What a session gets after it has been passed on.
  await firstReply(test.bus, subjects.session(worker), { key, command: { kind: 'probe', streams: [] } });
  return heard;
}

function send(command: SessionCommand, heard = new Heard<StreamFrame>(), edge?: WorkerId): void {
  test.bus.request(
    subjects.session(worker),
    { key, command, ...(edge === undefined ? {} : { edge }) },
    { reply: (frame) => heard.add(frame), failed: ({ kind }) => expect.fail(kind) },
  );
}

const leave = (stream: string): void =>
  send({ kind: 'detach', stream: stream as StreamId, reader: stream as StreamId });
const ended = (heard: Heard<StreamFrame>): Promise<StreamFrame> =>
  test.turning(heard.untilSome((frame) => frame.kind === 'message' && frame.isAnswer));
it('the answer of a call that still runs comes on the new connection, and the server gets the call once', async () => {
  await pay('one', 1);
  await test.turning(test.asked.until(1));
  leave('one');
  const again = await pay('two', 1);
  await test.turning(again.untilSome(({ kind }) => kind === 'attached'));
  expect(again.values[0]).toEqual({ kind: 'attached', stream: 'one' });
  answers[0]?.(result);
  expect(await ended(again)).toMatchObject({ kind: 'message' });
  expect(test.reached).toEqual(['up']);
});

it('an answer that came while the client was away is given to the client that comes back, once', async () => {
  await pay('one', 1);
  await test.turning(test.asked.until(1));
  leave('one');
  answers[0]?.(result);
  expect(await ended(await pay('two', 1))).toMatchObject({ kind: 'message' });
  expect(test.reached).toEqual(['up']);
  // The client has its answer now, so the same request is a request of its own.
  const third = await pay('three', 1);
  await test.turning(test.asked.until(2));
  answers[1]?.(result);
  await ended(third);
});

it.each([
  ['another body', 1, { more: true }],
  ['an id of another type', '1', {}],
])('a request with %s is a request of its own', async (_what, id, args) => {
  await pay('one', 1);
  await test.turning(test.asked.until(1));
  leave('one');
  await pay('two', id, args);
  await test.turning(test.asked.until(2));
});

it('a request that repeats one whose client is still connected is a request of its own', async () => {
  await pay('one', 1);
  await test.turning(test.asked.until(1));
  await pay('two', 1);
  await test.turning(test.asked.until(2));
});

it('an answer that one edge has sent to its client is not given again at another edge, while the first one is there', async () => {
  const [first, second] = [newWorkerId('edge'), newWorkerId('edge')];
  // The first edge has sent its last message of the stream, so it does not read the stream any more.
  await test.bus.subscribe(subjects.edgeReaders(first), (_asked, reply) => reply({ readers: [] }));
  const heard = await pay('one', 1, {}, first);
  await test.turning(test.asked.until(1));
  // With an event before the answer, the worker keeps the stream.
  answers[0]?.({ kind: 'log', params: { level: 'error', data: 'soon' } });
  answers[0]?.(result);
  await ended(heard);
  await pay('two', 1, {}, second);
  await test.turning(test.asked.until(2));
  expect(test.reached).toEqual(['up', 'up']);
});

it('an answer that an edge may not have sent before it was gone is given at another edge', async () => {
  const [first, second] = [newWorkerId('edge'), newWorkerId('edge')];
  const heard = await pay('one', 1, {}, first);
  await test.turning(test.asked.until(1));
  answers[0]?.({ kind: 'log', params: { level: 'error', data: 'soon' } });
  answers[0]?.(result);
  await ended(heard);
  expect(await ended(await pay('two', 1, {}, second))).toMatchObject({ kind: 'message' });
  expect(test.reached).toEqual(['up']);
});
