/** Examining a NATS as users with few permissions, which must leave nothing behind. */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNatsServer, type NatsServer } from '../testing/index.ts';
import { examineNats, type NatsExamination } from './examine.ts';
import { busRoles, natsUsers } from './permissions.ts';
import type { NatsPlace } from './place.ts';

const users = (place: NatsPlace): string =>
  `authorization { users: [\n${natsUsers((role) => role, place)}\n{ user: admin, password: admin }\n{ user: nobody, password: nobody, permissions: { publish: ["elsewhere"], subscribe: ["elsewhere"] } }\n] }`;
const place: NatsPlace = { prefix: 'team' };
let nats: NatsServer;
beforeAll(async () => {
  nats = await startNatsServer(users(place));
});
afterAll(() => nats[Symbol.asyncDispose]());

const as = (user: string): Promise<NatsExamination> =>
  examineNats({
    servers: nats.url.replace('://', `://${user}:${user}@`),
    place,
    clientName: 'test',
    connectTimeoutMs: 5_000,
  });

it('each role is known by what it may hear, everything else is not, and the clock is read without a trace', async () => {
  const connection = await connect({ servers: nats.url, user: 'admin', pass: 'admin' });
  const manager = await jetstreamManager(connection);
  const streams = async (): Promise<string[]> => {
    const names: string[] = [];
    for await (const stream of manager.streams.names()) names.push(stream);
    return names;
  };
  // Nothing is stored yet: a user that may create streams can read the clock, and a role cannot.
  expect(await as('admin')).toMatchObject({ roles: ['all', ...busRoles], storage: 'there' });
  expect(Math.abs((await as('admin')).clockSkewMs as number)).toBeLessThan(1_000);
  for (const role of busRoles)
    expect(await as(role)).toMatchObject({ roles: [role], storage: 'there', clockSkewMs: undefined });
  expect(await as('nobody')).toMatchObject({ roles: [], storage: undefined, clockSkewMs: undefined });
  expect(await streams()).toEqual([]);

  const kept = ['KV_team-catalog', 'KV_team-oauth-short'];
  for (const name of kept) await manager.streams.add({ name, subjects: [`$KV.${name.slice(3)}.>`] });
  for (const role of busRoles) expect(Math.abs((await as(role)).clockSkewMs as number)).toBeLessThan(1_000);
  expect(await streams()).toEqual(kept);
  expect((await manager.streams.info('KV_team-catalog')).state).toMatchObject({ consumer_count: 0, messages: 0 });
  // The mark of an edge expires with the bucket, within minutes.
  expect((await manager.streams.info('KV_team-oauth-short')).state).toMatchObject({ consumer_count: 0, messages: 1 });
  await connection.close();
});

it('an account without JetStream is told to be one', async () => {
  await using other = await startNatsServer('accounts { PLAIN: { users: [{ user: plain, password: plain }] } }');
  const { roles, storage, clockSkewMs } = await examineNats({
    servers: other.url.replace('://', '://plain:plain@'),
    clientName: 'test',
    connectTimeoutMs: 5_000,
  });
  expect(roles).toEqual(['all', ...busRoles]);
  expect([storage, clockSkewMs]).toEqual([
    { problem: expect.stringContaining('JetStream not enabled') as string },
    undefined,
  ]);
});
