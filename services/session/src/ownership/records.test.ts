import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryBus, type Bucket, type KeyValue } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  newWorkerId,
  rootEndpoint,
  type SessionKey,
  type SessionRecord,
  type WorkerId,
} from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { SessionRecords } from './records.ts';

const key = 'key' as SessionKey;
const [one, two] = [newWorkerId('session'), newWorkerId('session')];
const recordOf = (worker: WorkerId, touched: readonly string[] = []): SessionRecord => ({
  caller: { principal: anonymous, endpoint: rootEndpoint },
  revision: '2025-11-25',
  capabilities: {},
  offered: [],
  isReady: true,
  worker,
  touched: touched as never,
  subscriptions: [],
});

/** A store with failures on demand, and counters. */
function failing(store: KeyValue<SessionRecord>) {
  const state = { isFailing: false, attempts: 0 };
  const guarded =
    <Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      state.attempts += 1;
      return state.isFailing ? Promise.reject(new Error('insufficient resources')) : run(...args);
    };
  const wrapped: KeyValue<SessionRecord> = {
    get: guarded((name) => store.get(name)),
    wasDeleted: guarded((name) => store.wasDeleted(name)),
    put: guarded((name, value) => store.put(name, value)),
    create: guarded((name, value) => store.create(name, value)),
    update: guarded((name, value, revision) => store.update(name, value, revision)),
    restore: guarded((name, value) => store.restore(name, value)),
    delete: guarded((name, revision) => store.delete(name, revision)),
    watch: (observer) => store.watch(observer),
  };
  return { state, wrapped };
}

describe('the records of sessions', () => {
  let bus: MemoryBus;
  let now: number;
  let wheel: DeadlineWheel;
  let taken: SessionKey[];
  let buckets = 0;

  beforeEach(() => {
    bus = new MemoryBus(({ what }) => expect.fail(what));
    now = 0;
    wheel = new DeadlineWheel({
      now: () => now,
      onFault: (error) => {
        throw error;
      },
    });
    taken = [];
    buckets += 1;
  });

  const pass = (ms: number): void => {
    now += ms;
    wheel.tick();
  };

  const open = (maxAgeMs?: number): Promise<KeyValue<SessionRecord>> =>
    bus.keyValue({
      name: `records-${buckets}`,
      ...(maxAgeMs === undefined ? {} : { maxAgeMs }),
    } satisfies Bucket<SessionRecord> as Bucket<SessionRecord>);
  const recordsOf = (store: KeyValue<SessionRecord>, worker: WorkerId, maxAgeMs?: number): SessionRecords =>
    new SessionRecords({
      records: store,
      worker,
      wheel,
      log: createLogger({ level: 'silent', format: 'json' }),
      maxAgeMs,
      taken: (lost) => taken.push(lost),
    });

  it('a lost one is written again: the live session continues, and another worker can take it over', async () => {
    const store = await open(200);
    const records = recordsOf(store, one);
    await records.create(key, recordOf(one, ['up']));
    await expect.poll(() => store.get(key)).toBeUndefined();
    await records.verify(key);
    expect(taken).toEqual([]);
    expect((await store.get(key))?.value).toEqual(recordOf(one, ['up']));
  });

  it('is written again long before it is forgotten, while its session lives', async () => {
    const store = await open();
    const records = recordsOf(store, one, 400);
    await records.create(key, recordOf(one));
    const { revision } = (await store.get(key)) as { readonly revision: number };
    await expect
      .poll(async () => {
        pass(60);
        return (await store.get(key))?.revision;
      })
      .toBeGreaterThan(revision);
    records.stop();
  });

  it('one that was deleted stays deleted: its session was ended by the worker that had taken it over', async () => {
    const store = await open();
    const [before, after] = [recordsOf(store, one), recordsOf(store, two)];
    await before.create(key, recordOf(one));
    expect(await after.adopt(key, (await after.read(key)) as never)).toBe(true);
    after.remove(key);
    await expect.poll(() => store.get(key)).toBeUndefined();
    await before.verify(key);
    expect([taken, await store.get(key)]).toEqual([[key], undefined]);
  });

  it('the previous owner of a session does not remove the record of the present one', async () => {
    const store = await open();
    const [before, after] = [recordsOf(store, one), recordsOf(store, two)];
    await before.create(key, recordOf(one));
    await after.adopt(key, (await after.read(key)) as never);
    before.remove(key);
    before.save(key, recordOf(one, ['late']));
    await before.verify(key);
    await before.release(key);
    expect((await store.get(key))?.value.worker).toBe(two);
  });

  it('a worker asks for the owner of a session until it knows it', async () => {
    const store = await open();
    const { state, wrapped } = failing(store);
    const records = recordsOf(wrapped, one);
    await records.create(key, recordOf(one));
    const { revision } = (await store.get(key)) as { readonly revision: number };
    await store.update(key, recordOf(two), revision);
    state.isFailing = true;
    await records.verify(key);
    expect(taken).toEqual([]);
    pass(2_000);
    await expect.poll(() => state.attempts).toBeGreaterThan(2);
    state.isFailing = false;
    await vi.waitFor(
      () => {
        pass(10_000);
        expect(taken).toEqual([key]);
      },
      { timeout: 45_000 },
    );
  });

  it('while the store fails, one attempt a record is to come, however often the session changes; then it is written', async () => {
    const store = await open();
    const { state, wrapped } = failing(store);
    const records = recordsOf(wrapped, one);
    state.isFailing = true;
    await records.create(key, recordOf(one));
    for (let change = 0; change < 50; change += 1) {
      records.save(key, recordOf(one, [`server-${change}`]));
      await Promise.resolve();
    }
    expect(state.attempts).toBe(1);
    pass(1_100);
    await expect.poll(() => state.attempts).toBe(2);
    state.isFailing = false;
    await vi.waitFor(
      async () => {
        pass(10_000);
        expect((await store.get(key))?.value.touched).toEqual(['server-49']);
      },
      { timeout: 45_000 },
    );
  });

  it('is complete in the store once it is written, and not while a later one cannot be', async () => {
    const { state, wrapped } = failing(await open());
    const records = recordsOf(wrapped, one);
    const created = records.create(key, recordOf(one));
    expect(records.isWritten(key)).toBe(false);
    await created;
    expect(records.isWritten(key)).toBe(true);
    state.isFailing = true;
    records.save(key, recordOf(one, ['up']));
    expect(records.isWritten(key)).toBe(false);
    await setImmediate();
    expect([state.attempts, records.isWritten(key)]).toEqual([2, false]);
    await records.release(key);
    expect(records.isWritten(key)).toBe(false);
  });

  it('a new session waits five seconds for a store that has worked, and one second for a store that is known to fail', async () => {
    const { wrapped } = failing(await open());
    const attempts: PromiseWithResolvers<number>[] = [];
    const create = (): Promise<number> => {
      const attempt = Promise.withResolvers<number>();
      attempts.push(attempt);
      return attempt.promise;
    };
    const records = recordsOf({ ...wrapped, create }, one);
    const opened: SessionKey[] = [];
    const openOne = async (name: SessionKey): Promise<void> => {
      await records.create(name, recordOf(one));
      opened.push(name);
    };
    const first = openOne(key);
    pass(4_900);
    await setImmediate();
    expect(opened).toEqual([]);
    pass(200);
    await first;
    await vi.waitUntil(() => attempts.length === 1);
    attempts[0]?.reject(new Error('the store does not answer'));
    await setImmediate();
    const second = openOne('second' as SessionKey);
    await setImmediate();
    expect(opened).toEqual([key]);
    pass(1_100);
    await second;
  });

  it('the record of a session that ended while the store failed is removed when it works again', async () => {
    const store = await open();
    const { state, wrapped } = failing(store);
    const records = recordsOf(wrapped, one);
    await records.create(key, recordOf(one));
    state.isFailing = true;
    records.remove(key);
    await expect.poll(() => state.attempts).toBe(2);
    expect(await store.get(key)).toBeDefined();
    state.isFailing = false;
    await vi.waitFor(
      async () => {
        pass(10_000);
        expect(await store.get(key)).toBeUndefined();
      },
      { timeout: 45_000 },
    );
  });
});
