/** The remains of a closed connection. */
import { expect, it } from 'vitest';
import { DeadlineWheel, type Deadline } from '@omnibus/lifecycle';
import {
  latestModernRevision,
  newWorkerId,
  parseServerName,
  type JsonObject,
  type JsonRpcRequest,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Era } from '../dialect/modern/discovery.ts';
import type { Transport, TransportObserver } from '../transport/transport.ts';
import { UpstreamConnection } from './connection.ts';

/** One that knows which of its deadlines are to come. */
class KnownWheel extends DeadlineWheel {
  readonly toCome = new Set<Deadline>();

  override schedule(delayMs: number, callback: () => void): Deadline {
    const given = super.schedule(delayMs, () => {
      this.toCome.delete(deadline);
      callback();
    });
    const deadline: Deadline = {
      extend: (ms) => given.extend(ms),
      cancel: () => {
        this.toCome.delete(deadline);
        given.cancel();
      },
    };
    this.toCome.add(deadline);
    return deadline;
  }
}

/** A server of 2026-07-28 that takes subscriptions and tells of nothing. */
class QuietServer implements Transport {
  readonly needsNoProbe = false;
  readonly closesToCancel = false;
  readonly keepsOrder = true;
  readonly takesNamelessErrors = true;
  readonly hasState = true;
  readonly #observer: TransportObserver;
  readonly #subscribed: () => void;

  constructor(observer: TransportObserver, subscribed: () => void) {
    this.#observer = observer;
    this.#subscribed = subscribed;
  }

  request({ id, method }: JsonRpcRequest): void {
    if (method === 'server/discover') {
      const result = {
        resultType: 'complete',
        supportedVersions: [latestModernRevision],
        capabilities: { tools: { listChanged: true } },
      };
      queueMicrotask(() => this.#observer.message({ jsonrpc: '2.0', id, result } satisfies JsonObject, undefined));
    } else if (method === 'subscriptions/listen') this.#subscribed();
  }

  send = (_message: unknown, settled?: () => void): void => settled?.();
  open = (): Promise<void> => Promise.resolve();
  close = (): Promise<void> => Promise.resolve();
  abandon = (): void => undefined;
  agreed = (): void => undefined;
  listen = (): void => undefined;
}

function connectionTo(
  server: { readonly transport: (observer: TransportObserver) => Transport; readonly lost: (problem: string) => void },
  wheel: DeadlineWheel,
): UpstreamConnection {
  return new UpstreamConnection({
    server: parseServerName('one'),
    worker: newWorkerId('backend'),
    isProgram: true,
    capabilities: {},
    owner: undefined,
    isTakenInTurn: () => false,
    isBase: false,
    era: new Era('auto'),
    toolSchema: () => undefined,
    createTransport: server.transport,
    isExclusive: true,
    connectTimeoutMs: 5_000,
    backoff: { minMs: 1, maxMs: 2 },
    wheel,
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    observer: {
      ready: () => undefined,
      lost: server.lost,
      strayProgress: () => false,
      missed: () => undefined,
      askedUnnamed: () => undefined,
      notification: () => undefined,
    },
  });
}

it('a connection that is closed is kept by no deadline, also while its server is subscribed to', async () => {
  const wheel = new KnownWheel({ onFault: (error) => expect.fail(String(error)) });
  const subscribed = Promise.withResolvers<void>();
  const connection = connectionTo(
    {
      transport: (observer) => new QuietServer(observer, subscribed.resolve),
      lost: (problem) => subscribed.reject(new Error(problem)),
    },
    wheel,
  );
  connection.start();
  await subscribed.promise;
  expect(wheel.toCome.size).toBeGreaterThan(0);
  await connection.stop();
  expect(wheel.toCome.size).toBe(0);
});

it.each([
  ['at once, by whoever hears of it', true],
  ['a moment later', false],
])('a connection that is lost and then stopped, %s, is not tried again', async (_when, isAtOnce) => {
  const wheel = new KnownWheel({ onFault: (error) => expect.fail(String(error)) });
  const stopped = Promise.withResolvers<void>();
  let opened = 0;
  const connection = connectionTo(
    {
      transport: (observer) => {
        opened += 1;
        return Object.assign(new QuietServer(observer, () => undefined), {
          open: () => Promise.reject(new Error('nobody is there')),
        });
      },
      lost: () => {
        if (isAtOnce) stopped.resolve(connection.stop());
        else queueMicrotask(() => stopped.resolve(connection.stop()));
      },
    },
    wheel,
  );
  connection.start();
  await stopped.promise;
  expect([wheel.toCome.size, opened]).toEqual([0, 1]);
});
