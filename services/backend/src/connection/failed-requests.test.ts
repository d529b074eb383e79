import { expect, it } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newRequestKey, newWorkerId, parseServerName, type ExchangeOutcome } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Era } from '../dialect/modern/discovery.ts';
import { Diary } from '../transport/diary.ts';
import type { RequestFailure } from '../transport/transport.ts';
import { UpstreamConnection } from './connection.ts';
import { OneStream } from './one-stream-under-test.ts';
import { gatewayReply } from './pending-reply.ts';

async function connect(backoffMs = 60_000) {
  const ready = Promise.withResolvers<void>();
  const lost: string[] = [];
  const transports: OneStream[] = [];
  const metrics = new Metrics({ processMetrics: false });
  const diary = new Diary();
  const connection = new UpstreamConnection({
    server: parseServerName('one'),
    worker: newWorkerId('backend'),
    isProgram: false,
    capabilities: {},
    owner: undefined,
    isTakenInTurn: () => false,
    isBase: true,
    diary,
    era: new Era('legacy'),
    toolSchema: () => undefined,
    createTransport(observer) {
      transports.push(new OneStream(observer));
      return transports.at(-1) as OneStream;
    },
    isExclusive: false,
    connectTimeoutMs: 5_000,
    backoff: { minMs: backoffMs, maxMs: backoffMs },
    wheel: new DeadlineWheel({ tickMs: 1, onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics,
    observer: {
      ready: () => ready.resolve(),
      lost: (problem) => lost.push(problem),
      strayProgress: () => false,
      missed: () => undefined,
      askedUnnamed: () => undefined,
      notification: () => undefined,
    },
  });
  connection.start();
  await ready.promise;
  const begin = (outcomes: ExchangeOutcome[]): number =>
    connection.request(
      'tools/call',
      { name: 'act' },
      { ...gatewayReply, session: newRequestKey(), settle: (outcome) => outcomes.push(outcome) },
      { capabilities: {}, logLevel: undefined },
    );
  /** How often the connection was opened again. */
  const restarts = async (): Promise<number> =>
    Number(/^omnibus_upstream_restarts_total\{server="one"\} (\d+)$/m.exec(await metrics.text())?.[1] ?? 0);
  return { connection, transports, transport: transports[0] as OneStream, lost, begin, restarts, diary };
}

const refusals: readonly (readonly [string, RequestFailure])[] = [
  ['are refused with 401', { kind: 'refused', httpStatus: 401, problem: 'the server wants a sign-in' }],
  ['are refused with 403', { kind: 'refused', httpStatus: 403, problem: 'the server demands more rights' }],
  [
    'cannot be sent for want of credentials',
    { kind: 'not-sent', hadNoCredentials: true, problem: 'the issuer does not answer' },
  ],
];

it.each(refusals)(
  'a call that its server has taken goes on while others %s, and later ones take the server out of use if a ping is refused too',
  async (_how, failure) => {
    const { connection, transport, lost, begin } = await connect();
    const [taken, refused]: [ExchangeOutcome[], ExchangeOutcome[]] = [[], []];
    const id = begin(taken);
    for (let count = 0; count < 20; count += 1) transport.fail(begin(refused), failure);
    expect([refused.length, taken, lost]).toEqual([20, [], []]);
    transport.say({ id, result: { content: [] } });
    expect(taken).toEqual([{ kind: 'result', result: { content: [] } }]);
    transport.pingFails = failure;
    for (let count = 0; count < 20; count += 1) transport.fail(begin(refused), failure);
    await expect.poll(() => [refused.length, lost.length, connection.isReady]).toEqual([40, 1, false]);
    await connection.stop();
  },
);

const broken: RequestFailure = { kind: 'refused', httpStatus: 500, problem: 'it answers HTTP 500' };

const answers: readonly (readonly [string, RequestFailure])[] = [
  ['errors with the own id of the request', { ...broken, error: { code: -32_603, message: 'boom' }, isAnswer: true }],
  ['pages instead of answers', broken],
  ['connections that break', { kind: 'lost', problem: 'the connection broke' }],
  ['answers that cannot be read', { kind: 'invalid', problem: 'it is no JSON' }],
];

it.each(answers)(
  'a tool that brings its callers %s takes its server from no other caller while it answers a ping',
  async (_how, failure) => {
    const { connection, transport, lost, begin } = await connect();
    const [failed, well]: [ExchangeOutcome[], ExchangeOutcome[]] = [[], []];
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 5; count += 1) transport.fail(begin(failed), failure);
      await expect
        .poll(() => transport.pings)
        .toBe(failure.kind === 'refused' && failure.isAnswer === true ? 0 : round + 1);
      await new Promise(setImmediate);
    }
    transport.say({ id: begin(well), result: { content: [] } });
    expect([failed.length, well.length, lost, connection.isReady]).toEqual([15, 1, [], true]);
    await connection.stop();
  },
);

it('a server that has failed every request stays in use if it refuses the ping as a method that it does not know', async () => {
  const { connection, transport, lost, begin } = await connect();
  transport.pingFails = { kind: 'refused', httpStatus: 405, problem: 'it answers HTTP 405' };
  for (let count = 0; count < 5; count += 1) transport.fail(begin([]), broken);
  await expect.poll(() => transport.pings).toBe(1);
  await new Promise(setImmediate);
  expect([lost, connection.isReady]).toEqual([[], true]);
  await connection.stop();
});

it('a call that its server has taken goes on when the server is taken out of use for what it answers others, and new ones are refused', async () => {
  const { connection, transport, lost, begin } = await connect();
  const [taken, failed, refused]: [ExchangeOutcome[], ExchangeOutcome[], ExchangeOutcome[]] = [[], [], []];
  const id = begin(taken);
  transport.pingFails = broken;
  for (let count = 0; count < 5; count += 1) transport.fail(begin(failed), broken);
  await expect.poll(() => [failed.length, taken, lost.length, connection.isOpen]).toEqual([5, [], 1, false]);
  begin(refused);
  expect(refused).toMatchObject([{ kind: 'fault', fault: { reason: 'upstream.unavailable' } }]);
  transport.say({ id, result: { content: [] } });
  expect(taken).toEqual([{ kind: 'result', result: { content: [] } }]);
  await connection.stop();
});

it('a server out of use is connected to again after a pause when it works on nothing any more, and is tried over the same connection when it does', async () => {
  const { connection, transports, lost, begin, restarts, diary } = await connect(50);
  const [taken, failed]: [ExchangeOutcome[], ExchangeOutcome[]] = [[], []];
  const id = begin(taken);
  const trip = async (): Promise<void> => {
    const before = lost.length;
    const transport = transports.at(-1) as OneStream;
    transport.pingFails = broken;
    for (let count = 0; count < 5; count += 1) transport.fail(begin(failed), broken);
    await expect.poll(() => lost.length).toBe(before + 1);
    transport.pingFails = undefined;
  };
  await trip();
  await expect.poll(() => connection.isReady).toBe(true);
  expect([transports.length, taken, await restarts()]).toEqual([1, [], 0]);
  await trip();
  transports[0]?.say({ id, result: { content: [] } });
  expect(taken.length).toBe(1);
  await expect.poll(() => connection.isReady).toBe(true);
  expect([transports.length, await restarts()]).toEqual([2, 1]);
  expect(diary.lines.map(({ text }) => text).filter((text) => !text.startsWith('not available'))).toEqual([
    'connected',
    'in use again',
    'connected',
  ]);
  await connection.stop();
});

it('a connection that breaks while its server is out of use ends what the server had taken', async () => {
  const { connection, transport, lost, begin } = await connect();
  const [taken, failed]: [ExchangeOutcome[], ExchangeOutcome[]] = [[], []];
  begin(taken);
  transport.pingFails = broken;
  for (let count = 0; count < 5; count += 1) transport.fail(begin(failed), broken);
  await expect.poll(() => lost.length).toBe(1);
  transport.end();
  expect([taken, lost.length, connection.isReady]).toMatchObject([
    [{ kind: 'fault', fault: { reason: 'upstream.lost' } }],
    2,
    false,
  ]);
  await connection.stop();
});

it('a server that cannot be connected to is taken out of use at once, and what it had taken goes on', async () => {
  const { connection, transport, lost, begin } = await connect();
  const [taken, failed]: [ExchangeOutcome[], ExchangeOutcome[]] = [[], []];
  const id = begin(taken);
  transport.fail(begin(failed), { kind: 'not-sent', problem: 'cannot connect' });
  expect([lost, taken, failed, connection.isReady]).toMatchObject([
    ['cannot connect'],
    [],
    [{ kind: 'fault', fault: { reason: 'upstream.unavailable' } }],
    false,
  ]);
  transport.say({ id, result: { content: [] } });
  expect(taken).toEqual([{ kind: 'result', result: { content: [] } }]);
  await connection.stop();
});
