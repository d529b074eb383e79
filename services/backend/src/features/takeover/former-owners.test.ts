/** Commands of a session worker that no longer owns a call. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { Heard } from '@omnibus/bus/testing';
import {
  anonymous,
  newWorkerId,
  type ExchangeEvent,
  type ExchangeId,
  type InputKey,
  type SessionKey,
} from '@omnibus/protocol';
import { AdapterUnderTest } from '../../adapter-under-test.ts';

it('an answer, or progress of it, that a former owner of a call passes on late does not reach the server', async () => {
  const asked = {
    jsonrpc: '2.0',
    id: 'q',
    method: 'elicitation/create',
    params: { message: 'Well?', requestedSchema: { type: 'object', properties: {} }, _meta: { progressToken: 1 } },
  };
  const answers = new Heard<unknown>();
  const ask = (response: ServerResponse): 'silence' => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(asked)}\n\n`);
    return 'silence';
  };
  await using it = await AdapterUnderTest.start({
    says: (message, response) => {
      if (message.method === 'tools/call') return ask(response);
      if (message.id === 'q' || message.method === 'notifications/progress') answers.add(message);
      return undefined;
    },
  });
  await it.adapter.firstAttempt;
  const [former, owner] = [newWorkerId('session'), newWorkerId('session')];
  const [exchange, events] = ['call-1' as ExchangeId, new Heard<ExchangeEvent>()];
  it.adapter.calls.begin(
    {
      kind: 'call',
      exchange,
      owner,
      method: 'tools/call',
      params: { name: 'act' },
      context: {
        principal: anonymous,
        session: 'session one' as unknown as SessionKey,
        capabilities: { elicitation: {} },
        standsAlone: false,
        logLevel: undefined,
        wantsProgress: false,
        maxTimeMs: 600_000,
      },
    },
    (event) => events.add(event),
  );
  const question = await events.untilSome(({ kind }) => kind === 'input');
  const { input } = question as { readonly input: InputKey };
  it.control({ kind: 'input-progress', asker: exchange, input, params: { progress: 1 }, owner: former });
  it.control({ kind: 'answer', asker: exchange, input, answer: { result: { action: 'decline' } }, owner: former });
  it.control({ kind: 'answer', asker: exchange, input, answer: { result: { action: 'cancel' } }, owner });
  await answers.until(1);
  expect(answers.values).toMatchObject([{ id: 'q', result: { action: 'cancel' } }]);
});
