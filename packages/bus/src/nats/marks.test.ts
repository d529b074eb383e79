/** Marks of deleted keys. */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { startNatsProgram } from '../testing/nats-server.ts';
import { openNatsBus } from './bus.ts';

it('a deleted key leaves a mark for a while and then nothing, and one that was written again stays', async () => {
  await using server = await startNatsProgram();
  const bus = await openNatsBus({ servers: server.url, clientName: 'one', connectTimeoutMs: 5_000 }, () => undefined);
  // Marks of one store go at once, and those of the other stay for longer than a test takes on any machine.
  const [store, slow] = [
    await bus.keyValue<number>({ name: 'omnibus-marks', isSmall: true, forgetsMs: 300 }),
    await bus.keyValue<number>({ name: 'omnibus-slow', isSmall: true, forgetsMs: 3_600_000 }),
  ];
  for (let number = 0; number < 20; number += 1) {
    for (const each of [store, slow]) {
      await each.put(`key-${number}`, number);
      await each.delete(`key-${number}`);
    }
  }
  const [revision] = [await store.create('key-7', 7), await slow.create('key-7', 7)];
  const connection = await connect({ servers: server.url });
  const manager = await jetstreamManager(connection);
  const left = async (name: string): Promise<number> =>
    (await manager.streams.info(`KV_omnibus-${name}`)).state.messages;
  await expect.poll(() => left('marks')).toBe(1);
  expect(await left('slow')).toBe(20);
  expect(await slow.wasDeleted('key-19')).toBe(true);
  expect(await store.get('key-7')).toEqual({ key: 'key-7', value: 7, revision });
  expect(await store.wasDeleted('key-19')).toBe(false);
  await connection.close();
  await bus.drain();
});

it('parts of a large value that was replaced or deleted leave nothing', async () => {
  await using server = await startNatsProgram();
  const bus = await openNatsBus({ servers: server.url, clientName: 'one', connectTimeoutMs: 5_000 }, () => undefined);
  const store = await bus.keyValue<string>({ name: 'omnibus-large' });
  for (const letter of ['a', 'b', 'c']) await store.put('key', letter.repeat(2_000_000));
  const connection = await connect({ servers: server.url });
  const manager = await jetstreamManager(connection);
  const left = async (): Promise<number> => (await manager.streams.info('KV_omnibus-large-parts')).state.messages;
  expect(await left()).toBe(4);
  await store.delete('key');
  expect(await left()).toBe(0);
  await connection.close();
  await bus.drain();
});

it('a follower hears that a key is gone whose mark came and went without it', async () => {
  await using server = await startNatsProgram();
  const bus = await openNatsBus({ servers: server.url, clientName: 'one', connectTimeoutMs: 5_000 }, () => undefined);
  const store = await bus.keyValue<number>({ name: 'omnibus-missed', isSmall: true, forgetsMs: 0 });
  const heard: string[] = [];
  await store.watch(({ kind, key }) => heard.push(`${kind} ${key}`));
  await store.put('kept', 1);
  const revision = await store.put('lifted', 2);
  await expect.poll(() => heard).toEqual(['put kept', 'put lifted']);
  const connection = await connect({ servers: server.url });
  await (await jetstreamManager(connection)).streams.deleteMessage('KV_omnibus-missed', revision, false);
  await store.put('next', 3);
  await expect.poll(() => heard).toEqual(['put kept', 'put lifted', 'put next', 'delete lifted']);
  await connection.close();
  await bus.drain();
});
