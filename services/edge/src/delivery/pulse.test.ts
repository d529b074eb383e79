/** Workers that are killed, or get no processor time, with commands that have no answer yet: scripted workers, and a clock of the test. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus, subjects, type Subscription } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  idSequence,
  newRequestKey,
  newSessionId,
  newWorkerId,
  ownFormats,
  presenceMs,
  rootEndpoint,
  type SessionCommand,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { Delivery } from './delivery.ts';
import { addressOf } from './session-addresses.ts';

class SharedBus extends MemoryBus {
  override readonly isShared = true;
  readonly #returned = new Set<() => void>();

  override afterReconnect(run: () => void): { close(): void } {
    this.#returned.add(run);
    return { close: () => void this.#returned.delete(run) };
  }

  /** The connection was lost and found again. */
  reconnect(): void {
    for (const run of this.#returned) run();
  }
}

const caller = { principal: anonymous, endpoint: rootEndpoint };
const nextStream = idSequence<StreamId>(newWorkerId('edge'));
const nothing = { reply: () => undefined, failed: () => undefined };

let bus: SharedBus;
let delivery: Delivery;
let workers: Worker[];

class Worker {
  readonly id = newWorkerId('session');
  /** The commands that it has got, each with whether a worker before it may have begun it. */
  readonly got: boolean[] = [];
  questions = 0;
  isSlow = false;
  #subscriptions: Subscription[] = [];

  async start(): Promise<this> {
    const { id, got } = this;
    this.#subscriptions = [
      await bus.subscribe(subjects.session(id), ({ command }, reply) => {
        if (command.kind === 'probe') reply({ kind: 'probed', missing: [] });
        else got.push('begun' in command);
      }),
      await bus.subscribe(subjects.sessionAdopt(id), (_session, reply) => reply({ outcome: 'held', worker: id })),
      await bus.subscribe(subjects.modern(id), ({ begun }) => void got.push(begun !== undefined)),
      await bus.subscribe(subjects.modernHolds(id), ({ keys }, reply) => {
        if (keys.length === 0) this.questions += 1;
        if (!this.isSlow) reply({ keys });
      }),
    ];
    workers.push(this);
    this.sign();
    return this;
  }

  sign(): void {
    const sign = { worker: this.id, formats: ownFormats, isLeaving: false, reconnects: 0 };
    bus.publish(subjects.presence, sign);
  }

  kill(): void {
    for (const subscription of this.#subscriptions) subscription.close();
    workers.splice(workers.indexOf(this), 1);
  }
}

beforeEach(async () => {
  vi.useFakeTimers();
  // As on any machine, no timer fires on the millisecond.
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 0.3);
  workers = [];
  bus = new SharedBus(({ what, error }) => expect.fail(`${what}: ${String(error)}`));
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  delivery = new Delivery({ bus, wheel, log: createLogger({ level: 'silent', format: 'json' }) });
  await delivery.start();
});

afterEach(() => {
  delivery.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Lets time pass in which the workers that run give their signs. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += presenceMs) {
    for (const worker of workers) worker.sign();
    await vi.advanceTimersByTimeAsync(Math.min(presenceMs, ms - passed));
  }
}

/** Starts workers, and waits until the edge takes what they do not hear for proof. */
async function started(count: number): Promise<Worker[]> {
  const those = await Promise.all(Array.from({ length: count }, () => new Worker().start()));
  await pass(2_000);
  return those;
}

const post = (): SessionCommand => ({
  kind: 'post',
  caller,
  stream: nextStream(),
  message: { kind: 'request', message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} } },
});

/** Makes a call without a session. @returns the worker that has got it. */
async function modernCall(): Promise<Worker | undefined> {
  delivery.stateless.request(
    {
      kind: 'request',
      key: newRequestKey(),
      caller,
      request: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} },
      context: { capabilities: {}, logLevel: undefined },
      parameterHeaders: undefined,
    },
    nothing,
  );
  await vi.advanceTimersByTimeAsync(0);
  return workers.find(({ got }) => got.length > 0);
}

async function sessionCall(worker: WorkerId): Promise<void> {
  delivery.sessions.request(addressOf(newSessionId(), worker), post(), nothing);
  await vi.advanceTimersByTimeAsync(0);
}

it.each([
  ['with', 0],
  ['with', 40],
  ['without', 0],
  ['without', 30],
])(
  'a call %s a session goes to another worker 150 ms after its own was killed with it, though the signs of that one are not missed yet, whenever it comes: %i',
  async (session, offsetMs) => {
    const [one, two] = (await started(2)) as [Worker, Worker];
    await vi.advanceTimersByTimeAsync(offsetMs);
    if (session === 'with') await sessionCall(one.id);
    const first = session === 'with' ? one : ((await modernCall()) as Worker);
    const next = first === one ? two : one;
    first.kill();
    await vi.advanceTimersByTimeAsync(150);
    expect([first.got, next.got]).toEqual([[false], [true]]);
  },
);

it('sessions of a killed worker go to one that is there in the same time, though another one was killed, too', async () => {
  const [one, other, next] = (await started(3)) as [Worker, Worker, Worker];
  for (let count = 0; count < 10; count += 1) await sessionCall(one.id);
  one.kill();
  other.kill();
  await vi.advanceTimersByTimeAsync(150);
  expect(next.got).toEqual(Array.from({ length: 10 }, () => true));
});

it('a worker without processor time keeps its calls, and gets ever fewer questions, however many calls it has', async () => {
  const [slow, other] = (await started(2)) as [Worker, Worker];
  slow.isSlow = true;
  const counts: number[] = [];
  for (let seconds = 1; seconds <= 3; seconds += 1) {
    for (let count = 0; count < 20; count += 1) await sessionCall(slow.id);
    await pass(1_000);
    counts.push(slow.questions);
  }
  expect([other.got, counts]).toEqual([[], [5, 6, 7]]);
});

it('a question that comes to a worker in the moment of its death is repeated at once', async () => {
  const [dying, next] = (await started(2)) as [Worker, Worker];
  dying.isSlow = true;
  await sessionCall(dying.id);
  await vi.advanceTimersByTimeAsync(100);
  expect(dying.questions).toBeGreaterThan(0);
  dying.kill();
  await vi.advanceTimersByTimeAsync(120);
  expect(next.got).toEqual([true]);
});

it.each(['before', 'while'])(
  'a worker whose NATS node dies keeps its session for a call that came %s it was cut off, if it is back in a moment',
  async (when) => {
    const [cut, other] = (await started(2)) as [Worker, Worker];
    if (when === 'before') await sessionCall(cut.id);
    await vi.advanceTimersByTimeAsync(40);
    cut.kill();
    if (when === 'while') await sessionCall(cut.id);
    await vi.advanceTimersByTimeAsync(20);
    await cut.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect([cut.got.length, other.got]).toEqual([1, []]);
  },
);

it('an answer stands for all calls that were sent before the question', async () => {
  const [worker] = (await started(1)) as [Worker];
  for (let count = 0; count < 20; count += 1) await sessionCall(worker.id);
  await pass(1_000);
  expect(worker.questions).toBe(1);
  await sessionCall(worker.id);
  await pass(1_000);
  expect(worker.questions).toBe(2);
});

it('a worker that does not listen is not taken for gone right after this process has lost its own connection', async () => {
  const [one, two] = (await started(2)) as [Worker, Worker];
  await sessionCall(one.id);
  bus.reconnect();
  one.kill();
  await vi.advanceTimersByTimeAsync(400);
  expect(two.got).toEqual([]);
});

it('an edge that waits for no answer makes no looks, and one whose clients only read streams', async () => {
  const [worker] = (await started(1)) as [Worker];
  const looks = vi.spyOn(delivery.sessions, 'look');
  const attach: SessionCommand = { kind: 'attach', caller, stream: nextStream(), after: undefined };
  delivery.sessions.request(addressOf(newSessionId(), worker.id), attach, nothing);
  // While the stream is young, its worker may be gone.
  await pass(3_000);
  looks.mockClear();
  const young = vi.spyOn(delivery.stateless, 'acceptedSince');
  await pass(60_000);
  expect([looks.mock.calls.length, young.mock.calls.length]).toEqual([0, 0]);
  await sessionCall(worker.id);
  await pass(1_000);
  expect(looks.mock.calls.length).toBeGreaterThan(0);
});

it('a connection that was lost long before a call is steady when the call comes', async () => {
  const [one, two] = (await started(2)) as [Worker, Worker];
  bus.reconnect();
  await pass(60_000);
  await sessionCall(one.id);
  one.kill();
  await vi.advanceTimersByTimeAsync(200);
  expect(two.got).toEqual([true]);
});

it('a look that fails is not the last one', async () => {
  const [worker] = (await started(1)) as [Worker];
  const looks = vi.spyOn(delivery.sessions, 'look').mockImplementationOnce(() => {
    throw new Error('a look of this test');
  });
  await sessionCall(worker.id);
  await pass(20_000);
  expect(looks.mock.calls.length).toBeGreaterThan(1);
});

it('a worker that has once not listened, and has answered since, may once not listen again', async () => {
  const [cut, other] = (await started(2)) as [Worker, Worker];
  await sessionCall(other.id);
  const first = delivery.sessions.request(addressOf(newSessionId(), cut.id), post(), nothing);
  await vi.advanceTimersByTimeAsync(40);
  cut.kill();
  await vi.advanceTimersByTimeAsync(40);
  await cut.start();
  first.close();
  await vi.advanceTimersByTimeAsync(500);
  await sessionCall(cut.id);
  await vi.advanceTimersByTimeAsync(40);
  cut.kill();
  await vi.advanceTimersByTimeAsync(30);
  await cut.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect([cut.got, other.got]).toEqual([[false, false], [false]]);
});
