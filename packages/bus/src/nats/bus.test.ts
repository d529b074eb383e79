import { afterAll, expect, it } from 'vitest';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { OnFault } from '../bus.ts';
import type { BusUnderTest } from '../testing/bus-under-test.ts';
import { busContract } from '../testing/contract.ts';
import { Heard } from '../testing/heard.ts';
import { startNatsCluster } from '../testing/nats-cluster.ts';
import { hasDockerEngine, startNatsContainer } from '../testing/nats-container.ts';
import { startNatsProgram, startNatsServer } from '../testing/nats-server.ts';
import { subject } from '../subject.ts';
import { openNatsBus } from './bus.ts';

const forms = {
  'a NATS server of the PATH': startNatsProgram,
  ...(hasDockerEngine() ? { 'a NATS server in a container': startNatsContainer } : {}),
};

for (const [form, start] of Object.entries(forms)) {
  const server = await start();
  afterAll(() => server[Symbol.asyncDispose]());
  busContract(`the NATS bus over ${form}`, (onFault) => openEnds(server.url, onFault));
  it(`${form} that was killed comes back at its address with what it had stored`, async () => {
    await using killed = await start();
    const bus = await openNatsBus(
      { servers: killed.url, clientName: 'kept', connectTimeoutMs: 5_000 },
      () => undefined,
    );
    await (await bus.keyValue<string>({ name: 'kept', isSmall: true })).put('key', 'kept');
    await bus.drain();
    await killed.kill();
    await killed.start();
    const again = await openNatsBus(
      { servers: killed.url, clientName: 'again', connectTimeoutMs: 5_000 },
      () => undefined,
    );
    expect((await (await again.keyValue<string>({ name: 'kept', isSmall: true })).get('key'))?.value).toBe('kept');
    await again.drain();
  });
}

async function openEnds(servers: string, onFault: OnFault): Promise<BusUnderTest> {
  const options = { servers, connectTimeoutMs: 5_000 };
  const near = await openNatsBus({ ...options, clientName: 'near' }, onFault);
  const far = await openNatsBus({ ...options, clientName: 'far' }, onFault);
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      await near.drain();
      await far.drain();
    },
  };
}

it('a NATS bus closes in order when its server is gone', async () => {
  const gone = await startNatsServer();
  const faults = new Heard<string>();
  const bus = await openNatsBus({ servers: gone.url, clientName: 'left', connectTimeoutMs: 5_000 }, ({ what }) =>
    faults.add(what),
  );
  await gone[Symbol.asyncDispose]();
  await faults.until(1);
  expect(bus.connected).toBe(false);
  await bus.drain();
  expect(faults.values).toEqual(['the connection to NATS is lost; reconnecting']);
});

it('what is appended to a journal while NATS is away may be lost, but is not called too large', async () => {
  await using away = await startNatsProgram();
  const faults = new Heard<string>();
  const bus = await openNatsBus({ servers: away.url, clientName: 'away', connectTimeoutMs: 5_000 }, ({ what }) =>
    faults.add(what),
  );
  const journal = await bus.journal<string>({
    name: 'away',
    family: 'away',
    tokens: 1,
    maxAgeMs: 60_000,
    maxBytes: 1_000_000,
    maxEntries: 3,
  });
  const to = subject<string>('away', 'one');
  await away.kill();
  await faults.until(1);
  const starting = away.start();
  while (!faults.values.includes('reconnected to NATS')) {
    journal.append(to, 'while it is away');
    await new Promise((resolve) => void setImmediate(resolve));
  }
  await starting;
  journal.append(to, 'afterwards');
  await bus.roundTrip();
  const kept: string[] = [];
  (await journal.follow(to, (entry) => void kept.push(entry))).close();
  expect([kept.at(-1), faults.values]).toEqual([
    'afterwards',
    ['the connection to NATS is lost; reconnecting', 'reconnected to NATS'],
  ]);
  await bus.drain();
});

it('what was stored while nodes were missing gets its replicas when they are there', async () => {
  await using cluster = await startNatsCluster(64, 2);
  const [first, second, third] = cluster.nodes;
  const bus = await openNatsBus(
    { servers: `127.0.0.1:${first?.port},127.0.0.1:${second?.port}`, clientName: 'early', connectTimeoutMs: 5_000 },
    () => undefined,
  );
  const bucket = await bus.keyValue<string>({ name: 'early', isSmall: true });
  await bucket.put('key', 'kept');
  const connection = await connect({ servers: `127.0.0.1:${first?.port}` });
  const manager = await jetstreamManager(connection);
  const replicas = async (): Promise<number> => (await manager.streams.info('KV_early')).config.num_replicas;
  expect(await replicas()).toBe(1);
  await third?.start();
  // A stream that is being moved may not answer in time.
  for (let isThere = false; !isThere;)
    isThere = await replicas().then(
      (count) => count === 3,
      () => false,
    );
  expect((await bucket.get('key'))?.value).toBe('kept');
  await connection.close();
  await bus.drain();
}, 60_000);
