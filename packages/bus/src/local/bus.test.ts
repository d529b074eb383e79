import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Bus, BusFault, OnFault } from '../bus.ts';
import { BusError } from '../errors.ts';
import { forEveryone, subject } from '../subject.ts';
import type { BusUnderTest } from '../testing/bus-under-test.ts';
import { busContract } from '../testing/contract.ts';
import { Heard } from '../testing/heard.ts';
import { openLocalBus } from './bus.ts';
import { LocalHub } from './hub.ts';

interface World extends AsyncDisposable {
  readonly hub: LocalHub;
  open(onFault?: OnFault, worker?: string): Promise<Bus & { readonly socket: Socket }>;
}

/** A hub that workers connect to over a socket, as the pipes of child processes are. */
async function startWorld(onFault: OnFault = () => undefined): Promise<World> {
  const hub = new LocalHub(onFault);
  const path =
    process.platform === 'win32' ? `\\\\.\\pipe\\${randomUUID()}` : join(tmpdir(), `omnibus-${randomUUID()}`);
  const server = createServer((socket) => hub.attach(socket));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    hub,
    async open(fault = () => undefined, worker) {
      const socket = connect(path);
      const bus = openLocalBus(socket, { onFault: fault, worker });
      await bus.roundTrip();
      return Object.assign(bus, { socket });
    },
    async [Symbol.asyncDispose]() {
      await hub.close();
      await new Promise((resolve) => server.close(resolve));
      await rm(path, { force: true });
    },
  };
}

busContract('the bus of workers over a socket', async (onFault): Promise<BusUnderTest> => {
  const world = await startWorld(onFault);
  const [near, far] = [await world.open(onFault), await world.open(onFault)];
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      await near.drain();
      await far.drain();
      await world[Symbol.asyncDispose]();
    },
  };
});

busContract('the bus of one worker', async (onFault): Promise<BusUnderTest> => {
  const hub = new LocalHub(onFault);
  const bus = hub.connect({ onFault });
  return {
    near: bus,
    far: bus,
    async [Symbol.asyncDispose]() {
      await bus.drain();
      await hub.close();
    },
  };
});

const jobs = subject<{ readonly number: number }, string>('local-jobs');
const news = subject<{ readonly text: string }>('local-news');

describe('the bus of workers', () => {
  it('prefers a listener of the same process, by reference, until that has left', async () => {
    await using world = await startWorld();
    const [one, other] = [await world.open(), await world.open()];
    const payload = { number: 1 };
    const here = new Heard<object>();
    const there = new Heard<object>();
    const listening = await one.subscribe(jobs, here.add, { queue: 'workers' });
    await other.subscribe(jobs, there.add, { queue: 'workers' });
    const observer = { reply: () => undefined, failed: () => undefined };
    for (let count = 0; count < 4; count += 1) one.request(jobs, payload, observer);
    await here.until(4);
    expect(here.values[0]).toBe(payload);
    await listening.drain();
    one.request(jobs, payload, observer);
    expect(await there.until(1)).toEqual([payload]);
    await Promise.all([one.drain(), other.drain()]);
  });

  it('publishes once to each listener of each process, and to one member of a group of all processes', async () => {
    await using world = await startWorld();
    const [one, other] = [await world.open(), await world.open()];
    const heard = new Heard<string>();
    for (const [name, bus] of Object.entries({ one, other })) {
      await bus.subscribe(news, ({ text }) => heard.add(`${name} ${text}`));
      await bus.subscribe(news, ({ text }) => heard.add(`group ${text}`), { queue: 'readers' });
    }
    one.publish(news, { text: 'first' });
    await heard.until(3);
    other.publish(news, { text: 'second' });
    expect([...(await heard.until(6))].sort()).toEqual(
      ['group first', 'group second', 'one first', 'one second', 'other first', 'other second'].sort(),
    );
    await Promise.all([one.roundTrip(), other.roundTrip()]);
    expect(heard.values.length).toBe(6);
    await Promise.all([one.drain(), other.drain()]);
  });

  it('asks everyone in every process', async () => {
    await using world = await startWorld();
    const [one, other] = [await world.open(), await world.open()];
    const all = forEveryone(subject<object, string>('local-all'));
    await one.subscribe(all, (_payload, reply) => reply('one'));
    const answers = new Heard<string | BusError>();
    const observer = { reply: answers.add, failed: answers.add };
    one.request(all, {}, observer);
    expect(await answers.until(1)).toEqual(['one']);
    await other.subscribe(all, (_payload, reply) => reply('other'));
    one.request(all, {}, observer);
    expect((await answers.until(3)).toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      'one',
      'one',
      'other',
    ]);
    await Promise.all([one.drain(), other.drain()]);
  });

  it('passes a reply of a newer kind to the observer, and fails a request with a reply of another shape', async () => {
    await using world = await startWorld();
    const [one, other] = [await world.open(), await world.open()];
    const verdicts = { newer: 'unknown', known: 'fits' } as const;
    const versions = {
      ...subject<object, string>('local-versions'),
      shapes: {
        request: () => 'fits' as const,
        reply: (value: unknown) => verdicts[value as keyof typeof verdicts] ?? ('junk' as const),
      },
    };
    await other.subscribe(versions, (_payload, reply) => {
      for (const kind of ['newer', 'known', 'junk']) reply(kind);
    });
    const heard = new Heard<string>();
    one.request(versions, {}, { reply: heard.add, failed: ({ kind }) => heard.add(kind) });
    expect(await heard.until(3)).toEqual(['newer', 'known', 'undecodable']);
    await Promise.all([one.drain(), other.drain()]);
  });

  it('forgets a worker that ends: its listeners get no more, and what it has stored stays', async () => {
    const faults = new Heard<BusFault>();
    await using world = await startWorld(faults.add);
    const [one, other] = [await world.open(), await world.open()];
    await other.subscribe(jobs, () => undefined, { queue: 'workers' });
    await (await other.keyValue<string>({ name: 'kept' })).put('key', 'kept');
    other.socket.destroy();
    const failures = new Heard<BusError>();
    const observer = { reply: () => undefined, failed: failures.add };
    // The hub may have heard of the end before or after the request, and a worker that is gone answers none.
    for (let count = 1; failures.values.length === 0; count += 1) {
      one.request(jobs, { number: count }, observer);
      await one.roundTrip();
    }
    expect(failures.values[0]?.kind).toBe('no-responders');
    expect((await (await one.keyValue<string>({ name: 'kept' })).get('key'))?.value).toBe('kept');
    await one.drain();
  });

  it('fails open requests when the supervisor is gone, and says so once', async () => {
    const world = await startWorld();
    const faults = new Heard<BusFault>();
    const [one, other] = [await world.open(faults.add), await world.open()];
    await other.subscribe(jobs, () => undefined);
    const failures = new Heard<BusError>();
    one.request(jobs, { number: 1 }, { reply: () => undefined, failed: failures.add });
    await one.roundTrip();
    await world[Symbol.asyncDispose]();
    expect((await failures.until(1))[0]?.kind).toBe('closed');
    expect(one.connected).toBe(false);
    expect(faults.values.map(({ kind }) => kind)).toEqual(['connection']);
    expect(() => one.publish(news, { text: 'lost' })).toThrow(BusError);
  });

  it('cuts off a worker that does not take its messages, and serves the others', async () => {
    const faults = new Heard<BusFault>();
    await using world = await startWorld(faults.add);
    const [one, slow, other] = [await world.open(), await world.open(), await world.open()];
    await slow.subscribe(news, () => undefined);
    slow.socket.pause();
    const text = 'x'.repeat(8_000_000);
    const heard = new Heard<number>();
    await other.subscribe(news, (message) => heard.add(message.text.length));
    let sent = 0;
    while (faults.values.length === 0) {
      one.publish(news, { text });
      sent += 1;
      await one.roundTrip();
    }
    expect(String(faults.values[0]?.error)).toMatch(/takes its messages too slowly/);
    expect(await heard.until(sent)).toEqual(Array.from({ length: sent }, () => text.length));
    await Promise.all([one.drain(), other.drain()]);
  });

  it('of a worker refuses payloads while the hub takes none, and still ends work', async () => {
    await using world = await startWorld();
    const other = await world.open();
    const [near, far] = duplexPair();
    world.hub.attach(far);
    const full = openLocalBus(near, { onFault: () => undefined });
    const asked = new Heard<(answer: string) => void>();
    await full.subscribe(jobs, (_job, reply) => asked.add(reply));
    const bucket = await full.keyValue<string>({ name: 'watched' });
    const changes = new Heard<string>();
    const watch = await bucket.watch(({ key }) => changes.add(key));
    const failures = new Heard<BusError>();
    other.request(jobs, { number: 1 }, { reply: () => undefined, failed: failures.add });
    const [answer] = await asked.until(1);
    far.pause();
    const text = 'x'.repeat(8_000_000);
    expect(() => {
      for (;;) full.publish(news, { text });
    }).toThrow(/too many bytes wait/);
    answer?.('lost');
    watch.close();
    const later = new Heard<string>();
    const subscribing = full.subscribe(news, (message) => later.add(message.text));
    far.resume();
    expect((await failures.until(1))[0]?.kind).toBe('lost');
    await subscribing;
    await (await other.keyValue<string>({ name: 'watched' })).put('key', 'value');
    other.publish(news, { text: 'after' });
    expect(await later.until(1)).toEqual(['after']);
    expect(changes.values).toEqual([]);
    await Promise.all([full.drain(), other.drain()]);
  });

  it('cuts off a process that does not speak its frames', async () => {
    const faults = new Heard<BusFault>();
    await using world = await startWorld(faults.add);
    const odd = await world.open();
    odd.socket.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    await faults.until(1);
    expect(String(faults.values[0]?.error)).toMatch(/larger than it may be/);
  });
});
