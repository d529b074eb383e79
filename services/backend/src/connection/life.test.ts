/** What requests are told while a connection is not open. */
import { expect, it } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, parseServerName } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Era } from '../dialect/modern/discovery.ts';
import { UpstreamConnection } from './connection.ts';
import { OneStream } from './one-stream-under-test.ts';

it('while a connection is opened again, its requests are refused with the reason why it could not be opened before', async () => {
  const wheel = new DeadlineWheel({ tickMs: 1, onFault: (error) => expect.fail(String(error)) });
  const [first, again] = [Promise.withResolvers<never>(), Promise.withResolvers<void>()];
  const later = Promise.withResolvers<never>();
  let opened = 0;
  const connection = new UpstreamConnection({
    server: parseServerName('one'),
    worker: newWorkerId('backend'),
    isProgram: false,
    capabilities: {},
    owner: undefined,
    isTakenInTurn: () => false,
    isBase: false,
    era: new Era('legacy'),
    toolSchema: () => undefined,
    createTransport(observer) {
      opened += 1;
      const outcome = opened === 1 ? first.promise : later.promise;
      if (opened === 2) queueMicrotask(again.resolve);
      return Object.assign(new OneStream(observer), { open: () => outcome });
    },
    isExclusive: false,
    connectTimeoutMs: 5_000,
    backoff: { minMs: 1, maxMs: 2 },
    wheel,
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    observer: {
      ready: () => undefined,
      lost: () => undefined,
      strayProgress: () => false,
      missed: () => undefined,
      askedUnnamed: () => undefined,
      notification: () => undefined,
    },
  });
  connection.start();
  const waiting = connection.ask('tools/list', {});
  first.reject(new Error('no token is given for this user'));
  const refusal = {
    kind: 'fault',
    fault: {
      reason: 'upstream.unavailable',
      message: 'server "one" is not available: no token is given for this user',
    },
  };
  expect(await waiting).toMatchObject(refusal);
  await again.promise;
  expect(await connection.ask('tools/list', {})).toMatchObject(refusal);
  await connection.stop();
});
