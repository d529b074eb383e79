import { expect, it } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newRequestKey, newWorkerId, parseServerName, type ExchangeOutcome } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Era } from '../dialect/modern/discovery.ts';
import type { RequestFailure } from '../transport/transport.ts';
import { UpstreamConnection } from './connection.ts';
import { OneStream } from './one-stream-under-test.ts';
import { gatewayReply } from './pending-reply.ts';

async function connect() {
  const ready = Promise.withResolvers<void>();
  const lost: string[] = [];
  let transport: OneStream | undefined;
  const connection = new UpstreamConnection({
    server: parseServerName('one'), worker: newWorkerId('backend'), isProgram: false, capabilities: {}, owner: undefined, isTakenInTurn: () => false, isBase: false, era: new Era('legacy'), toolSchema: () => undefined,
    createTransport: (observer) => (transport = new OneStream(observer)),
    isExclusive: false, connectTimeoutMs: 5_000, backoff: { minMs: 60_000, maxMs: 60_000 },
    wheel: new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }), metrics: new Metrics({ processMetrics: false }),
    observer: { ready: () => ready.resolve(), lost: (problem) => lost.push(problem), strayProgress: () => false, missed: () => undefined, askedUnnamed: () => undefined, notification: () => undefined },
  });
  connection.start();
  await ready.promise;
  const begin = (outcomes: ExchangeOutcome[]): number => connection.request('tools/call', { name: 'act' }, { ...gatewayReply, session: newRequestKey(), settle: (outcome) => outcomes.push(outcome) }, { capabilities: {}, logLevel: undefined });
  return { connection, transport: transport as OneStream, lost, begin };
}

const refusals: readonly (readonly [string, RequestFailure])[] = [
  ['are refused with 401', { kind: 'refused', httpStatus: 401, problem: 'the server wants a sign-in' }],
  ['are refused with 403', { kind: 'refused', httpStatus: 403, problem: 'the server demands more rights' }],
  ['cannot be sent for want of credentials', { kind: 'not-sent', hadNoCredentials: true, problem: 'the issuer does not answer' }],
];

it.each(refusals)('a call that its server has taken goes on while others %s, and later ones take the server out of use', async (_how, failure) => {
  const { connection, transport, lost, begin } = await connect();
  const [taken, refused]: [ExchangeOutcome[], ExchangeOutcome[]] = [[], []];
  const id = begin(taken);
  for (let count = 0; count < 20; count += 1) transport.fail(begin(refused), failure);
  expect([refused.length, taken, lost]).toEqual([20, [], []]);
  transport.say({ id, result: { content: [] } });
  expect(taken).toEqual([{ kind: 'result', result: { content: [] } }]);
  for (let count = 0; count < 20; count += 1) transport.fail(begin(refused), failure);
  expect([refused.length, lost.length, connection.isReady]).toEqual([40, 1, false]);
  await connection.stop();
});

it('a server that cannot be connected to is taken out of use at once, and what it had taken is lost', async () => {
  const { connection, transport, lost, begin } = await connect();
  const [taken, failed]: [ExchangeOutcome[], ExchangeOutcome[]] = [[], []];
  begin(taken);
  transport.fail(begin(failed), { kind: 'not-sent', problem: 'cannot connect' });
  expect([lost, taken, failed]).toMatchObject([['cannot connect'], [{ kind: 'fault', fault: { reason: 'upstream.lost' } }], [{ kind: 'fault', fault: { reason: 'upstream.unavailable' } }]]);
  await connection.stop();
});
