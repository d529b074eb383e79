/** What a session worker does with requests that another one, which is gone, may have begun: a scripted backend worker answers for them. */
import { MemoryBus, subjects } from '@omnibus/bus';
import { firstReply } from '@omnibus/bus/testing';
import {
  anonymous,
  newRequestKey,
  newWorkerId,
  noLists,
  rootEndpoint,
  sessionKey,
  type Begun,
  type ExchangeEvent,
  type JsonObject,
  type JsonRpcId,
  type PostedMessage,
  type SeenState,
  type StreamFrame,
  type StreamId,
} from '@omnibus/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WorkerUnderTest } from '../../worker-under-test.ts';

class SharedBus extends MemoryBus {
  override readonly isShared = true;
}

const caller = { principal: anonymous, endpoint: rootEndpoint };
const backend = newWorkerId('backend');
let test: WorkerUnderTest;
/** What the backend worker says of every exchange. */
let state: SeenState;
let asked: string[];
/** Called when the backend worker is asked; it answers when that has resolved. */
let meanwhile: () => Promise<void>;

beforeEach(async () => {
  [state, asked, meanwhile] = ['never', [], () => Promise.resolve()];
  test = await WorkerUnderTest.start(['up'], {}, undefined, (onFault) => new SharedBus(onFault));
  await test.bus.subscribe(subjects.backendAttach(backend), ({ exchange, takes }, reply) => {
    asked.push(exchange);
    void meanwhile().then(() =>
      reply(takes && state === 'answered' ? { kind: 'result', result: { content: [] } } : { kind: 'seen', state }),
    );
  });
  await test.put('up', { lists: { ...noLists, tools: [{ name: 'pay', inputSchema: { type: 'object' } }] } });
});

afterEach(async () => {
  await test.stop();
  // A question without an answer is repeated for seconds, and would be counted in the next test.
  await test.bus.drain();
});

const begun = { ageMs: 100, turn: 1, backends: [backend], areAll: true };

type Posted =
  | { readonly kind: 'batch'; readonly messages: readonly PostedMessage[]; readonly begun: Begun }
  | { readonly kind: 'post'; readonly message: PostedMessage; readonly begun?: Begun };

function messageOf(frame: StreamFrame): unknown {
  if (frame.kind === 'refused') return [1, frame.fault.reason];
  if (frame.kind !== 'message') return frame.kind;
  const { id, result, error } = JSON.parse(frame.text) as JsonObject;
  return [id, result === undefined ? ((error as JsonObject)['data'] as JsonObject)['reason'] : 'result'];
}

/** Sends a request without a session that a worker which is gone may have begun. @returns what its client gets first. */
function modern(method: string, params: JsonObject, known: Begun = begun): Promise<unknown> {
  const answer = new Promise<unknown>((resolve) => {
    test.bus.request(
      subjects.modern(undefined),
      {
        kind: 'request',
        key: newRequestKey(),
        caller,
        request: { jsonrpc: '2.0', id: 1, method, params },
        context: { capabilities: {}, logLevel: undefined },
        parameterHeaders: undefined,
        begun: known,
      },
      { reply: (frame) => resolve(frame.kind === 'elsewhere' ? frame.kind : messageOf(frame)), failed: resolve },
    );
  });
  return test.turning(answer);
}

/** Opens a session. @returns what sends its worker a POST. `got`: the frames of the answer. */
async function session(): Promise<(posted: Posted, got: (frame: unknown, isLast: boolean) => void) => void> {
  const opened = await firstReply(test.bus, subjects.sessionOpen(undefined), {
    kind: 'open',
    caller,
    request: {
      jsonrpc: '2.0',
      id: 'init',
      method: 'initialize',
      params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    },
  });
  if (opened.kind !== 'opened') throw new Error(JSON.stringify(opened));
  return (posted, got) => {
    test.bus.request(
      subjects.session(opened.worker),
      { key: sessionKey(opened.session), command: { caller, stream: 'post-1' as StreamId, ...posted } },
      {
        reply: (frame) => got(messageOf(frame), frame.kind === 'end' || (frame.kind === 'message' && frame.last)),
        failed: (error) => got(error.kind, true),
      },
    );
  };
}

/** Sends calls in one POST of a session (2025-03-26), likewise. @returns all that its client gets, when the stream ends. */
async function batch(...messages: readonly PostedMessage[]): Promise<unknown[]> {
  const send = await session();
  const got: unknown[] = [];
  const ended = new Promise<unknown[]>((resolve) => {
    send({ kind: 'batch', messages, begun }, (frame, isLast) => {
      got.push(frame);
      if (isLast) resolve(got);
    });
  });
  return test.turning(ended);
}

const call = (id: JsonRpcId): PostedMessage => ({
  kind: 'request',
  message: { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'up__pay' } },
});

it.each(['tools/call', 'acme/pay'])('a request %s that a server may have got is not sent again', async (method) => {
  state = 'unknown';
  expect(await modern(method, { name: 'up__pay' })).toEqual([1, 'gateway.interrupted']);
  expect([asked.length, test.reached]).toEqual([1, []]);
});

it.each(['tools/call', 'acme/pay'])('a request %s that no server has got is sent', async (method) => {
  expect(await modern(method, { name: 'up__pay' })).toEqual([1, 'result']);
  expect(test.reached).toEqual(['up']);
});

it('a call that a server may have got has an unknown outcome, if a rule refuses it by now; one that no server has got is refused', async () => {
  const rules = [{ id: 'closed', who: 'everyone', deny: ['up/pay'] }];
  await test.apply(['up'], { access: { rules } });
  expect(await modern('tools/call', { name: 'up__pay' })).toEqual([1, 'tool.unknown']);
  state = 'unknown';
  expect(await modern('tools/call', { name: 'up__pay' })).toEqual([1, 'gateway.interrupted']);
});

it('a call that was cancelled at its server is answered, since its old owner may have cancelled it and not its client', async () => {
  state = 'cancelled';
  expect(await modern('tools/call', { name: 'up__pay' })).toEqual([1, 'gateway.interrupted']);
  expect(test.reached).toEqual([]);
});

it('each call of a batch gets its own answer', async () => {
  state = 'answered';
  expect(await batch(call(1), call('1'))).toEqual([
    [1, 'result'],
    ['1', 'result'],
  ]);
  expect(new Set(asked).size).toBe(2);
});

it('calls of a batch with one id are no longer known apart, and none gets the answer of another', async () => {
  state = 'answered';
  expect(await batch(call(1), call(1), call(2))).toEqual([
    [1, 'gateway.interrupted'],
    [1, 'gateway.interrupted'],
    [2, 'gateway.interrupted'],
  ]);
});

it.each([
  ['runs', 'answered', [1, 'result'], []],
  ['does not run', 'never', [1, 'gateway.interrupted'], []],
] as const)(
  'a call that %s at the one backend worker that a young edge knows ends as far as that is known',
  async (_title, found, answer, reached) => {
    state = found;
    expect(await modern('tools/call', { name: 'up__pay' }, { ...begun, areAll: false })).toEqual(answer);
    expect(test.reached).toEqual(reached);
  },
);

it('a client that cancels a call while its server is searched ends it there', async () => {
  state = 'running';
  const isAsked = Promise.withResolvers<void>();
  meanwhile = () => {
    isAsked.resolve();
    return Promise.withResolvers<void>().promise;
  };
  const key = newRequestKey();
  const request = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'up__pay' },
  } as const;
  test.bus.request(
    subjects.modern(undefined),
    {
      kind: 'request',
      key,
      caller,
      request,
      context: { capabilities: {}, logLevel: undefined },
      parameterHeaders: undefined,
      begun,
    },
    { reply: () => expect.fail('a cancelled call gets no answer'), failed: ({ kind }) => expect.fail(kind) },
  );
  await isAsked.promise;
  test.bus.publish(subjects.modernControl, { kind: 'closed', key, reason: 'enough' });
  const cancelled = await test.controls.untilSome(({ kind }) => kind === 'cancel');
  expect(cancelled).toMatchObject({ kind: 'cancel', exchange: asked[0] });
  expect(test.reached).toEqual([]);
});

it('a POST that comes to its worker twice, the first copy after the second one, makes its call once', async () => {
  const send = await session();
  const searched = Promise.withResolvers<void>();
  const isAsked = Promise.withResolvers<void>();
  meanwhile = () => {
    isAsked.resolve();
    return searched.promise;
  };
  const frames: unknown[] = [];
  const answered = new Promise<void>((resolve) => {
    send({ kind: 'post', message: call(1), begun }, (frame, isLast) => {
      frames.push(frame);
      if (isLast) resolve();
    });
  });
  await isAsked.promise;
  send({ kind: 'post', message: call(1) }, (frame) => expect.fail(`the first copy is answered: ${String(frame)}`));
  searched.resolve();
  await test.turning(answered);
  expect([frames, test.reached]).toEqual([[[1, 'result']], ['up']]);
  expect(test.asked.values.map(({ turn }) => turn)).toEqual([1]);
});

it('a POST whose first copy came to its worker after all goes on for the edge that sends it again', async () => {
  const send = await session();
  const taken = Promise.withResolvers<(event: ExchangeEvent) => void>();
  test.takes = taken.resolve;
  const first: unknown[] = [];
  send({ kind: 'post', message: call(1) }, (frame) => first.push(frame));
  const reply = await taken.promise;
  const frames: unknown[] = [];
  const answered = new Promise<void>((resolve) => {
    send({ kind: 'post', message: call(1), begun }, (frame, isLast) => {
      frames.push(frame);
      if (isLast) resolve();
      else reply({ kind: 'result', result: { content: [] } });
    });
  });
  await test.turning(answered);
  expect([first, frames, test.reached, asked]).toEqual([['end'], ['attached', [1, 'result']], ['up'], []]);
});
