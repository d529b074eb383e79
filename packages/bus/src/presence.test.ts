import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { newWorkerId, ownFormats, presenceMs, type WorkerId } from '@omnibus/protocol';
import { Heartbeat, PresenceWatch, type PresenceBus, type Sign } from './presence.ts';
import { subject } from './subject.ts';
import { LosableBus } from './testing/losable-bus.ts';

const signs = subject<Sign>('signs');
const own = newWorkerId('session');
class SharedBus extends LosableBus {
  override readonly isShared = true;
}

const clock = {
  schedule(delayMs: number, run: () => void) {
    const timer = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

let bus: SharedBus;
let watch: PresenceWatch<Sign>;
let said: string[];

beforeEach(async () => {
  vi.useFakeTimers();
  bus = new SharedBus(({ what }) => expect.fail(what));
  said = [];
  watch = new PresenceWatch({
    bus,
    clock,
    subject: signs,
    self: own,
    joined: ({ worker }) => said.push(`joined ${worker}`),
    gone: (gone, how) => said.push(...gone.map(({ worker }) => `${how} ${worker}`)),
    disturbed: () => said.push('disturbed'),
  });
  await watch.start();
});

afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

/** Lets the interval between two signs pass a number of times; each time, these workers give a sign. */
async function pass(times: number, ...workers: readonly WorkerId[]): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    for (const worker of workers) bus.publish(signs, { worker, formats: ownFormats, isLeaving: false, reconnects: 0 });
    await vi.advanceTimersByTimeAsync(presenceMs);
  }
}

const [one, two] = [newWorkerId('session'), newWorkerId('session')];

it('a worker whose signs stay out is silent, then lost, and there again with the next sign', async () => {
  await pass(1, one, two);
  expect([...watch.alive].sort()).toEqual([one, two].sort());
  await pass(3, one);
  expect(watch.state(two)).toBe('alive');
  await pass(2, one);
  expect([watch.state(two), watch.alive, said.at(-1)]).toEqual(['silent', [one], `lost ${two}`]);
  expect(watch.vanished).toEqual([]);
  await pass(4, one);
  expect([watch.state(two), watch.vanished]).toEqual(['lost', [two]]);
  await pass(1, one, two);
  expect([watch.state(two), said.at(-1)]).toEqual(['alive', 'disturbed']);
});

it('who hears nobody may be cut off itself: nobody is lost, and whoever is heard again first says nothing about the others', async () => {
  await pass(1, one, two);
  await pass(20);
  expect([watch.state(one), watch.state(two)]).toEqual(['silent', 'silent']);
  await pass(1, one);
  expect([watch.state(one), watch.state(two)]).toEqual(['alive', 'silent']);
  await pass(6, one);
  expect(watch.state(two)).toBe('silent');
  await pass(3, one);
  expect(watch.state(two)).toBe('lost');
});

it('after a loss of NATS, a worker may still come back that gave its last sign before, for ten seconds, and one that has come back may not', async () => {
  await pass(2, one, two);
  expect([watch.mayReturn(one), watch.mayReturn(two)]).toEqual([false, false]);
  bus.reconnect();
  await pass(9, one);
  expect([watch.state(two), watch.mayReturn(one), watch.mayReturn(two)]).toEqual(['lost', false, true]);
  expect(watch.mayReturn(newWorkerId('session'))).toBe(false);
  await pass(12, one);
  expect(watch.mayReturn(two)).toBe(false);
  // It was gone before the next loss.
  bus.reconnect();
  await pass(1, one);
  expect(watch.mayReturn(two)).toBe(false);
});

it('further losses of NATS neither end nor prolong the time in which a worker may still come back that has given no sign since the first', async () => {
  await pass(2, one, two);
  bus.reconnect();
  // It is not silent yet at the first of these two losses, and is at the second.
  for (let count = 0; count < 2; count += 1) {
    await pass(3, one);
    bus.reconnect();
  }
  await pass(1, one);
  expect([watch.mayReturn(one), watch.mayReturn(two)]).toEqual([false, true]);
  await pass(14, one);
  expect(watch.mayReturn(two)).toBe(false);
  // It comes back, and gets the whole time after the next loss.
  await pass(1, one, two);
  bus.reconnect();
  await pass(18, one);
  expect(watch.mayReturn(two)).toBe(true);
});

it('a worker that leaves while this process has not caught up with a loss of NATS does not come back', async () => {
  await pass(2, one, two);
  bus.reconnect();
  await pass(1, one);
  bus.reconnects += 1;
  bus.publish(signs, { worker: two, formats: ownFormats, isLeaving: true, reconnects: 0 });
  await pass(1, one);
  expect(watch.mayReturn(two)).toBe(false);
});

it('a worker that leaves, or was never there, is lost; right after the start, it may only not have been heard of yet', async () => {
  expect(watch.state(one)).toBe('silent');
  await pass(1, one, two);
  bus.publish(signs, { worker: one, formats: ownFormats, isLeaving: true, reconnects: 0 });
  await pass(9, two);
  expect([watch.alive, watch.state(one), watch.state(newWorkerId('session'))]).toEqual([[two], 'lost', 'lost']);
  expect(said).toContain(`left ${one}`);
});

it('where no signs are watched, everybody is there', () => {
  const unwatched = new PresenceWatch({
    bus,
    clock,
    subject: signs,
    joined: () => undefined,
    gone: () => undefined,
    disturbed: () => undefined,
  });
  expect([unwatched.state(one), unwatched.alive]).toEqual(['alive', []]);
});

it('a worker that speaks another format is sent nothing, and is not taken for gone as long as it gives signs', async () => {
  const foreign = {
    worker: two,
    isLeaving: false,
    reconnects: 0,
    formats: { version: '9.0.0', says: 9, reads: [9, 9] as const },
  };
  for (let count = 0; count < 12; count += 1) {
    bus.publish(signs, foreign);
    await pass(1, one);
  }
  expect([watch.alive, watch.state(two), [...watch.expected].sort(), said]).toEqual([
    [one],
    'silent',
    [one, two].sort(),
    [`joined ${one}`],
  ]);
  await pass(9, one);
  expect([watch.state(two), watch.expected, watch.vanished]).toEqual(['lost', [one], [two]]);
});

it('of several workers those of its own region are near, and all of them where it has none', async () => {
  watch.stop();
  Object.defineProperty(bus, 'region', { value: 'east' });
  const say = (worker: WorkerId, region: string, isLeaving = false): void =>
    bus.publish(signs, { worker, region, formats: ownFormats, isLeaving, reconnects: 0 });
  await watch.start();
  say(one, 'west');
  await pass(1);
  expect(watch.near).toEqual([one]);
  say(two, 'east');
  await pass(1);
  expect([watch.near, watch.nearest([one]), [...watch.alive].sort()]).toEqual([[two], [one], [one, two].sort()]);
  say(two, 'east', true);
  await pass(1);
  expect(watch.near).toEqual([one]);
});

it('whoever begins something at a near worker waits until one was heard of, for two signs at most', async () => {
  watch.stop();
  await watch.heardNear();
  Object.defineProperty(bus, 'region', { value: 'east' });
  const say = (worker: WorkerId, region: string): void =>
    bus.publish(signs, { worker, region, formats: ownFormats, isLeaving: false, reconnects: 0 });
  await watch.start();
  // With workers of another region only, it waits for its maximum time and no longer.
  const inVain = watch.heardNear().then(() => said.push('waited'));
  say(one, 'west');
  await vi.advanceTimersByTimeAsync(presenceMs);
  expect(said).toEqual([`joined ${one}`]);
  await vi.advanceTimersByTimeAsync(presenceMs);
  await inVain;
  expect(said).toEqual([`joined ${one}`, 'waited']);
  // With a worker of its own region it resolves as soon as that is known, or at once.
  said.length = 0;
  const waiting = watch.heardNear().then(() => said.push('waited'));
  say(two, 'east');
  await vi.advanceTimersByTimeAsync(0);
  await waiting;
  expect(said).toEqual([`joined ${two}`, 'waited']);
  await watch.heardNear();
});

it('workers of the last seconds are not all known, if one is gone after late signs of life', async () => {
  await pass(12, one, two);
  expect(watch.since(0)?.toSorted()).toEqual([one, two].toSorted());
  // The machine has no time for its processes: the last sign of a worker that got a call is two seconds old. The worker vanishes with the call.
  await pass(4, one);
  await pass(9, one);
  expect([watch.state(two), watch.hasLostSince(9 * presenceMs), watch.since(9 * presenceMs)]).toEqual([
    'lost',
    true,
    undefined,
  ]);
  // No process sends it a call that comes now.
  await pass(9, one);
  expect([watch.hasLostSince(0), watch.since(0)]).toEqual([false, [one]]);
});

it('a process that starts does not know all workers of a time before it could hear two signs of each', async () => {
  await pass(1, one, two);
  expect(watch.since(0)).toBeUndefined();
  await pass(1, one, two);
  expect([watch.since(0)?.toSorted(), watch.since(1)]).toEqual([[one, two].toSorted(), undefined]);
});

it.each([
  [1, false],
  [4, true],
])(
  'a process that had watched for %i signs before it was cut off knows all workers of that time: %s',
  async (count, isKnown) => {
    await pass(count, one);
    expect(watch.knewAll).toBe(false);
    bus.reconnect();
    await pass(1, one);
    expect([watch.knewAll, watch.isSettled]).toEqual([isKnown, false]);
  },
);

it('a process is back once it hears its own sign over the connection that it has now', async () => {
  const say = async (worker: WorkerId, reconnects: number): Promise<void> => {
    bus.publish(signs, { worker, formats: ownFormats, isLeaving: false, reconnects });
    await vi.advanceTimersByTimeAsync(0);
  };
  const before = watch.isBack;
  bus.reconnect();
  const is = [watch.isBack];
  for (const [worker, reconnects] of [
    [two, 1],
    [own, 0],
    [own, 1],
  ] as const) {
    await say(worker, reconnects);
    is.push(watch.isBack);
  }
  expect([before, is]).toEqual([true, [false, false, false, true]]);
});

it('a process that is connected again knows a worker that started meanwhile as soon as that answers its sign', async () => {
  watch.stop();
  const elsewhere = {
    isShared: true,
    connected: true,
    reconnects: 0,
    afterReconnect: () => ({ close: () => undefined }),
    subscribe: bus.subscribe.bind(bus),
    publish: bus.publish.bind(bus),
  };
  const heartOf = (worker: WorkerId, at: PresenceBus): Heartbeat<object> =>
    new Heartbeat<object>({
      bus: at,
      clock,
      subject: signs,
      sign: (isLeaving) => ({ worker, isLeaving, reconnects: at.reconnects }),
    });
  const [mine, other] = [heartOf(own, bus), heartOf(two, elsewhere)];
  await mine.start();
  await vi.advanceTimersByTimeAsync(presenceMs / 5);
  await other.start();
  await vi.advanceTimersByTimeAsync(presenceMs / 5);
  // It was cut off, and has heard no sign of the other one.
  await watch.start();
  await bus.subscribe(signs, ({ worker, reconnects }) => {
    if (worker === own && reconnects === 1) other.answer();
  });
  bus.reconnect();
  const before = watch.alive;
  await vi.advanceTimersByTimeAsync(presenceMs / 5);
  expect([before, watch.isBack, [...watch.alive].sort()]).toEqual([[], true, [own, two].sort()]);
  mine.stop();
  other.stop();
});

it('a worker knows for how long others have heard of it over its present connection', async () => {
  const heart = new Heartbeat<object>({
    bus,
    clock,
    subject: signs,
    sign: (isLeaving) => ({ worker: own, isLeaving, reconnects: bus.reconnects }),
  });
  const publish = vi.spyOn(bus, 'publish').mockImplementation(() => undefined);
  const heardFor = [heart.heardForMs];
  const passing = async (): Promise<void> => {
    await vi.advanceTimersByTimeAsync(2 * presenceMs);
    heardFor.push(heart.heardForMs);
  };
  // Its first signs are lost, the later ones are not.
  await heart.start();
  await passing();
  publish.mockRestore();
  await passing();
  await passing();
  bus.reconnects += 1;
  heardFor.push(heart.heardForMs);
  await passing();
  await passing();
  heart.stop();
  expect(heardFor).toEqual([0, 0, presenceMs, 3 * presenceMs, 0, presenceMs, 3 * presenceMs]);
});

it('a worker answers no other one before its first sign, nor after its last one', async () => {
  const heard: boolean[] = [];
  await bus.subscribe(signs, ({ isLeaving }) => void heard.push(isLeaving));
  const heart = new Heartbeat<object>({
    bus,
    clock,
    subject: signs,
    sign: (isLeaving) => ({ worker: two, isLeaving, reconnects: 0 }),
  });
  heart.answer();
  await vi.advanceTimersByTimeAsync(2 * presenceMs);
  const before = heard.length;
  await heart.start();
  await vi.advanceTimersByTimeAsync(0);
  heart.stop();
  heart.answer();
  await vi.advanceTimersByTimeAsync(2 * presenceMs);
  expect([before, heard]).toEqual([0, [false, true]]);
});

it('a worker answers many that return together with few signs, the last one after all of them', async () => {
  let count = 0;
  await bus.subscribe(signs, () => void (count += 1));
  const heart = new Heartbeat<object>({
    bus,
    clock,
    subject: signs,
    sign: (isLeaving) => ({ worker: two, isLeaving, reconnects: 0 }),
  });
  await heart.start();
  for (let returned = 0; returned < 30; returned += 1) heart.answer();
  await vi.advanceTimersByTimeAsync(0);
  const before = count;
  await vi.advanceTimersByTimeAsync(presenceMs / 2);
  expect([before, count]).toEqual([1, 2]);
  heart.stop();
});

it('a process that was cut off says so at once, and learns at once that messages may be lost', async () => {
  await pass(1, one);
  const heard: number[] = [];
  await bus.subscribe(signs, ({ reconnects }) => void heard.push(reconnects));
  const heart = new Heartbeat<object>({
    bus,
    clock,
    subject: signs,
    sign: (isLeaving) => ({ worker: two, isLeaving, reconnects: bus.reconnects }),
  });
  await heart.start();
  await vi.advanceTimersByTimeAsync(10);
  bus.reconnect();
  await vi.advanceTimersByTimeAsync(10);
  expect([heard, said.filter((each) => each === 'disturbed').length, watch.isBehind]).toEqual([[0, 1], 2, false]);
  await vi.advanceTimersByTimeAsync(presenceMs - 11);
  expect(heard).toEqual([0, 1]);
  heart.stop();
});
