import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bus, LedgerEntry } from '../bus.ts';
import { MemoryBus } from '../memory/bus.ts';
import { allOf } from '../subject.ts';
import { auditLedger } from '../subjects.ts';
import { startNatsProgram, type NatsServer } from '../testing/nats-server.ts';
import { openNatsBus } from './bus.ts';
import { inboxOf, natsUsers } from './permissions.ts';
import { setUpNats } from './setup.ts';

let server: NatsServer;
const definition = { ...auditLedger, maxAgeMs: 60_000, maxBytes: 64 * 1024 };

beforeAll(async () => {
  server = await startNatsProgram(`authorization { users: [\n${natsUsers((role) => role)}\n] }`);
  const options = {
    servers: server.url.replace('://', '://setup:setup@'),
    clientName: 'setup',
    connectTimeoutMs: 5_000,
  };
  await setUpNats(options, definition);
});
afterAll(() => server[Symbol.asyncDispose]());

const audit = (writer: string): string => `${allOf(auditLedger.family, 0)}.session.${writer}`;

async function all(bus: Bus): Promise<LedgerEntry[]> {
  return collect((await bus.ledger(definition)).read());
}

async function collect<Entry>(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const found: Entry[] = [];
  for await (const entry of entries) found.push(entry);
  return found;
}

/** Connects with the permissions of one role only. */
const over = (role: 'session' | 'edge'): Promise<Bus> =>
  openNatsBus(
    {
      servers: server.url.replace('://', `://${role}:${role}@`),
      clientName: role,
      inboxPrefix: inboxOf(role),
      connectTimeoutMs: 5_000,
    },
    () => undefined,
  );

it('no other role adds under the name of a writer, and none can remove anything', async () => {
  const [session, second] = [await over('session'), await over('session')];
  const [one, other] = [await session.ledger(definition), await second.ledger(definition)];
  await one.append('mine', 'a');
  await expect(other.append('mine', 'b')).rejects.toMatchObject({ kind: 'revision-conflict' });
  await one.append('mine', 'b');
  const { connect } = await import('@nats-io/transport-node');
  const { jetstreamManager } = await import('@nats-io/jetstream');
  const connection = await connect({
    servers: server.url,
    user: 'session',
    pass: 'session',
    inboxPrefix: inboxOf('session'),
  });
  const manager = await jetstreamManager(connection, { checkAPI: false });
  await expect(manager.streams.purge(auditLedger.name)).rejects.toThrow();
  await expect(manager.streams.deleteMessage(auditLedger.name, 1)).rejects.toThrow();
  await connection.close();
  await session.drain();
  await second.drain();
});

it('an entry of a role below its own name, under the name of another role, is no entry of that one', async () => {
  const [session, edge] = [await over('session'), await over('edge')];
  const ledger = await session.ledger(definition);
  await ledger.append('session-one', 'a');
  const { connect } = await import('@nats-io/transport-node');
  const { jetstream } = await import('@nats-io/jetstream');
  const connection = await connect({ servers: server.url, user: 'edge', pass: 'edge', inboxPrefix: inboxOf('edge') });
  await jetstream(connection).publish(audit('session-one').replace('.session.', '.edge.'), 'forged');
  await ledger.append('session-one', 'b');
  expect((await collect(ledger.read('session-one'))).map(({ text }) => text)).toEqual(['a', 'b']);
  expect((await all(edge)).find(({ text }) => text === 'forged')?.writer).toBe('edge.session-one');
  await connection.close();
  await session.drain();
  await edge.drain();
});

it('an entry is stored though another process has guessed its id, and after one of another process nothing more is under that name', async () => {
  const session = await over('session');
  const ledger = await session.ledger(definition);
  const { connect } = await import('@nats-io/transport-node');
  const { jetstream } = await import('@nats-io/jetstream');
  const connection = await connect({
    servers: server.url,
    user: 'session',
    pass: 'session',
    inboxPrefix: inboxOf('session'),
  });
  const { seq } = await jetstream(connection).publish(audit('stranger'), 'x', { msgID: 'victim:1:1' });
  expect(await ledger.append('victim', 'a')).toBe(seq + 1);
  // One that has not heard that the entry is stored.
  expect(await (await session.ledger(definition)).append('victim', 'a')).toBe(seq + 1);
  await jetstream(connection).publish(audit('victim'), 'b');
  await expect(ledger.append('victim', 'c')).rejects.toMatchObject({ kind: 'revision-conflict' });
  expect((await collect(ledger.read('victim', seq + 1))).map(({ text, number }) => [text, number])).toEqual([
    ['b', seq + 2],
  ]);
  await connection.close();
  await session.drain();
});

describe.each(['memory', 'nats'])('%s', (kind) => {
  it('keeps what each writer adds, in order and once, and takes no more than there is room for', async () => {
    const bus = kind === 'memory' ? new MemoryBus(() => undefined) : await over('session');
    const ledger = await bus.ledger(definition);
    await ledger.append('one', 'a');
    await ledger.append('other', 'b');
    await ledger.append('one', 'c');
    const back = await collect(ledger.readBack());
    expect(back.slice(0, 3).map(({ writer, text }) => writer + text)).toEqual(['onec', 'otherb', 'onea']);
    expect((await collect(ledger.readBack(back[1]?.number))).map(({ number }) => number)).toEqual(
      back.slice(2).map(({ number }) => number),
    );
    expect((await collect(ledger.read('one'))).map(({ text }) => text)).toEqual(['a', 'c']);
    expect(await collect(ledger.readBack(1))).toEqual([]);
    await ledger.append('one', 'd');
    expect(
      (await all(bus))
        .filter(({ writer }) => writer === 'one' || writer === 'other')
        .map(({ writer, text }) => ({ writer, text })),
    ).toEqual(
      [
        ['one', 'a'],
        ['other', 'b'],
        ['one', 'c'],
        ['one', 'd'],
      ].map(([writer, text]) => ({ writer, text })),
    );
    await expect(
      (async () => {
        for (let number = 4; number < 10; number += 1) await ledger.append('one', `${number}${'x'.repeat(20_000)}`);
      })(),
    ).rejects.toMatchObject({ kind: 'overloaded' });
    await bus.drain();
  });
});
