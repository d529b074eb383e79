/** Sessions that go to workers with fewer: the shares by themselves, and real workers on a bus in memory with a clock of the test. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { assert, array, double, infiniteStream, nat, property } from 'fast-check';
import { catalogBucket, MemoryBus, subjects } from '@omnibus/bus';
import { coderNames } from '@omnibus/catalog';
import { firstReply } from '@omnibus/bus/testing';
import {
  anonymous,
  catalogKey,
  latestLegacyRevision,
  newWorkerId,
  noAnnouncements,
  noLists,
  parseServerName,
  rootEndpoint,
  sessionKey,
  shownKeyLength,
  type Caller,
  type SessionCommand,
  type SessionKey,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { initialize, startedWorker } from '../started-worker-under-test.ts';
import type { SessionWorker } from '../worker.ts';
import { sharesOf, type Share } from './balance.ts';

const worker = newWorkerId('session');

describe('the share of a worker', () => {
  const numbers = (own: number, ...others: readonly number[]): number[] =>
    sharesOf(
      own,
      others.map((sessions) => ({ worker, sessions })),
      0.5,
    ).map(({ sessions }) => sessions);

  it.each([
    ['one worker gives nothing', 100, [], []],
    ['equal workers give nothing', 100, [100, 99], []],
    ['a small difference is left alone', 110, [90], []],
    ['a fresh worker gets a part at a time', 1_000, [0], [50]],
    ['a small worker gives a few at a time', 40, [0], [5]],
    ['at most what is above the mean', 3, [0], [1]],
    ['a worker below the mean gives nothing', 10, [1_000, 0], []],
    ['two fresh workers get the same', 300, [0, 0], [8, 7]],
    ['more fresh workers than sessions that it may give', 80, [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1]],
  ] as const)('%s', (_title, own, others, given) => {
    expect(numbers(own, ...others)).toEqual(given);
  });

  const starts = infiniteStream(double({ min: 0, max: 1, maxExcluded: true, noNaN: true }));

  it('in rounds of all workers at once, they come near the mean and stay there', () => {
    assert(
      property(array(nat(2_000), { minLength: 2, maxLength: 8 }), starts, (counts, random) => {
        const total = counts.reduce((sum, count) => sum + count, 0);
        const mean = total / counts.length;
        const most = Math.max(...counts);
        const round = (): number => {
          const before = counts.map((sessions, index) => ({ worker: String(index) as WorkerId, sessions }));
          const given = before.flatMap((own): readonly (readonly [number, Share])[] =>
            sharesOf(
              own.sessions,
              before.filter((other) => other !== own),
              random.next().value as number,
            ).map((share) => [Number(own.worker), share] as const),
          );
          for (const [from, { worker: to, sessions }] of given) {
            counts[from] = (counts[from] as number) - sessions;
            counts[Number(to)] = (counts[Number(to)] as number) + sessions;
          }
          return given.length;
        };
        let rounds = 0;
        while (round() > 0 && rounds < 1_000) rounds += 1;
        expect(rounds).toBeLessThan(1_000);
        // Each may give the same one a session for a fraction.
        expect(Math.max(...counts)).toBeLessThanOrEqual(most + counts.length);
        expect(Math.min(...counts)).toBeGreaterThanOrEqual(Math.floor(0.8 * mean) - counts.length);
      }),
    );
  });
});

describe('a worker that has just started', () => {
  const caller: Caller = { principal: anonymous, endpoint: rootEndpoint };
  const sessionCount = 20;
  const configuration = JSON.stringify({ listing: 'code', mcpServers: { up: { url: 'http://127.0.0.1:1/mcp' } } });

  class SharedBus extends MemoryBus {
    override readonly isShared = true;
  }

  let bus: MemoryBus;
  let workers: SessionWorker[];
  let streams = 0;

  const started = async (): Promise<void> => {
    workers.push(await startedWorker(bus, configuration));
  };

  beforeEach(async () => {
    vi.useFakeTimers();
    workers = [];
    bus = new SharedBus(({ what, error }) => expect.fail(`${what}: ${String(error)}`));
    await started();
  });

  afterEach(async () => {
    const stopped = Promise.all(workers.map((each) => each.stop()));
    await vi.advanceTimersByTimeAsync(20_000);
    await stopped;
    vi.useRealTimers();
  });

  async function open(): Promise<{ readonly key: SessionKey; readonly at: WorkerId }> {
    const opened = await firstReply(bus, subjects.sessionOpen(undefined), {
      kind: 'open',
      caller,
      request: initialize,
    });
    if (opened.kind !== 'opened') throw new Error(JSON.stringify(opened));
    const key = sessionKey(opened.session);
    await firstReply(bus, subjects.session(opened.worker), {
      key,
      command: post({ kind: 'notification', message: { jsonrpc: '2.0', method: 'notifications/initialized' } }),
    });
    return { key, at: opened.worker };
  }

  function post(message: Extract<SessionCommand, { kind: 'post' }>['message']): SessionCommand {
    streams += 1;
    return { kind: 'post', caller, stream: `post-${streams}` as StreamId, message };
  }

  /** The workers by the sessions that they hold now. */
  async function holders(keys: readonly SessionKey[]): Promise<ReadonlyMap<SessionKey, WorkerId>> {
    const found = keys.map(
      async (key) => [key, (await firstReply(bus, subjects.sessionFind, { key })).worker] as const,
    );
    return new Map(await Promise.all(found));
  }

  it('gets idle sessions of another one, with their open streams, and no session with an open request', async () => {
    const opened = await Promise.all(Array.from({ length: sessionCount }, open));
    const keys = opened.map(({ key }) => key);
    const first = opened[0]?.at as WorkerId;
    // All sessions have a GET stream.
    const frames = keys.map((key) => {
      const heard: StreamFrame['kind'][] = [];
      streams += 1;
      const command: SessionCommand = {
        kind: 'attach',
        caller,
        stream: `get-${streams}` as StreamId,
        after: undefined,
      };
      bus.request(
        subjects.session(first),
        { key, command },
        { reply: ({ kind }) => heard.push(kind), failed: ({ kind }) => expect.fail(kind) },
      );
      return heard;
    });
    await started();
    await vi.advanceTimersByTimeAsync(12_000);
    const held = await holders(keys);
    const moved = keys.filter((key) => held.get(key) !== first);
    expect(moved.length).toBe(5);
    expect(frames.map((heard) => heard.at(-1))).toEqual(
      keys.map((key) => (moved.includes(key) ? 'moved' : 'attached')),
    );
    const [key] = moved as [SessionKey];
    const ping = post({ kind: 'request', message: { jsonrpc: '2.0', id: 1, method: 'ping' } });
    const next = held.get(key) as WorkerId;
    expect([
      await firstReply(bus, subjects.session(first), { key, command: ping }),
      await firstReply(bus, subjects.session(next), { key, command: ping }),
    ]).toMatchObject([{ kind: 'moved' }, { kind: 'message', isAnswer: true }]);
    await vi.advanceTimersByTimeAsync(60_000);
    const counts = Map.groupBy((await holders(keys)).values(), (each) => each);
    expect([...counts.values()].map(({ length }) => length)).toEqual([10, 10]);
  });

  /** Its server has a tool, and does not answer calls. */
  async function serverHolds(): Promise<void> {
    const server = parseServerName('up');
    const catalog = await bus.keyValue(catalogBucket);
    await catalog.put(catalogKey(server, newWorkerId('backend')), {
      server,
      status: 'up',
      revision: latestLegacyRevision,
      capabilities: { tools: {} },
      lists: { ...noLists, tools: [{ name: 'slow', inputSchema: { type: 'object' } }] },
      announcements: noAnnouncements,
    });
    await bus.subscribe(subjects.backend(server), () => undefined, { queue: 'backend' });
  }

  it('gets no session with a task of a script, which no other worker can continue; while the task runs, the session is not idle', async () => {
    await serverHolds();
    const { key, at } = await open();
    const run = { name: coderNames.run, arguments: { code: 'await servers.up.slow();' }, task: {} };
    const begun = firstReply(bus, subjects.session(at), {
      key,
      command: post({ kind: 'request', message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: run } }),
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await begun).toMatchObject({ kind: 'message', text: expect.stringContaining('"taskId"') as string });
    // It would be the first to go, as the one without a request for longest.
    const others = await Promise.all(Array.from({ length: sessionCount - 1 }, open));
    await vi.advanceTimersByTimeAsync(1_000);
    const idle = workers[0]?.desk.list().sessions.filter(({ idleMs }) => idleMs > 0) ?? [];
    expect(idle.map((row) => row.key).toSorted()).toEqual(
      others.map((other) => other.key.slice(0, shownKeyLength)).toSorted(),
    );
    // The new worker waits a while for a sign of the backend worker.
    const starting = started();
    await vi.advanceTimersByTimeAsync(15_000);
    await starting;
    await vi.advanceTimersByTimeAsync(12_000);
    const held = await holders([key, ...others.map((other) => other.key)]);
    expect(held.get(key)).toBe(at);
    expect([...held.values()].filter((each) => each !== at).length).toBeGreaterThanOrEqual(5);
  });
});
