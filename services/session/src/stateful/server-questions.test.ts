/** Questions of servers to the client of one session, with a bus in memory on which the test hears the answers to servers. */
import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import {
  anonymous,
  idSequence,
  newWorkerId,
  parseServerName,
  rootEndpoint,
  type ControlCommand,
  type ExchangeId,
  type InputAnswer,
  type InputKey,
  type JsonObject,
  type LegacyRevision,
  type PostedMessage,
  type QuestionId,
  type QuestionMethod,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';
import { Metrics } from '@omnibus/telemetry';
import { legacyDialect } from '../dialect/legacy/dialect.ts';
import type { Questioner } from '../call/transform.ts';
import { Watchers } from '../call/watchers.ts';
import { ServerQuestions } from './server-questions.ts';

const server = parseServerName('up');
const key = 'session' as SessionKey;
const worker = newWorkerId('session');

let bus: MemoryBus;
let controls: ControlCommand[];
let metrics: Metrics;

beforeEach(async () => {
  bus = new MemoryBus(({ what }) => expect.fail(what));
  metrics = new Metrics({ processMetrics: false });
  controls = [];
  await bus.subscribe(subjects.backendControl(server), (command) => void controls.push(command));
});

/** A session of a client with these capabilities. */
function session({
  capabilities = { roots: {}, elicitation: {} } as JsonObject,
  revision = '2025-11-25' as LegacyRevision,
} = {}) {
  const pushed: JsonObject[] = [];
  const passedOn: [WorkerId, PostedMessage['kind']][] = [];
  let changes = 0;
  const questions = new ServerQuestions({
    key,
    host: {
      bus,
      metrics,
      watchers: new Watchers([]),
      nextQuestionId: idSequence<QuestionId>(worker),
      passOn: (_key, to, _heldBefore, posted) => {
        passedOn.push([to, posted.kind]);
        return Promise.resolve('gone');
      },
    },
    client: {
      key,
      asking: { principal: anonymous, endpoint: rootEndpoint },
      session: key,
      dialect: legacyDialect(revision),
      capabilities,
    },
    messages: {
      question: (_server, params) => ({ ...params, public: true }),
      original: (answer) => ({ ...answer, original: true }),
    },
    asker: (_server, waits) => waits,
    push: (text) => void pushed.push(JSON.parse(text) as JsonObject),
    changed: () => {
      changes += 1;
    },
  });
  return { questions, pushed, passedOn, changes: () => changes };
}

/** A call with a question, and its answer. */
function call(id = 'exchange') {
  const answers: [InputKey, InputAnswer][] = [];
  const sent: JsonObject[] = [];
  const asker: Questioner = {
    id: id as ExchangeId,
    answerInput: (input, answer) => void answers.push([input, answer]),
    passInputProgress: () => undefined,
  };
  return {
    asker,
    answers,
    sent,
    stream: { send: (text: string): void => void sent.push(JSON.parse(text) as JsonObject) },
  };
}

const asked = (input: InputKey, method: QuestionMethod = 'roots/list', params: JsonObject = {}) =>
  ({ kind: 'input', input, method, params }) as const;
const standing = (input: InputKey) =>
  ({ kind: 'question', server, sessions: [key], input, method: 'roots/list', params: {} }) as const;
const delivered = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('what servers ask the client of a session', () => {
  it('goes out on the stream of the call that asks, and its answer to that call', () => {
    const { questions, pushed } = session();
    const { asker, stream, sent, answers } = call();
    questions.ofCall(asker, stream, asked(7));
    questions.takeAnswer({ jsonrpc: '2.0', id: sent[0]?.['id'] as QuestionId, result: { roots: [] } });
    expect([sent[0]?.['method'], pushed, answers]).toEqual([
      'roots/list',
      [],
      [[7, { result: { roots: [], original: true } }]],
    ]);
  });

  it('is refused where the client declared no capability for it, or its revision has no words for it', () => {
    const plain = call();
    session({ capabilities: {} }).questions.ofCall(plain.asker, plain.stream, asked(1));
    const older = call();
    session({ revision: '2025-06-18' }).questions.ofCall(
      older.asker,
      older.stream,
      asked(2, 'elicitation/create', { mode: 'url', url: 'https://example.org' }),
    );
    expect([plain.sent, older.sent]).toEqual([[], []]);
    expect(plain.answers).toEqual([[1, { error: expect.objectContaining({ code: -32_601 }) }]]);
    expect(older.answers).toEqual([[2, { error: expect.objectContaining({ code: -32_602 }) }]]);
  });

  it('goes on under its id when another call takes it over, and is not asked twice', () => {
    const { questions } = session();
    const [first, next] = [call('first'), call('next')];
    questions.ofCall(first.asker, first.stream, asked(3));
    questions.ofCall(next.asker, next.stream, { ...asked(3), movedFrom: 'first' as ExchangeId });
    questions.withdrawAll(first.asker, 'the call has ended');
    questions.takeAnswer({ jsonrpc: '2.0', id: first.sent[0]?.['id'] as QuestionId, result: {} });
    expect([first.sent.length, next.sent.length, first.answers, next.answers.length]).toEqual([1, 0, [], 1]);
  });

  it('goes on under its id as one of no call where the call it was asked in was answered before, and is recorded', async () => {
    const { questions, pushed } = session();
    const { asker, stream, sent, answers } = call();
    questions.ofCall(asker, stream, asked(3));
    const id = sent[0]?.['id'] as QuestionId;
    questions.outsideCalls({ ...standing(3), movedFrom: 'exchange' as ExchangeId });
    questions.withdrawAll(asker, 'the call has ended');
    expect([sent.length, pushed, questions.standing]).toEqual([1, [], [[id, server, 3]]]);
    expect(questions.takeAnswer({ jsonrpc: '2.0', id, result: {} })).toBe(true);
    await delivered();
    expect([answers, controls]).toEqual([[], [expect.objectContaining({ kind: 'answer', asker: key, input: 3 })]]);
  });

  it('outside calls goes to a standing stream, is recorded, and its answer reaches the server once', async () => {
    const { questions, pushed, changes } = session();
    questions.outsideCalls(standing(4));
    expect([pushed[0]?.['params'], questions.standing, changes()]).toEqual([
      { public: true },
      [[pushed[0]?.['id'], server, 4]],
      1,
    ]);
    const id = pushed[0]?.['id'] as QuestionId;
    expect([
      questions.takeAnswer({ jsonrpc: '2.0', id, result: {} }),
      questions.takeAnswer({ jsonrpc: '2.0', id, result: {} }),
    ]).toEqual([true, false]);
    await delivered();
    expect(controls).toEqual([{ kind: 'answer', asker: key, input: 4, answer: { result: { original: true } } }]);
    expect([questions.standing, changes()]).toEqual([[], 2]);
  });

  it('outside calls is answered by the worker that holds the session next, and taken back when the server withdraws it', async () => {
    const { questions, pushed } = session();
    const id = `${newWorkerId('session')}-1` as QuestionId;
    questions.restore({
      worker: newWorkerId('session'),
      questions: [
        [id, server, 5],
        [`${id}2` as QuestionId, server, 6],
      ],
    });
    questions.withdrawOutsideCalls({
      kind: 'question-withdrawn',
      server,
      sessions: [key],
      input: 6,
      reason: 'not needed',
    });
    expect(pushed).toEqual([
      expect.objectContaining({
        method: 'notifications/cancelled',
        params: { requestId: `${id}2`, reason: 'not needed' },
      }),
    ]);
    questions.takeAnswer({ jsonrpc: '2.0', id, result: {} });
    await delivered();
    expect(controls).toEqual([expect.objectContaining({ input: 5 })]);
  });

  it('by another worker is answered there; what nobody asked is counted and given to nobody', async () => {
    const { questions, passedOn } = session();
    const other = newWorkerId('session');
    const remark = (id: unknown) =>
      ({ kind: 'response', message: { jsonrpc: '2.0', id: id as QuestionId, result: {} } }) as const;
    expect(questions.takeAnswer(remark(`${other}-9`).message)).toBe(false);
    expect(await questions.passOn(remark(`${other}-9`), `${other}-9`)).toBe('gone');
    expect(await questions.passOn(remark('mine'), 'mine')).toBe('closed');
    expect(passedOn).toEqual([[other, 'response']]);
    expect(await metrics.text()).toContain('omnibus_dropped_messages_total{reason="response_unsolicited"} 2');
  });
});
