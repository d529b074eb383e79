import { describe, expect, it } from 'vitest';
import {
  idSequence,
  newWorkerId,
  askerOf,
  type ExchangeId,
  type InputAnswer,
  type InputKey,
  type JsonObject,
  type QuestionId,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import { PendingQuestions } from './pending-questions.ts';
import type { Questioner } from '../call/transform.ts';

const worker = newWorkerId('session');
const nextId = idSequence<QuestionId>(worker);

/** An asker, with its answers. */
function asking(id = 'exchange') {
  const answers: [InputKey, InputAnswer][] = [];
  const progress: JsonObject[] = [];
  const asker: Questioner = {
    id: id as ExchangeId,
    answerInput: (input, answer) => void answers.push([input, answer]),
    passInputProgress: (_input, params) => void progress.push(params),
  };
  return { asker, answers, progress };
}

function client() {
  const requests = new PendingQuestions(nextId, (result) => result);
  const sent: JsonObject[] = [];
  const stream = { send: (text: string): void => void sent.push(JSON.parse(text) as JsonObject) };
  return { requests, sent, stream, ids: () => sent.flatMap(({ id }) => (id === undefined ? [] : [id as QuestionId])) };
}

describe('questions to a client', () => {
  it('never have an id twice, in whichever session or holding of a session, and name the worker that asked', () => {
    const ids = [client(), client()].flatMap(({ requests, stream, ids: given }) => {
      for (const input of [1, 2]) requests.ask({ asker: asking().asker, input, stream }, 'roots/list', {});
      return given();
    });
    expect(new Set(ids).size).toBe(4);
    expect(ids.map((id) => askerOf(id))).toEqual([worker, worker, worker, worker]);
  });

  it('are answered once, by the id they went out with and no other', () => {
    const { requests, stream, ids } = client();
    const [one, two] = [asking('one'), asking('two')];
    requests.ask({ asker: one.asker, input: 7, stream }, 'elicitation/create', {});
    requests.ask({ asker: two.asker, input: 8, stream }, 'elicitation/create', {});
    const [first] = ids() as [QuestionId];
    for (const id of [1, '1', `${first} `, `${first}0`, 'constructor', '__proto__'])
      expect(requests.answer({ jsonrpc: '2.0', id, result: {} })).toBe(false);
    expect(requests.answer({ jsonrpc: '2.0', id: first, result: { action: 'accept' } })).toBe(true);
    expect(requests.answer({ jsonrpc: '2.0', id: first, result: { action: 'decline' } })).toBe(false);
    expect([one.answers, two.answers]).toEqual([[[7, { result: { action: 'accept' } }]], []]);
  });

  it('carry a progress token of their own, which nothing else is taken for', () => {
    const { requests, stream, sent, ids } = client();
    const { asker, progress } = asking();
    requests.ask({ asker, input: 1, stream }, 'roots/list', { _meta: { progressToken: 'of the server' } });
    expect(sent[0]?.['params']).toEqual({ _meta: { progressToken: ids()[0] } });
    expect([
      requests.progress({ progressToken: 'of the server', progress: 1 }),
      requests.progress(undefined),
      requests.progress({ progressToken: ids()[0], progress: 1 }),
    ]).toEqual([false, false, true]);
    expect(progress.length).toBe(1);
  });

  it('are bounded in number: a server that asks without end is answered that the client is busy', () => {
    const { requests, stream, sent } = client();
    const { asker, answers } = asking();
    for (let input = 0; input < 1_000; input += 1) requests.ask({ asker, input, stream }, 'roots/list', {});
    expect(sent.length + answers.length).toBe(1_000);
    expect(sent.length).toBe(256);
    expect(answers.at(-1)).toMatchObject([999, { error: { data: { reason: 'session.busy' } } }]);
  });

  it('of no call go on where another worker takes the session over, under the ids that the client has', () => {
    const before = client();
    const server = 'up' as ServerName;
    before.requests.ask({ asker: asking().asker, input: 1, stream: before.stream }, 'roots/list', {});
    before.requests.ask(
      { asker: asking('key').asker, input: 2, stream: before.stream, standing: server },
      'roots/list',
      {},
    );
    const after = client();
    const { asker, answers } = asking('key' as SessionKey);
    for (const [id, of, input] of before.requests.standing)
      after.requests.restore(id, { asker, input, stream: after.stream, standing: of });
    const [ofCall, standing] = before.ids();
    expect(after.requests.answer({ jsonrpc: '2.0', id: ofCall as QuestionId, result: {} })).toBe(false);
    expect(after.requests.answer({ jsonrpc: '2.0', id: standing as QuestionId, result: { roots: [] } })).toBe(true);
    expect(answers).toEqual([[2, { result: { roots: [] } }]]);
  });
});
