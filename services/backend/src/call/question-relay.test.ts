/** A question that goes from a call to the session, or to another call, while its answer is on the way. */
import { expect, it } from 'vitest';
import { MemoryBus, subjects } from '@omnibus/bus';
import { Heard } from '@omnibus/bus/testing';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  newRequestKey,
  newWorkerId,
  parseServerName,
  type ExchangeEvent,
  type ExchangeId,
  type InputKey,
  type ServerNotice,
  type SessionKey,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { UpstreamConnection } from '../connection/connection.ts';
import { OneStream } from '../connection/one-stream-under-test.ts';
import { Era } from '../dialect/modern/discovery.ts';
import { QuestionRelay, type AskedCall } from './question-relay.ts';

const server = parseServerName('one');
const question = {
  id: 'q',
  method: 'elicitation/create',
  params: { message: 'Well?', requestedSchema: { type: 'object', properties: {} } },
};
const answer = { result: { action: 'decline' } };

async function open(session: SessionKey) {
  const log = createLogger({ level: 'silent', format: 'json' });
  const metrics = new Metrics({ processMetrics: false });
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  const bus = new MemoryBus((problem) => expect.fail(problem.what));
  const notices = new Heard<ServerNotice>();
  await bus.subscribe(subjects.notices, (notice) => notices.add(notice));
  const relay = new QuestionRelay({ bus, server, wheel });
  const ready = Promise.withResolvers<OneStream>();
  let transport: OneStream;
  const connection: UpstreamConnection = new UpstreamConnection({
    server,
    worker: newWorkerId('backend'),
    isProgram: true,
    capabilities: { elicitation: {} },
    owner: relay.ofSession(session, () => connection),
    isTakenInTurn: () => false,
    isBase: false,
    era: new Era('legacy'),
    toolSchema: () => undefined,
    createTransport: (observer) => (transport = new OneStream(observer)),
    isExclusive: true,
    connectTimeoutMs: 5_000,
    backoff: { minMs: 1, maxMs: 2 },
    wheel,
    log,
    metrics,
    observer: {
      ready: () => ready.resolve(transport),
      lost: (problem) => ready.reject(new Error(problem)),
      strayProgress: () => false,
      missed: () => undefined,
      askedUnnamed: () => undefined,
      notification: () => undefined,
    },
  });
  connection.start();
  const begin = (): { readonly id: number; readonly exchange: ExchangeId; readonly events: ExchangeEvent[] } => {
    const events: ExchangeEvent[] = [];
    const call: AskedCall = {
      exchange: newRequestKey() as string as ExchangeId,
      session,
      reply: (event) => events.push(event),
    };
    const id = connection.request(
      'tools/call',
      { name: 'x' },
      {
        session,
        principal: anonymous,
        listens: true,
        task: undefined,
        ask: (asked) => relay.ask(call, connection, asked),
        adopt: (asked) => relay.adopt(call, connection, asked),
        withdraw: (asked, reason) => relay.withdraw(call, asked, reason),
        progress: () => undefined,
        log: () => undefined,
        doubt: () => undefined,
        resume: (go) => go(),
        notification: () => undefined,
        settle: () => relay.forget(call.exchange),
      },
      { capabilities: {}, logLevel: undefined },
    );
    return { id, exchange: call.exchange, events };
  };
  return { relay, transport: await ready.promise, begin, notices };
}

/** The server sends a question in a call, and answers the call. @returns the id of the question. */
function askAndEnd(
  transport: OneStream,
  call: { readonly id: number; readonly events: readonly ExchangeEvent[] },
): InputKey {
  transport.say(question);
  const [asked] = call.events;
  transport.say({ id: call.id, result: {} });
  return asked?.kind === 'input' ? asked.input : expect.fail('nothing was asked');
}

it('an answer given in a call that has ended meanwhile reaches the server, and the session need not ask', async () => {
  const { relay, transport, begin, notices } = await open(newRequestKey());
  const call = begin();
  const input = askAndEnd(transport, call);
  relay.answer(call.exchange, input, answer);
  relay.answer(call.exchange, input, answer);
  expect(transport.sent.slice(1)).toEqual([{ jsonrpc: '2.0', id: 'q', ...answer }]);
  await notices.untilSome(({ kind }) => kind === 'question-withdrawn');
  expect(notices.values).toMatchObject([
    { kind: 'question', input, movedFrom: call.exchange },
    { kind: 'question-withdrawn', input },
  ]);
});

it('an answer given in a call that has ended meanwhile reaches the server, and the next call need not ask', async () => {
  const { relay, transport, begin } = await open(newRequestKey());
  const next = begin();
  const call = begin();
  const input = askAndEnd(transport, call);
  relay.answer(call.exchange, input, answer);
  expect(transport.sent.slice(1)).toEqual([{ jsonrpc: '2.0', id: 'q', ...answer }]);
  expect(next.events).toMatchObject([
    { kind: 'input', input, movedFrom: call.exchange },
    { kind: 'input-withdrawn', input },
  ]);
});

it('an answer of a call that was never asked reaches nobody', async () => {
  const { relay, transport, begin } = await open(newRequestKey());
  const [call, other] = [begin(), begin()];
  transport.say({ ...question });
  const [asked] = other.events;
  relay.answer(call.exchange, asked?.kind === 'input' ? asked.input : -1, answer);
  expect(transport.sent).toHaveLength(1);
});
