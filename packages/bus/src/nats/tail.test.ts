/** Reports to a bucket's followers while it, or a part of it, cannot be read. */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import type { Bucket, KeyValueChange } from '../bus.ts';
import { Heard } from '../testing/heard.ts';
import { startNatsProgram } from '../testing/nats-server.ts';
import { openNatsBus } from './bus.ts';
import type { StoredEntry, StoreState } from './store.ts';
import { followStore } from './tail.ts';

const bucket: Bucket<string> = { name: 'omnibus-torn' };

it('a value with unreadable parts is reported when they can be read, unless another has replaced it, and delays no other', async () => {
  const refused = '{ user: reader, password: reader, permissions: { publish: { deny: ["$JS.API.STREAM.CREATE.>"] } } }';
  await using server = await startNatsProgram(
    `authorization { users: [${refused}, { user: writer, password: writer }] }`,
  );
  const faults = new Heard<string>();
  const open = (user: string): ReturnType<typeof openNatsBus> =>
    openNatsBus(
      { servers: server.url.replace('://', `://${user}:${user}@`), clientName: user, connectTimeoutMs: 5_000 },
      ({ kind }) => faults.add(kind),
    );
  const [far, near] = [await open('writer'), await open('reader')];
  await far.keyValue(bucket);
  const heard = new Heard<KeyValueChange<string>>();
  await (await near.keyValue(bucket)).watch(heard.add);

  const connection = await connect({ servers: server.url, user: 'writer', pass: 'writer' });
  const manager = await jetstreamManager(connection);
  const parts = (await manager.streams.info('KV_omnibus-torn-parts')).config;
  await manager.streams.delete(parts.name);
  const write = (key: string, stored: object): Promise<unknown> =>
    manager.jetstream().publish(`$KV.omnibus-torn.${key}`, JSON.stringify(stored));
  for (const key of ['late', 'replaced']) await write(key, { format: 1, generation: 'g', parts: 1 });
  await write('replaced', { format: 1, value: 'whole' });
  await heard.until(1);
  expect(faults.values).toContain('store');
  await manager.streams.add(parts);
  await manager.jetstream().publish('$KV.omnibus-torn-parts.late.g.0', JSON.stringify('in parts'));
  expect((await heard.until(2)).map((change) => [change.key, change.kind === 'put' ? change.value : '-'])).toEqual([
    ['replaced', 'whole'],
    ['late', 'in parts'],
  ]);
  await connection.close();
  await near.drain();
  await far.drain();
});

it('a bucket that cannot be read is reported once for each reason, and again after it could be read', async () => {
  await using server = await startNatsProgram();
  const connection = await connect({ servers: server.url });
  const changedSubject = 'torn.changed';
  const empty: StoreState = { created: 'now', first: 1, last: 0, messages: 0 };
  const looks = new Heard<string>();
  const said: string[] = [];
  let problem: string | undefined;
  const state = (): Promise<StoreState> => {
    looks.add(problem ?? 'read');
    return problem === undefined ? Promise.resolve(empty) : Promise.reject(new Error(problem));
  };
  const watch = await followStore({
    connection,
    store: {
      changedSubject,
      state,
      async *from() {
        // It stays empty.
      },
      keys: () => Promise.resolve([]),
    },
    forgetsMs: undefined,
    observer: () => Promise.resolve(),
    failed: (error) => said.push((error as Error).message),
  });
  const lookWith = async (now: string | undefined): Promise<void> => {
    problem = now;
    const seen = looks.values.length;
    connection.publish(changedSubject);
    await looks.until(seen + 1);
    // The look reports its findings before this resolves.
    await connection.flush();
  };
  for (const each of ['gone', 'gone', 'gone', 'slow', 'slow', undefined, 'slow']) await lookWith(each);
  expect(said).toEqual(['gone', 'slow', 'slow']);
  watch.close();
  await connection.close();
});

it.each([
  { forgetsMs: 0, heard: ['+kept', '+lifted', '-lifted'] },
  { forgetsMs: 600_000, heard: ['+kept', '+lifted'] },
])('if marks stay $forgetsMs ms, a follower that missed a deletion and its mark has heard $heard', async (one) => {
  await using server = await startNatsProgram();
  const connection = await connect({ servers: server.url });
  const changedSubject = 'forgotten.changed';
  const entry = (key: string, revision: number): StoredEntry => ({
    key,
    revision,
    value: new Uint8Array(0),
    isDeleted: false,
  });
  let stored = [entry('kept', 1), entry('lifted', 2)];
  let last = 2;
  const looks = new Heard<number>();
  const heard: string[] = [];
  const watch = await followStore({
    connection,
    store: {
      changedSubject,
      state() {
        looks.add(last);
        return Promise.resolve({ created: 'now', first: 1, last, messages: stored.length });
      },
      async *from(revision) {
        yield* await Promise.resolve(stored.filter((each) => each.revision >= revision));
      },
      keys: () => Promise.resolve(stored.map(({ key }) => key)),
    },
    forgetsMs: one.forgetsMs,
    observer: ({ key, isDeleted }) => {
      heard.push(`${isDeleted ? '-' : '+'}${key}`);
      return Promise.resolve();
    },
    failed: (error) => expect.fail(String(error)),
  });
  // The mark had the revision 3.
  [stored, last] = [stored.slice(0, 1), 3];
  for (let look = 0; look < 2; look += 1) {
    const seen = looks.values.length;
    connection.publish(changedSubject);
    await looks.until(seen + 1);
    await connection.flush();
  }
  expect(heard).toEqual(one.heard);
  watch.close();
  await connection.close();
});

it('following a bucket begins although others write to it at every look', async () => {
  await using server = await startNatsProgram();
  const connection = await connect({ servers: server.url });
  const changedSubject = 'busy.changed';
  const heard = new Heard<string>();
  let last = 1;
  const watch = await followStore({
    connection,
    store: {
      changedSubject,
      async state() {
        const state = { created: 'now', first: 1, last, messages: last };
        last += 1;
        connection.publish(changedSubject);
        // The follower has the announcement before it knows the state.
        await connection.flush();
        return state;
      },
      async *from(revision, { last: upTo }) {
        for (let each = revision; each <= upTo; each += 1)
          yield await Promise.resolve({ key: `k${each}`, revision: each, value: new Uint8Array(0), isDeleted: false });
      },
      keys: () => Promise.resolve([]),
    },
    forgetsMs: undefined,
    observer: ({ key }) => {
      heard.add(key);
      return Promise.resolve();
    },
    failed: (error) => expect.fail(String(error)),
  });
  expect(heard.values[0]).toBe('k1');
  expect((await heard.until(4)).slice(0, 4)).toEqual(['k1', 'k2', 'k3', 'k4']);
  watch.close();
  await connection.close();
});
