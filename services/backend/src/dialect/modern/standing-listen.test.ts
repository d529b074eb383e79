/** Subscriptions to changes at a server of 2026-07-28: streams that overtake each other, are refused, and end. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { metaKeys, type ExchangeOutcome, type JsonObject } from '@omnibus/protocol';
import { retireMs, StandingListen } from './standing-listen.ts';

interface Stream {
  readonly uris: readonly string[];
  readonly end: (outcome: ExchangeOutcome) => void;
}

const error = (code: number): ExchangeOutcome => ({ kind: 'error', error: { code, message: 'no' } });
let wheel: DeadlineWheel;

beforeEach(() => {
  vi.useFakeTimers();
  wheel = new DeadlineWheel({ onFault: (fault) => expect.fail(String(fault)) });
});

afterEach(() => {
  vi.useRealTimers();
});

/** A server with streams that a test acknowledges and ends. */
class Server {
  readonly open = new Map<number, Stream>();
  missed = 0;
  isReady = true;
  /** The immediate error of the next request: it could not be sent. */
  unsent: ExchangeOutcome | undefined;
  #count = 0;
  readonly listen = new StandingListen(
    {
      open: (params, settled) => {
        this.#count += 1;
        const { resourceSubscriptions = [] } = params['notifications'] as {
          readonly resourceSubscriptions?: readonly string[];
        };
        this.open.set(this.#count, { uris: resourceSubscriptions, end: settled });
        const { unsent } = this;
        this.unsent = undefined;
        if (unsent !== undefined) this.end(this.#count, unsent);
        return this.#count;
      },
      close: (id) => void this.open.delete(id),
      isReady: () => this.isReady,
      missed: () => {
        this.missed += 1;
      },
    },
    wheel,
    { resources: { subscribe: true } },
  );

  get asked(): readonly (readonly string[])[] {
    return [...this.open.values()].map(({ uris }) => uris);
  }

  acknowledge(id: number, uris = this.open.get(id)?.uris): void {
    const params: JsonObject = {
      notifications: { resourceSubscriptions: uris },
      _meta: { [metaKeys.subscriptionId]: id },
    };
    this.listen.acknowledged(params);
  }

  end(id: number, outcome: ExchangeOutcome): void {
    const stream = this.open.get(id);
    this.open.delete(id);
    stream?.end(outcome);
  }
}

const pass = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('a standing subscription', () => {
  it('that is widened is read for a while after the wider one opens: earlier messages of the server may still be in transit', async () => {
    const server = new Server();
    void server.listen.watch(['a']);
    server.acknowledge(1);
    const wider = server.listen.watch(['a', 'b']);
    await pass();
    expect(server.asked).toEqual([['a'], ['a', 'b']]);
    server.acknowledge(2);
    expect(await wider).toEqual({ taken: ['a', 'b'] });
    expect([...server.open.keys()]).toEqual([1, 2]);
    await pass(retireMs + 100);
    expect([...server.open.keys()]).toEqual([2]);
  });

  it('is asked for once more, and no more often, for all that changes while one is not acknowledged yet', async () => {
    const server = new Server();
    const taken = [server.listen.watch(['a']), server.listen.watch(['a', 'b']), server.listen.watch(['a', 'b', 'c'])];
    await pass();
    expect(server.asked).toEqual([['a']]);
    server.acknowledge(1);
    await pass();
    expect(server.asked).toEqual([['a'], ['a', 'b', 'c']]);
    server.acknowledge(2);
    const all = { taken: ['a', 'b', 'c'] };
    expect(await Promise.all(taken)).toEqual([{ taken: ['a'] }, all, all]);
  });

  it('is not given up for one that is not acknowledged in time or that the server refuses', async () => {
    const server = new Server();
    void server.listen.watch(['a']);
    server.acknowledge(1);
    const late = server.listen.watch(['a', 'b']);
    await pass(31_000);
    expect(await late).toEqual({ fault: { reason: 'upstream.timeout', message: expect.any(String) as string } });
    expect([...server.open.keys()]).toContain(1);
    const refused = server.listen.watch(['a', 'c']);
    await pass();
    server.end(3, error(-32_602));
    expect(await refused).toEqual({ taken: [] });
    await pass(60_000);
    expect([...server.open.keys()]).toContain(1);
    expect(server.missed).toBe(0);
  });

  it('is opened again when the server ends it, also with what was asked for meanwhile, and what may have been missed is looked up', async () => {
    const server = new Server();
    void server.listen.watch(['a']);
    server.acknowledge(1);
    server.end(1, { kind: 'result', result: {} });
    await pass(1_000);
    server.acknowledge(2);
    await pass();
    expect([server.asked, server.missed]).toEqual([[['a']], 1]);
  });

  it('of a server that knows no subscriptions is not tried again by itself', async () => {
    const server = new Server();
    const taken = server.listen.watch(['a']);
    server.end(1, error(-32_601));
    expect(await taken).toEqual({ taken: [] });
    await pass(60_000);
    expect(server.asked).toEqual([]);
  });
});

it('a listen that a server ends unacknowledged, or that cannot be asked for any more, is named as what it is', async () => {
  const server = new Server();
  const ended = server.listen.watch(['a']);
  server.end(1, { kind: 'result', result: {} });
  expect(await ended).toMatchObject({ fault: { reason: 'upstream.invalid' } });
  server.isReady = false;
  expect(await server.listen.watch(['a'])).toMatchObject({ fault: { reason: 'upstream.unavailable' } });
});

it('a stream that cannot even be asked for is asked for again', async () => {
  const server = new Server();
  const fault = { reason: 'upstream.unavailable', message: 'its stdin is closed' } as const;
  server.unsent = { kind: 'fault', fault };
  const taken = server.listen.watch(['one']);
  expect(await taken).toMatchObject({ fault });
  expect(server.asked).toEqual([]);
  await pass(60_000);
  expect(server.asked).toEqual([['one']]);
});
