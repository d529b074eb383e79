/** The answer to a POST without requests, or with none left. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { streamAfterMs, type SessionCommand, type StreamFrame } from '@omnibus/protocol';
import { EdgeUnderTest } from '../edge-under-test.ts';

let test: EdgeUnderTest;

beforeEach(async () => {
  test = await EdgeUnderTest.start();
});

afterEach(() => test[Symbol.asyncDispose]());

const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'slow' } };
const answered = (id: number): StreamFrame => ({
  kind: 'message',
  text: `{"jsonrpc":"2.0","id":${id},"result":{}}`,
  isAnswer: true,
  sequence: 1,
  last: false,
});
const streams = { accept: 'text/event-stream' };
const json = { accept: 'application/json' };
/** Later than a POST of a request becomes a stream. */
const late = streamAfterMs + 300;

/** The outcome of one POST of a session, and its records. */
type Receive = (command: SessionCommand, reply: (frame: StreamFrame) => void) => void;

async function posted(
  message: object,
  headers: Readonly<Record<string, string>>,
  revision: string,
  receive: Receive,
): Promise<{ readonly status: number; readonly type: string | null; readonly body: string }> {
  await test.serve(receive);
  const response = await test.post(message, { ...(await test.open(revision)), ...headers });
  return { status: response.status, type: response.headers.get('content-type'), body: await response.text() };
}

describe('a POST without a request that takes longer than a moment', () => {
  const notification = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } };
  const messages: readonly (readonly [string, object])[] = [
    ['a notification', notification],
    ['an answer', { jsonrpc: '2.0', id: 7, result: {} }],
    ['an error', { jsonrpc: '2.0', id: 7, error: { code: 1, message: 'no' } }],
    ['a batch of both', [notification, { jsonrpc: '2.0', id: 7, result: {} }]],
  ];

  /** What each of them comes to, all at once. */
  async function outcomes(frame: StreamFrame): Promise<unknown[]> {
    await test.serve((_command, reply) => void setTimeout(() => reply(frame), late));
    const session = await test.open('2025-03-26');
    return Promise.all(
      messages.map(async ([what, message]) => {
        const response = await test.post(message, session);
        return [what, response.status, response.headers.get('content-type'), (await response.text()) === ''];
      }),
    );
  }

  it('is answered 202 without a body', async () => {
    expect(await outcomes({ kind: 'accepted' })).toEqual(messages.map(([what]) => [what, 202, null, true]));
  });

  it('is refused with an HTTP error', async () => {
    expect(await outcomes({ kind: 'refused', fault: { reason: 'question.lost', message: 'gone' } })).toEqual(
      messages.map(([what]) => [what, 410, 'application/json', false]),
    );
  });

  it('is refused with an HTTP error also where a request would have 200', async () => {
    const answer = await posted(notification, {}, '2025-11-25', (_command, reply) =>
      reply({ kind: 'refused', fault: { reason: 'params.invalid', message: 'no' } }),
    );
    expect(answer.status).toBe(400);
  });
});

describe('a request that was cancelled before its answer', () => {
  it.each(['2025-03-26', '2025-06-18', '2025-11-25'])(
    'ends with a stream without a response, and without an event to come back to: %s',
    async (revision) => {
      for (const headers of [{}, streams]) {
        expect(await posted(call, headers, revision, (_command, reply) => reply({ kind: 'end' }))).toEqual({
          status: 200,
          type: 'text/event-stream',
          body: '',
        });
      }
    },
  );

  it('ends with an error where the client takes no stream', async () => {
    const { status, type, body } = await posted(call, json, '2025-11-25', (_command, reply) => reply({ kind: 'end' }));
    expect([status, type, JSON.parse(body)]).toMatchObject([
      200,
      'application/json',
      { id: 7, error: { data: { reason: 'request.cancelled' } } },
    ]);
  });

  it('ends the stream that it has opened', async () => {
    const { status, type, body } = await posted(call, {}, '2025-11-25', (_command, reply) => {
      reply({
        kind: 'message',
        text: '{"jsonrpc":"2.0","method":"notifications/message","params":{}}',
        isAnswer: false,
        sequence: 1,
        last: false,
      });
      reply({ kind: 'end' });
    });
    expect([status, type, body.includes('"id"')]).toEqual([200, 'text/event-stream', false]);
  });

  it('leaves the answers of the others of its batch', async () => {
    const batch = [call, { ...call, id: 8 }];
    const { status, body } = await posted(batch, {}, '2025-03-26', (_command, reply) => {
      reply(answered(8));
      reply({ kind: 'end' });
    });
    expect([status, JSON.parse(body)]).toMatchObject([200, [{ id: 8, result: {} }]]);
  });

  it.each([
    [{}, 'text/event-stream'],
    [json, 'application/json'],
  ])('ends a batch of which nothing is left as it ends one request: %j', async (headers, expected) => {
    const { status, type } = await posted([call, { ...call, id: 8 }], headers, '2025-03-26', (_command, reply) =>
      reply({ kind: 'end' }),
    );
    expect([status, type]).toEqual([200, expected]);
  });
});
