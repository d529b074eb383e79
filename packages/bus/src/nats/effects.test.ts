/**
 * Effects that a process with the permissions of one role must not have at NATS, whatever it requests. Asserted are the stored data, and the messages that others
 * hear. NATS answers on any subject that a sender names, so each role tries that too.
 */
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Bus } from '../bus.ts';
import { families, type BusRole, type Family } from '../families.ts';
import { allOf, root } from '../subject.ts';
import { auditLedger, sessionsBucket, subjects, vaultBuckets } from '../subjects.ts';
import { Heard } from '../testing/heard.ts';
import { startNatsProgram, type NatsServer } from '../testing/nats-server.ts';
import { samples } from '../testing/samples.ts';
import { sampleRecord } from '../testing/shared-nats.ts';
import { openNatsBus } from './bus.ts';
import { busRoles, inboxOf, natsUsers, permissionsOf } from './permissions.ts';
import { setUpNats } from './setup.ts';
import { allStreams } from './streams.ts';
import { usualPlace } from './place.ts';

const ledger = { ...auditLedger, maxAgeMs: 60_000, maxBytes: 1_000_000 };
const streams = allStreams(usualPlace, ledger);
let server: NatsServer;
let admin: NatsConnection;
let manager: JetStreamManager;

const login = (user: string): string => server.url.replace('://', `://${user}:${user}@`);
const as = (user: BusRole): Promise<NatsConnection> =>
  connect({ servers: server.url, user, pass: user, inboxPrefix: inboxOf(user) });

beforeAll(async () => {
  server = await startNatsProgram(
    `authorization { users: [\n${natsUsers((user) => user)}\n{ user: admin, password: admin }\n] }`,
  );
  await setUpNats({ servers: login('setup'), clientName: 'setup', connectTimeoutMs: 5_000 }, ledger);
  admin = await connect({ servers: server.url, user: 'admin', pass: 'admin' });
  manager = await jetstreamManager(admin);
});
afterAll(async () => {
  await admin.close();
  await server[Symbol.asyncDispose]();
});

/** Subjects that a role may publish on, as patterns. */
function mayPublish(role: BusRole, subject: string): boolean {
  const given = subject.split('.');
  return permissionsOf(role).publish.some((pattern) => {
    const tokens = pattern.split('.');
    return (
      (tokens.at(-1) === '>' ? given.length >= tokens.length : given.length === tokens.length) &&
      tokens.every((token, index) => token === '*' || token === '>' || token === given[index])
    );
  });
}

const exampleOf = (name: string, { tokens }: Family): string => [allOf(name, 0), ...tokens.map(() => 'x')].join('.');
/** Subjects that carry messages, of each family. */
const messages = Object.entries<Family>(families).map(([name, family]) => exampleOf(name, family));

/** Everything that is stored: subject, number and bytes of each message, and the settings of each stream. */
async function stored(): Promise<Readonly<Record<string, unknown>>> {
  const found: Record<string, unknown> = {};
  for (const { name } of streams) {
    const { config, state } = await manager.streams.info(name);
    const kept: unknown[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
      const message = await manager.streams.getMessage(name, { seq }).catch(() => null);
      if (message !== null) kept.push([seq, message.subject, message.string()]);
    }
    found[name] = { config, kept };
  }
  return found;
}

describe.each(busRoles)('the user of role %s', (role) => {
  let user: NatsConnection;
  /** Messages that arrive on subjects that the role may not publish on. */
  let arrived: Heard<string>;

  beforeEach(async () => {
    for (const { subjects: of } of streams)
      admin.publish((of[0] as string).replaceAll(/[*>]/g, 'secret'), '{"value":1}');
    await admin.flush();
    user = await as(role);
    arrived = new Heard();
    return () => user.close();
  });

  /** Asks without caring for an answer, and waits until NATS has dealt with it. */
  async function ask(subject: string, body: unknown, reply = `${inboxOf(role)}.x.y`): Promise<void> {
    user.publish(subject, typeof body === 'string' ? body : JSON.stringify(body), { reply });
    await user.flush();
    // JetStream has handled earlier requests when it answers this one.
    await manager.getAccountInfo();
    await admin.flush();
  }

  it('neither changes, copies, empties nor deletes stored data by requests to the API of JetStream', async () => {
    const before = await stored();
    for (const { name, subjects: of } of streams) {
      const { config } = await manager.streams.info(name);
      const change = (more: object): Promise<void> => ask(`$JS.API.STREAM.UPDATE.${name}`, { ...config, ...more });
      await change({ max_msgs: 1 });
      await change({ max_age: 1_000_000 });
      await change({ subjects: [...of, allOf('backend-at', 2)] });
      await change({ republish: { src: '>', dest: `${inboxOf(role)}.copy.>` } });
      await change({ sealed: true });
      await ask(`$JS.API.STREAM.DELETE.${name}`, '');
      if (name !== 'KV_omnibus-catalog-parts')
        await ask(`$JS.API.STREAM.SNAPSHOT.${name}`, { deliver_subject: `${inboxOf(role)}.snap` });
    }
    for (const name of ['omnibus-copy', 'KV_omnibus-copy', 'KV_omnibus-sessions-copy'])
      await ask(`$JS.API.STREAM.CREATE.${name}`, { name, sources: [{ name: 'KV_omnibus-vault' }], storage: 'memory' });
    expect(await stored()).toEqual(before);
    const names: string[] = [];
    for await (const name of manager.streams.names()) names.push(name);
    expect(names.toSorted()).toEqual(streams.map(({ name }) => name).toSorted());
  });

  it('reads nothing of a bucket that it does not use', async () => {
    const unread = streams.filter(({ name }) => !mayPublish(role, `$JS.API.STREAM.MSG.GET.${name}`));
    expect(unread.length).toBeGreaterThan(0);
    const heard: string[] = [];
    user.subscribe(`${inboxOf(role)}.>`, { callback: (_error, message) => void heard.push(message.string()) });
    for (const { name, subjects: of } of unread) {
      const key = (of[0] as string).replaceAll(/[*>]/g, 'secret');
      await ask(`$JS.API.STREAM.MSG.GET.${name}`, { last_by_subj: key });
      await ask(`$JS.API.DIRECT.GET.${name}.${key}`, '');
      await ask(`$JS.API.CONSUMER.CREATE.${name}.spy`, {
        stream_name: name,
        config: { name: 'spy', deliver_subject: `${inboxOf(role)}.spy`, ack_policy: 'none', deliver_policy: 'all' },
      });
      await ask(`$JS.API.CONSUMER.MSG.NEXT.${name}.spy`, '');
    }
    await user.flush();
    expect(heard.filter((text) => text.includes('"value":1') || text.includes('"message"'))).toEqual([]);
    for (const { name } of streams) expect((await manager.streams.info(name)).state.consumer_count).toBe(0);
  });

  it('has nothing of its own choice delivered on a subject that it may not publish on', async () => {
    const forbidden = messages.filter((subject) => !mayPublish(role, subject));
    for (const subject of forbidden)
      admin.subscribe(subject, { max: 1_000, callback: (_error, message) => arrived.add(message.string()) });
    await admin.flush();
    const said = '{"kind":"evil"}';
    const own = streams.filter(({ subjects: of }) => mayPublish(role, (of[0] as string).replaceAll(/[*>]/g, 'evil')));
    for (const { name, subjects: of } of own) {
      const key = (of[0] as string).replaceAll(/[*>]/g, 'evil');
      await ask(key, said);
      for (const target of forbidden) {
        await ask(`$JS.API.DIRECT.GET.${name}.${key}`, '', target);
        await ask(`$JS.API.DIRECT.GET.${name}`, { last_by_subj: key }, target);
        await ask(`$JS.API.CONSUMER.CREATE.${name}.to`, {
          stream_name: name,
          config: { name: 'to', deliver_subject: target, ack_policy: 'none', deliver_policy: 'all' },
        });
        await ask(`$JS.API.CONSUMER.DURABLE.CREATE.${name}.to`, {
          stream_name: name,
          config: { durable_name: 'to', deliver_subject: target, ack_policy: 'none', deliver_policy: 'all' },
        });
      }
    }
    expect(arrived.values.filter((text) => text.includes('evil'))).toEqual([]);
  }, 60_000);

  it('adds to the audit under names of its own role only', async () => {
    const { messages } = (await manager.streams.info(auditLedger.name)).state;
    const subjectOf = (of: string): string => allOf(auditLedger.family, 0) + of;
    for (const of of ['.x', ...busRoles.filter((other) => other !== role).map((other) => `.${other}.x`)])
      await ask(subjectOf(of), 'forged');
    expect((await manager.streams.info(auditLedger.name)).state.messages).toBe(messages);
    await ask(subjectOf(`.${role}.x`), 'own');
    expect((await manager.streams.info(auditLedger.name)).state.messages).toBe(messages + 1);
  });

  it('takes nothing away by having the acknowledgement of a message sent to the API of JetStream', async () => {
    const kept = ['omnibus-audit', 'KV_omnibus-vault', 'KV_omnibus-approvals', 'KV_omnibus-oauth-keys'];
    const count = async (): Promise<number[]> =>
      Promise.all(kept.map(async (name) => (await manager.streams.info(name)).state.messages));
    const before = await count();
    const own = streams.filter(({ subjects: of }) => mayPublish(role, (of[0] as string).replaceAll(/[*>]/g, 'any')));
    for (const { subjects: of } of own)
      for (const name of kept)
        for (const api of ['PURGE', 'MSG.DELETE', 'DELETE', 'UPDATE'])
          await ask((of[0] as string).replaceAll(/[*>]/g, 'any'), '{}', `$JS.API.STREAM.${api}.${name}`);
    for (const [index, after] of (await count()).entries())
      expect(after).toBeGreaterThanOrEqual(before[index] as number);
  });
});

describe('a reply', () => {
  /** An edge may not publish there, and a session worker may. */
  const forbidden = subjects.backend('good' as never).name;
  let near: Bus;
  beforeEach(async () => {
    near = await openNatsBus(
      { servers: login('session'), clientName: 'session', inboxPrefix: inboxOf('session'), connectTimeoutMs: 5_000 },
      () => undefined,
    );
    return () => near.drain();
  });

  it('is sent to an inbox of the installation and to no other subject that the sender names', async () => {
    const handled = new Heard<string>();
    await near.subscribe(subjects.modern(undefined), (_payload, reply) => {
      handled.add('handled');
      reply({ outcome: 'elsewhere' } as never);
    });
    const heard = new Heard<string>();
    for (const target of ['$KV.omnibus-sessions.victim', forbidden, `${root}.inboxes.x`, '_INBOX.x'])
      admin.subscribe(target, { callback: (_error, { subject }) => heard.add(subject) });
    admin.subscribe(`${inboxOf('edge')}.x`, { callback: (_error, { subject }) => heard.add(subject) });
    await admin.flush();
    const edge = await as('edge');
    for (const reply of [
      '$KV.omnibus-sessions.victim',
      forbidden,
      `${root}.inboxes.x`,
      '_INBOX.x',
      `${inboxOf('edge')}.x`,
    ])
      edge.publish(subjects.modern(undefined).name, JSON.stringify(samples.modern.request), { reply });
    expect(await heard.until(1)).toEqual([`${inboxOf('edge')}.x`]);
    await near.roundTrip();
    await admin.flush();
    expect([heard.values.length, handled.values.length]).toEqual([1, 1]);
    await edge.close();
  });

  it('with a part of a large message goes to an inbox of the installation only', async () => {
    const heard = new Heard<string>();
    const claims = new Heard<string>();
    const edge = await as('edge');
    edge.subscribe(subjects.presence.name, {
      callback: (_error, message) => claims.add(message.headers?.get('Omnibus-Blob') ?? ''),
    });
    await edge.flush();
    near.publish(subjects.presence, { worker: 'x'.repeat(3_000_000) } as never);
    const [sender, id] = ((await claims.until(1))[0] as string).split(' ') as [string, string];
    for (const target of [forbidden, `${inboxOf('edge')}.x`])
      admin.subscribe(target, { callback: (_error, { subject }) => heard.add(subject) });
    await admin.flush();
    edge.publish(sender, `${id} 0`, { reply: forbidden });
    edge.publish(sender, `${id} 0`, { reply: `${inboxOf('edge')}.x` });
    expect(await heard.until(1)).toEqual([`${inboxOf('edge')}.x`]);
    await edge.close();
  });
});

it('a process that may not create streams waits for the set-up, says so, and goes on when it was run', async () => {
  await using bare = await startNatsProgram(`authorization { users: [\n${natsUsers((user) => user)}\n] }`);
  const at = (user: string): string => bare.url.replace('://', `://${user}:${user}@`);
  const faults = new Heard<string>();
  const bus = await openNatsBus(
    { servers: at('session'), clientName: 'session', inboxPrefix: inboxOf('session'), connectTimeoutMs: Infinity },
    ({ what }) => faults.add(what),
  );
  const opening = bus.keyValue(sessionsBucket);
  expect(await faults.until(1)).toEqual([
    'the stream KV_omnibus-sessions is missing at NATS or older than this version, and this process may not create or update it: run "omnibus nats setup" as a user that may',
  ]);
  expect(bus.missing).toEqual(['KV_omnibus-sessions']);
  const options = { servers: at('setup'), clientName: 'setup', connectTimeoutMs: 5_000 };
  const steps = await setUpNats(options, undefined);
  expect(new Set(steps.map(({ did }) => did))).toEqual(new Set(['created']));
  const store = await opening;
  expect(bus.missing).toEqual([]);
  await store.put('key', sampleRecord);
  // It can run again: correct streams stay, and others are corrected.
  expect(new Set((await setUpNats(options, undefined)).map(({ did }) => did))).toEqual(new Set(['left']));
  expect((await store.get('key'))?.value).toEqual(sampleRecord);
  await bus.drain();
});

it('the set-up puts right what differs, and says what it may not do', async () => {
  await using bare = await startNatsProgram(
    `authorization { users: [\n${natsUsers((user) => user)}\n{ user: admin, password: admin }\n] }`,
  );
  const at = (user: string): string => bare.url.replace('://', `://${user}:${user}@`);
  const run = (user: string): ReturnType<typeof setUpNats> =>
    setUpNats({ servers: at(user), clientName: 'setup', connectTimeoutMs: 5_000 }, undefined);
  const connection = await connect({ servers: bare.url, user: 'admin', pass: 'admin' });
  const other = await jetstreamManager(connection);
  const { name, connections } = { name: 'KV_omnibus-vault', connections: vaultBuckets.connections };
  await other.streams.add({ name, subjects: [`$KV.${connections.name}.>`, allOf('backend-at', 2)], max_msgs: 1 });
  const step = (await run('setup')).find(({ stream }) => stream === name);
  expect(step).toMatchObject({ did: 'updated' });
  expect(step?.changed).toEqual(expect.arrayContaining(['subjects', 'max_msgs_per_subject', 'deny_purge']));
  const { config } = await other.streams.info(name);
  expect(config).toMatchObject({ subjects: [`$KV.${connections.name}.>`], max_msgs: -1, deny_purge: true });
  await other.streams.delete(name);
  const refused = (await run('session')).find(({ stream }) => stream === name);
  expect(refused).toMatchObject({
    did: 'failed',
    problem: expect.stringContaining('permissions of "setup"') as string,
  });
  await connection.close();
});
