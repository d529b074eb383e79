/** Answers to requests while a connection is not open. */
import { expect, it, vi } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, parseServerName } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Era } from '../dialect/modern/discovery.ts';
import { Troubled } from '../transport/trouble.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { UpstreamConnection } from './connection.ts';
import { OneStream } from './one-stream-under-test.ts';

/** @param open opens a transport; it gets the number of earlier ones. */
function connectionUnderTest(
  open: (before: number) => Promise<void>,
  more: Partial<ConnectionOptions> = {},
): UpstreamConnection {
  let opened = 0;
  return new UpstreamConnection({
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
      const outcome = open(opened);
      opened += 1;
      return Object.assign(new OneStream(observer), { open: () => outcome });
    },
    isExclusive: false,
    connectTimeoutMs: 5_000,
    backoff: { minMs: 1, maxMs: 2 },
    wheel: new DeadlineWheel({ tickMs: 1, onFault: (error) => expect.fail(String(error)) }),
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
    ...more,
  });
}

it('while a connection is opened again, its requests are refused with the reason why it could not be opened before', async () => {
  const [first, again] = [Promise.withResolvers<never>(), Promise.withResolvers<void>()];
  const later = Promise.withResolvers<never>();
  const connection = connectionUnderTest((before) => {
    if (before === 1) queueMicrotask(again.resolve);
    return before === 0 ? first.promise : later.promise;
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

it.each([
  ['credentials', true, ['HTTP 401', 'HTTP 401', 'HTTP 401'], 0],
  ['credentials', false, ['HTTP 401', 'HTTP 401', 'HTTP 401'], 1],
  ['address', true, ['refused', 'refused', 'reset'], 2],
] as const)(
  'a server that cannot be used (%s) is warned of once for each problem, unless it only waits for a user who signs in',
  async (trouble, wantsSignIn, problems, warnings) => {
    const fourth = Promise.withResolvers<void>();
    const log = createLogger({ level: 'silent', format: 'json' });
    const [warn, info] = [vi.spyOn(log, 'warn'), vi.spyOn(log, 'info')];
    const connection = connectionUnderTest(
      (before) => {
        if (before === 3) fourth.resolve();
        const problem = problems[before];
        return problem === undefined
          ? Promise.withResolvers<void>().promise
          : Promise.reject(new Troubled(trouble, problem));
      },
      { log, isBase: true, wantsSignIn: () => wantsSignIn },
    );
    connection.start();
    await fourth.promise;
    expect(warn).toHaveBeenCalledTimes(warnings);
    expect(info).toHaveBeenCalledTimes(warnings === 0 ? 1 : 0);
    await connection.stop();
  },
);
