import { describe, expect, it } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  newRequestKey,
  newWorkerId,
  parseServerName,
  RepairCounts,
  type ExchangeOutcome,
  type Principal,
  type SessionKey,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { UpstreamConnection } from './connection.ts';
import { Era } from '../dialect/modern/discovery.ts';
import { OneStream } from './one-stream-under-test.ts';
import type { PendingReply } from './pending-reply.ts';
import { Questions } from './questions.ts';

/** @param owner the session that has the connection alone. */
async function connect(owner?: SessionKey) {
  const transports: OneStream[] = [];
  const ready = Promise.withResolvers<void>();
  const logged: (SessionKey | readonly SessionKey[])[] = [];
  const asked: string[] = [];
  const progressed: SessionKey[] = [];
  const connection = new UpstreamConnection({
    server: parseServerName('one'),
    worker: newWorkerId('backend'),
    isProgram: true,
    capabilities: { elicitation: {} },
    owner:
      owner === undefined
        ? undefined
        : {
            session: owner,
            task: undefined,
            ask: () => asked.push('session'),
            adopt: () => asked.push('session adopts'),
            withdraw: () => asked.push('session hears no more'),
          },
    isTakenInTurn: () => false,
    isBase: false,
    era: new Era('legacy'),
    toolSchema: () => undefined,
    repairs: new RepairCounts(),
    createTransport: (observer) => {
      const transport = new OneStream(observer);
      transports.push(transport);
      return transport;
    },
    isExclusive: true,
    connectTimeoutMs: 5_000,
    backoff: { minMs: 1, maxMs: 2 },
    wheel: new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    observer: {
      ready: () => ready.resolve(),
      lost: (problem) => ready.reject(new Error(problem)),
      strayProgress: () => false,
      missed: () => undefined,
      askedUnnamed: () => undefined,
      notification: (_method, _params, { sessions }) => logged.push(sessions),
    },
  });
  connection.start();
  await ready.promise;
  const transport = transports[0] as OneStream;
  const settled: ExchangeOutcome[] = [];
  const begin = (session: SessionKey, name: string, principal: Principal = anonymous): number => {
    const waiter: PendingReply = {
      session,
      principal,
      listens: true,
      task: undefined,
      ask: () => asked.push(name),
      adopt: () => asked.push(`${name} adopts`),
      withdraw: () => asked.push(`${name} hears no more`),
      progress: () => progressed.push(session),
      log: () => logged.push(session),
      doubt: () => undefined,
      resume: (go) => go(),
      notification: (method) => asked.push(method),
      settle: (outcome: ExchangeOutcome) => settled.push(outcome),
    };
    return connection.request('tools/call', { name }, waiter, { capabilities: {}, logLevel: undefined });
  };
  return { connection, transport, asked, logged, progressed, settled, begin };
}

const question = {
  id: 'q',
  method: 'elicitation/create',
  params: { message: 'Well?', requestedSchema: { type: 'object' } },
};
const log = { method: 'notifications/message', params: { level: 'error', data: 'x' } };

describe('what a server asks in a message that is none', () => {
  it.each([
    ['a misspelt method', { id: 'u2', method_: 'ping' }, 'u2'],
    ['params that are an array', { id: 0, method: 'ping', params: [1] }, 0],
    ['a null id', { id: null, method: 'ping' }, undefined],
    ['a misspelt id', { id_: 1, method: 'roots/list' }, undefined],
    ['a method that is none', { id: 'm', method: 7 }, 'm'],
    ['another version', { jsonrpc: '1.0', id: 'v', method: 'ping' }, 'v'],
  ])('is refused with -32600, and harms no call: %s', async (_what, message, id) => {
    const { transport, begin, settled } = await connect();
    begin(newRequestKey(), 'call');
    transport.say(message);
    const [, refusal] = transport.sent;
    expect(refusal).toMatchObject({ jsonrpc: '2.0', error: { code: -32_600 } });
    expect((refusal as { readonly id?: unknown }).id).toBe(id);
    expect(settled).toEqual([]);
  });

  it('is refused with -32700 where it cannot be read', async () => {
    const { transport } = await connect();
    transport.stammer('u2');
    transport.stammer(undefined);
    expect(transport.sent.slice(1)).toMatchObject([
      { id: 'u2', error: { code: -32_700 } },
      { error: { code: -32_700 } },
    ]);
  });

  it('is refused over HTTP only where its id is known', async () => {
    const { transport } = await connect();
    transport.takesNamelessErrors = false;
    transport.say({ id: null, method: 'ping' });
    transport.stammer(undefined);
    transport.say({ id: 'u2', method_: 'ping' });
    expect(transport.sent.slice(1)).toMatchObject([{ id: 'u2', error: { code: -32_600 } }]);
  });

  it('is not answered when it was an answer, or no message at all, and not without end', async () => {
    const { transport, begin, settled } = await connect();
    transport.say({ id: begin(newRequestKey(), 'call') });
    transport.say({ id: begin(newRequestKey(), 'call'), result: 7 });
    transport.say({ id: 99, error: 'no' });
    transport.say({ level: 'info', msg: 'started' });
    expect([settled.length, transport.sent.length]).toEqual([2, 1]);
    for (let line = 0; line < 5_000; line += 1) transport.say({ id: 'u2', method_: 'ping' });
    expect(transport.sent.length).toBeLessThan(1_000);
  });
});

describe('what no revision knows, from a server of one stream', () => {
  const ask = { id: 'c', method: 'example/ask', params: {} };
  const news = { method: 'notifications/example/news', params: {} };

  it('goes to the one request of the one session that uses it', async () => {
    const { transport, asked, begin } = await connect();
    begin(newRequestKey(), 'call');
    transport.say(ask);
    transport.say(news);
    expect(asked).toEqual(['call', 'notifications/example/news']);
  });

  it('goes to nobody once two sessions have used it; a question is answered -32601, and so is one that belongs to another direction', async () => {
    const { connection, transport, asked, begin } = await connect();
    connection.cancel(begin(newRequestKey(), 'one'), 'over');
    begin(newRequestKey(), 'two');
    for (const message of [ask, news, { id: 'd', method: 'tools/call', params: { name: 'x' } }]) transport.say(message);
    expect(asked).toEqual([]);
    expect(transport.sent.slice(2)).toMatchObject([
      { id: 'c', error: { code: -32_601 } },
      { id: 'd', error: { code: -32_601 } },
    ]);
  });
});

describe('what a server of one stream asks while a call is in flight that is answered before its question is', () => {
  const answer = { result: { action: 'decline' } };

  it('is asked of the session that has the connection alone, and its answer reaches the server', async () => {
    const session = newRequestKey();
    const { connection, transport, asked, begin } = await connect(session);
    const id = begin(session, 'call');
    transport.say(question);
    transport.say({ id, result: {} });
    expect(asked).toEqual(['call', 'session adopts']);
    connection.respond('q', answer);
    expect(transport.sent.at(-1)).toEqual({ jsonrpc: '2.0', id: 'q', ...answer });
  });

  it('is asked of the next-latest call first', async () => {
    const session = newRequestKey();
    const { transport, asked, begin } = await connect(session);
    begin(session, 'first');
    const latest = begin(session, 'latest');
    transport.say(question);
    transport.say({ id: latest, result: {} });
    expect(asked).toEqual(['latest', 'first adopts']);
  });

  it.each([
    ['nobody has the connection alone', undefined, 'answered'],
    ['its client took the call back', newRequestKey(), 'cancelled'],
  ] as const)('is answered that nobody will, where %s', async (_where, owner, how) => {
    const session = owner ?? newRequestKey();
    const { connection, transport, asked, begin } = await connect(owner);
    const id = begin(session, 'call');
    transport.say(question);
    if (how === 'cancelled') connection.cancel(id, 'enough');
    else transport.say({ id, result: {} });
    expect(asked).toEqual(['call']);
    expect(transport.sent).toContainEqual({
      jsonrpc: '2.0',
      id: 'q',
      error: expect.objectContaining({ data: expect.objectContaining({ reason: 'input.unattributed' }) }),
    });
  });
});

describe('what a server of one stream asks whose connection ends', () => {
  const ends = {
    'it is lost': ({ transport }) => transport.end(),
    'it is closed': ({ connection }) => connection.stop(),
  } satisfies Record<string, (one: Awaited<ReturnType<typeof connect>>) => unknown>;

  it.each(Object.entries(ends))("is taken back, and becomes nobody else's, when %s", async (_how, end) => {
    const session = newRequestKey();
    const one = await connect(session);
    one.begin(session, 'call');
    one.transport.say(question);
    await end(one);
    expect(one.asked).toEqual(['call', 'call hears no more']);
    expect(one.settled).toMatchObject([{ kind: 'fault', fault: { reason: 'upstream.lost' } }]);
  });

  it.each(Object.entries(ends))(
    'is taken back from the session that was asked outside any call, when %s',
    async (_how, end) => {
      const one = await connect(newRequestKey());
      one.transport.say(question);
      await end(one);
      expect(one.asked).toEqual(['session', 'session hears no more']);
    },
  );
});

describe('a question that its server withdraws', () => {
  it.each([
    [7, '7'],
    ['7', 7],
    ['7', '7'],
  ])('with the id %j is taken back from the call also if the server writes %j', async (id, written) => {
    const { transport, asked, begin } = await connect();
    begin(newRequestKey(), 'call');
    transport.say({ ...question, id });
    transport.say({ method: 'notifications/cancelled', params: { requestId: written } });
    expect(asked).toEqual(['call', 'call hears no more']);
  });

  it('is the one whose id has the same type, if two questions differ in that alone', async () => {
    const { connection, transport, asked, begin } = await connect();
    begin(newRequestKey(), 'call');
    for (const id of [7, '7']) transport.say({ ...question, id });
    transport.say({ method: 'notifications/cancelled', params: { requestId: '7' } });
    expect(asked).toEqual(['call', 'call', 'call hears no more']);
    connection.respond(7, { result: { action: 'decline' } });
    expect(transport.sent.at(-1)).toMatchObject({ id: 7 });
  });
});

describe('what a server of one stream says of no request', () => {
  it('goes to the latest request of the one session that uses it, though an older one is in a slot behind it', async () => {
    const { connection, transport, asked, begin } = await connect();
    const session = newRequestKey();
    const first = begin(session, 'first');
    begin(session, 'older');
    connection.cancel(first, 'enough');
    begin(session, 'latest');
    transport.say(question);
    expect(asked).toEqual(['latest']);
  });

  it('is refused once a second session has used it, also while one alone has something in flight', async () => {
    const { connection, transport, asked, logged, begin } = await connect();
    const [one, two] = [newRequestKey(), newRequestKey()];
    connection.cancel(begin(one, 'one'), 'over');
    begin(two, 'two');
    transport.say(question);
    transport.say(log);
    expect(asked).toEqual([]);
    expect(transport.sent).toMatchObject([
      { method: 'notifications/initialized' },
      { method: 'notifications/cancelled' },
      { id: 'q', error: { data: { reason: 'input.unattributed' } } },
    ]);
    expect(logged).toEqual([[]]);
  });

  it('is told to the one session that has used it, also when it has nothing in flight', async () => {
    const { connection, transport, logged, begin } = await connect();
    const session = newRequestKey();
    connection.cancel(begin(session, 'over'), 'over');
    transport.say(log);
    expect(logged).toEqual([[session]]);
  });
});

describe('what a server of one stream says without naming a request', () => {
  const news = { method: 'notifications/example/news', params: {} };
  const [ann, bob] = ['ann', 'bob'] as Principal[];

  it('reaches the only call in flight of anonymous sessions that come in turn', async () => {
    const { transport, asked, logged, progressed, begin } = await connect();
    const [one, two] = [newRequestKey(), newRequestKey()];
    for (const session of [one, two, one, two]) {
      const id = begin(session, 'call');
      transport.say(log);
      transport.say(news);
      transport.say({ method: 'notifications/progress', params: { progress: 1 } });
      transport.say({ id, result: {} });
    }
    expect(logged).toEqual([one, two, one, two]);
    expect(progressed).toEqual([one, two, one, two]);
    expect(asked).toEqual([news.method, news.method, news.method, news.method]);
  });

  it('reaches no anonymous session while several have calls in flight, and their sessions again once one has ended', async () => {
    const { connection, transport, logged, progressed, begin } = await connect();
    const [one, two] = [newRequestKey(), newRequestKey()];
    const ids = [begin(one, 'one'), begin(two, 'two')];
    transport.say(log);
    transport.say({ method: 'notifications/progress', params: { progress: 1 } });
    for (const id of ids) transport.say({ id, result: {} });
    transport.say(log);
    expect(logged).toEqual([[], []]);
    expect(progressed).toEqual([]);
    connection.forgetSession(one);
    transport.say(log);
    expect(logged.at(-1)).toEqual([two]);
  });

  it('reaches an anonymous session with several calls, where no other has any', async () => {
    const { transport, logged, begin } = await connect();
    const [one, two] = [newRequestKey(), newRequestKey()];
    transport.say({ id: begin(one, 'one'), result: {} });
    begin(two, 'two');
    begin(two, 'two again');
    transport.say(log);
    expect(logged).toEqual([[two]]);
  });

  it('reaches no anonymous session while the server may go on with a call that another gave up', async () => {
    const { connection, transport, logged, begin } = await connect();
    const [one, two] = [newRequestKey(), newRequestKey()];
    connection.cancel(begin(one, 'one'), 'enough');
    transport.say({ id: begin(two, 'two'), result: {} });
    const id = begin(two, 'two');
    transport.say(log);
    transport.say({ id, result: {} });
    const own = begin(one, 'one');
    transport.say(log);
    transport.say({ id: own, result: {} });
    connection.forgetSession(one);
    begin(two, 'two');
    transport.say(log);
    expect(logged).toEqual([[], one, two]);
  });

  it('reaches all sessions of the one user of the connection, unless a single call is in flight', async () => {
    const { connection, transport, logged, begin } = await connect();
    const [one, two] = [newRequestKey(), newRequestKey()];
    const first = begin(one, 'one', ann);
    transport.say(log);
    begin(two, 'two', ann);
    transport.say(log);
    transport.say({ id: first, result: {} });
    transport.say(log);
    connection.forgetSession(one);
    begin(two, 'two again', ann);
    transport.say(log);
    expect(logged).toEqual([one, [one, two], two, [two]]);
  });

  it('reaches no caller once two users have used the connection', async () => {
    const { transport, asked, logged, progressed, begin } = await connect();
    const say = (): void => {
      for (const each of [log, news, { method: 'notifications/progress', params: { progress: 1 } }])
        transport.say(each);
    };
    const first = begin(newRequestKey(), 'one', ann);
    const second = begin(newRequestKey(), 'two', bob);
    say();
    transport.say({ id: first, result: {} });
    say();
    transport.say({ id: second, result: {} });
    say();
    expect([asked, progressed]).toEqual([[], []]);
    expect(logged.flat()).toEqual([]);
  });

  it('is dropped where it is progress of a call that has ended', async () => {
    const { transport, progressed, begin } = await connect();
    const session = newRequestKey();
    const ended = begin(session, 'one');
    transport.say({ id: ended, result: {} });
    begin(session, 'two');
    transport.say({ method: 'notifications/progress', params: { progressToken: ended, progress: 1 } });
    expect(progressed).toEqual([]);
  });
});

it('a server that reads roots still tells whose its questions are, and one that asks anything else outside a request does not', () => {
  const session = newRequestKey();
  let unnamed = 0;
  const questions = new Questions({
    server: parseServerName('one'),
    capabilities: { roots: {}, elicitation: {} },
    owner: undefined,
    send: () => undefined,
    inFlight: () => [],
    user: () => session,
    isTakenInTurn: () => false,
    unnamed: () => (unnamed += 1),
    repairs: undefined,
    log: createLogger({ level: 'silent', format: 'json' }),
  });
  questions.hear({ jsonrpc: '2.0', id: 1, method: 'roots/list' }, undefined);
  expect(unnamed).toBe(0);
  questions.hear(
    {
      jsonrpc: '2.0',
      id: 2,
      method: 'elicitation/create',
      params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
    },
    undefined,
  );
  expect(unnamed).toBe(1);
});
