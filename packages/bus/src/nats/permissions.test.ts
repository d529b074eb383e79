/**
 * The NATS permissions of each role forbid everything else. All tests of a gateway over NATS run with them, which shows that they suffice.
 */
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Kvm } from '@nats-io/kv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { families, type BusRole, type Family } from '../families.ts';
import { startNatsProgram, type NatsServer } from '../testing/nats-server.ts';
import { allOf } from '../subject.ts';
import { openNatsBus } from './bus.ts';
import { catalogBucket, sessionsBucket } from '../subjects.ts';
import { busRoles, inboxOf, natsUsers } from './permissions.ts';

let server: NatsServer;
const connections = new Map<BusRole, NatsConnection>();

beforeAll(async () => {
  server = await startNatsProgram(
    `authorization { users: [\n${natsUsers((role) => `${role}-secret`)}\n{ user: admin, password: admin }\n] }\nno_auth_user: admin`,
  );
  for (const role of busRoles)
    connections.set(
      role,
      await connect({ servers: server.url, user: role, pass: `${role}-secret`, inboxPrefix: inboxOf(role) }),
    );
});
afterAll(async () => {
  for (const connection of connections.values()) await connection.close();
  await server[Symbol.asyncDispose]();
});

const of = (role: BusRole): NatsConnection => connections.get(role) as NatsConnection;

/** Whether NATS lets a role subscribe to a subject. */
async function hears(role: BusRole, subject: string): Promise<boolean> {
  let refused = false;
  const subscription = of(role).subscribe(subject, {
    callback: (error) => {
      refused ||= error !== null;
    },
  });
  await of(role).flush();
  subscription.unsubscribe();
  return !refused;
}

/** Whether NATS delivers the messages of a role. */
async function says(role: BusRole, subject: string): Promise<boolean> {
  const admin = await connect({ servers: server.url });
  let arrived = 0;
  admin.subscribe(subject, {
    callback: () => {
      arrived += 1;
    },
  });
  await admin.flush();
  of(role).publish(subject, '{}');
  await of(role).flush();
  await admin.flush();
  await admin.close();
  return arrived > 0;
}

const example = (name: string, { tokens }: Family): string => [allOf(name, 0), ...tokens.map(() => 'x')].join('.');

describe.each(busRoles)('the user of role %s', (role) => {
  it.each(Object.entries<Family>(families))('says and hears of %s what the table says', async (name, family) => {
    const subject = example(name, family);
    expect({ says: await says(role, subject), hears: await hears(role, subject) }).toEqual({
      says: family.from.includes(role),
      hears: family.hears.includes(role),
    });
  });

  it('hears neither answers to another role nor everything', async () => {
    for (const other of busRoles) expect(await hears(role, `${inboxOf(other)}.x`)).toBe(other === role);
    expect(await hears(role, '>')).toBe(false);
    expect(await hears(role, '$KV.>')).toBe(false);
  });
});

it('an edge reads and writes nothing that is stored of sessions or servers', async () => {
  for (const { name } of [sessionsBucket, catalogBucket]) {
    const bus = await openNatsBus(
      { servers: server.url, clientName: 'owner', connectTimeoutMs: 5_000 },
      () => undefined,
    );
    await (await bus.keyValue<string>({ name })).put('key', 'secret');
    await bus.drain();
    expect(await says('edge', `$KV.${name}.key`)).toBe(false);
    await expect(new Kvm(of('edge')).open(name).then((bucket) => bucket.get('key'))).rejects.toThrow(/ermission/);
  }
});
