/** Calls when adapters pause, leave and vanish: with scripted workers and a clock of the test. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { subjects, type Subscription } from '@omnibus/bus';
import { LosableBus } from '@omnibus/bus/testing';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  localUser,
  newRequestKey,
  newWorkerId,
  ownFormats,
  parseServerName,
  presenceMs,
  type ControlCommand,
  type ExchangeContext,
  type ExchangeEvent,
  type ExchangeId,
  type ExchangeMethod,
  type HeldExchanges,
  type ServerName,
  type WorkerId,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Exchange } from './exchange.ts';
import { ExchangeWatch } from './exchange-watch.ts';

const server = parseServerName('up');
const limits = { callMs: 60_000, maxMs: 60_000, humanMs: 60_000, taskMs: 60_000 };
const metrics = new Metrics({ processMetrics: false });

let bus: LosableBus;
let wheel: DeadlineWheel;
let watch: ExchangeWatch;
let controls: ControlCommand[];
let outcomes: string[];
let backends: Backend[];
/** The only worker whose record says that the server is up; undefined: all records say so. */
let up: WorkerId | undefined;
let count = 0;

/** A backend worker with an adapter of the server. */
class Backend {
  readonly worker: WorkerId = newWorkerId('backend');
  readonly calls = new Map<ExchangeId, (event: ExchangeEvent) => void>();
  readonly #waiting: (() => void)[] = [];
  #subscriptions: Subscription[] = [];
  isPaused = false;

  async start(): Promise<void> {
    this.#subscriptions = [
      await bus.subscribe(
        subjects.backendAt(server, this.worker),
        ({ exchange }, reply) => void this.calls.set(exchange, reply),
      ),
      await bus.subscribe(
        subjects.backendHolds(server, this.worker),
        (asked: HeldExchanges, reply: (held: HeldExchanges) => void) => {
          const answer = (): void =>
            reply({ exchanges: asked.exchanges.filter((exchange) => this.calls.has(exchange)) });
          if (this.isPaused) this.#waiting.push(answer);
          else answer();
        },
      ),
    ];
    backends.push(this);
  }

  beat(isLeaving = false): void {
    if (!this.isPaused)
      bus.publish(subjects.backendPresence, {
        worker: this.worker,
        servers: [server],
        formats: ownFormats,
        isLeaving,
        reconnects: 0,
      });
  }

  /** Its process ends without a word. */
  kill(): void {
    for (const subscription of this.#subscriptions) subscription.close();
    backends.splice(backends.indexOf(this), 1);
  }

  leave(): void {
    this.kill();
    this.beat(true);
  }

  goOn(): void {
    this.isPaused = false;
    for (const answer of this.#waiting.splice(0)) answer();
  }
}

beforeEach(async () => {
  vi.useFakeTimers();
  [controls, outcomes, backends] = [[], [], []];
  up = undefined;
  bus = new LosableBus(({ what }) => expect.fail(what));
  wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  watch = new ExchangeWatch({
    bus,
    wheel,
    log: createLogger({ level: 'silent', format: 'json' }),
    changed: () => undefined,
    workersChanged: () => undefined,
    reaching: (_server, workers) => (up !== undefined && workers.includes(up) ? [up] : workers),
    mustHear: (_server, workers) => up !== undefined && !workers.includes(up),
    keptFor: (_server, { standsAlone, client, session }) => (standsAlone ? client?.id : session),
  });
  await watch.start();
  await bus.subscribe(subjects.backendControl(server), (command) => void controls.push(command));
});

afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

/** Lets time pass in which workers that run give their signs. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += presenceMs) {
    for (const backend of backends) backend.beat();
    await vi.advanceTimersByTimeAsync(presenceMs);
  }
}

async function started(): Promise<Backend> {
  const backend = new Backend();
  await backend.start();
  await pass(presenceMs);
  return backend;
}

/** A call at the worker that NATS or the watch chooses, or at the one it is bound to. */
async function call(
  method: ExchangeMethod = 'tools/call',
  bound?: WorkerId,
  more: Partial<ExchangeContext> = {},
  chosen?: Map<ServerName, WorkerId>,
): Promise<Exchange> {
  count += 1;
  const exchange = Exchange.start(
    { bus, wheel, adapters: watch, metrics },
    {
      exchange: `exchange-${count}` as ExchangeId,
      server,
      method,
      params: {},
      subject: ['tool', 'act'],
      limits,
      affinity: bound,
      chosen,
      context: {
        principal: anonymous,
        session: newRequestKey(),
        capabilities: {},
        standsAlone: false,
        logLevel: undefined,
        wantsProgress: false,
        ...more,
      },
    },
    (outcome) => outcomes.push(outcome.kind === 'fault' ? outcome.fault.reason : outcome.kind),
  );
  await vi.advanceTimersByTimeAsync(0);
  return exchange;
}

const cancelsAt = (worker: WorkerId): string[] =>
  controls.flatMap((command) => (command.kind === 'cancel' && command.worker === worker ? [command.exchange] : []));

it.each([
  ['the catalogue names are heard', true, () => backends.map(({ worker }) => worker)],
  [
    'the catalogue names are heard but one, which was killed',
    false,
    () => [...backends.map(({ worker }) => worker), newWorkerId('backend')],
  ],
  ['no catalogue names are heard', false, () => []],
] as const)(
  'a worker knows soon after its start that it has heard of every backend worker if all that %s: %s',
  async (_which, isKnown, named) => {
    for (let count = 0; count < 2; count += 1) await new Backend().start();
    for (const backend of backends) backend.beat();
    const heard = watch.heardOf(new Set(named()));
    await vi.advanceTimersByTimeAsync(presenceMs);
    await heard;
    for (const backend of backends) backend.beat();
    await vi.advanceTimersByTimeAsync(presenceMs / 2);
    // A call that came a moment ago.
    const known = watch.since(1);
    expect([known !== undefined, watch.since(10 * presenceMs)]).toEqual([isKnown, undefined]);
    for (const backend of backends.slice(1)) backend.leave();
    await vi.advanceTimersByTimeAsync(0);
    expect(watch.since(1)).toBeUndefined();
  },
);

it('a worker that starts counts a backend worker without a record that it may have missed, until each has given one more sign', async () => {
  const [recorded, missed] = [new Backend(), new Backend()];
  await Promise.all([recorded.start(), missed.start()]);
  // The first sign of the other one came before this worker listened.
  recorded.beat();
  await watch.heardOf(new Set([recorded.worker]));
  await vi.advanceTimersByTimeAsync(presenceMs - 100);
  const before = watch.since(1);
  missed.beat();
  recorded.beat();
  await vi.advanceTimersByTimeAsync(presenceMs / 2);
  expect([before, watch.since(1)?.toSorted()]).toEqual([undefined, [recorded.worker, missed.worker].toSorted()]);
});

it('a session worker that starts waits for a sign of each backend worker with a record, for the time of one sign at most', async () => {
  const backend = new Backend();
  const said: string[] = [];
  void watch.heardOf(new Set([backend.worker])).then(() => said.push('heard'));
  await vi.advanceTimersByTimeAsync(0);
  expect(said).toEqual([]);
  backend.beat();
  await vi.advanceTimersByTimeAsync(0);
  expect(said).toEqual(['heard']);
  void watch.heardOf(new Set([backend.worker, newWorkerId('backend')])).then(() => said.push('one is gone'));
  await vi.advanceTimersByTimeAsync(2 * presenceMs);
  expect(said).toEqual(['heard', 'one is gone']);
});

describe('a call', () => {
  it('of a session that servers keep state for waits at the start until a backend is heard of, and others of it go to the same one', async () => {
    const [chosen, session] = [new Map<ServerName, WorkerId>(), newRequestKey()];
    const [one, two] = [new Backend(), new Backend()];
    await Promise.all([one.start(), two.start()]);
    for (let sent = 0; sent < 4; sent += 1) await call('tools/call', undefined, { session }, chosen);
    two.beat();
    await vi.advanceTimersByTimeAsync(0);
    one.beat();
    for (let sent = 0; sent < 4; sent += 1) await call('tools/call', undefined, { session }, chosen);
    expect([one.calls.size, two.calls.size, outcomes]).toEqual([0, 8, []]);
  });

  it('is sent when no backend was heard of within the time of two signs, and at once after that', async () => {
    const elsewhere: ExchangeId[] = [];
    await bus.subscribe(subjects.backend(server), ({ exchange }) => void elsewhere.push(exchange));
    const [waiting, cancelled] = [await call(), await call()];
    cancelled.cancel('not needed');
    const alone = await call('tools/call', undefined, { standsAlone: true });
    await vi.advanceTimersByTimeAsync(2 * presenceMs - 1);
    expect(elsewhere).toEqual([alone.id]);
    await vi.advanceTimersByTimeAsync(1);
    expect(elsewhere).toEqual([alone.id, waiting.id]);
    const later = await call();
    expect(elsewhere).toEqual([alone.id, waiting.id, later.id]);
  });

  it.each([
    ['of a client without a session', true],
    ['of a session', false],
  ])(
    '%s waits at the start for the backend that has the server by its record, though one without it gave a sign',
    async (_of, standsAlone) => {
      const [having, failing] = [new Backend(), new Backend()];
      await Promise.all([having.start(), failing.start()]);
      up = having.worker;
      failing.beat();
      await call('tools/call', undefined, { standsAlone });
      expect([having.calls.size, failing.calls.size]).toEqual([0, 0]);
      having.beat();
      await vi.advanceTimersByTimeAsync(0);
      expect([having.calls.size, failing.calls.size, outcomes]).toEqual([1, 0, []]);
    },
  );

  it.each(['right after', 'three seconds after'])(
    'that comes %s the only backend was killed waits for another one, and is not lost with the first',
    async (when) => {
      const first = await started();
      await pass(4 * presenceMs);
      first.kill();
      if (when !== 'right after') await pass(6 * presenceMs);
      const waiting = await call();
      await pass(8 * presenceMs);
      const next = new Backend();
      await next.start();
      next.beat();
      await vi.advanceTimersByTimeAsync(0);
      expect([[...next.calls.keys()], first.calls.size, outcomes]).toEqual([[waiting.id], 0, []]);
    },
  );

  it('is refused if no other backend comes within ten seconds, and at once after that', async () => {
    const first = await started();
    await pass(4 * presenceMs);
    first.kill();
    await call();
    await pass(9_000);
    expect(outcomes).toEqual([]);
    await pass(3_000);
    expect(outcomes).toEqual(['upstream.unavailable']);
    await call();
    expect(outcomes.length).toBe(2);
  });

  it('waits for backends that have lost their connection to NATS, more than once', async () => {
    const all = [await started(), await started()];
    for (let times = 1; times <= 2; times += 1) {
      await pass(30_000);
      for (const backend of all) backend.kill();
      await call();
      await vi.advanceTimersByTimeAsync(300);
      for (const backend of all) await backend.start();
      await pass(presenceMs);
      expect([all.reduce((sum, { calls }) => sum + calls.size, 0), outcomes]).toEqual([times, []]);
    }
  });

  it('goes to a backend without the server when the one that had it gives no sign', async () => {
    const failing = new Backend();
    await failing.start();
    up = newWorkerId('backend');
    failing.beat();
    await call();
    expect(failing.calls.size).toBe(0);
    await pass(2 * presenceMs);
    expect(failing.calls.size).toBe(1);
  });

  it('at a backend that pauses while another leaves goes on', async () => {
    const [slow, leaving] = [await started(), await started()];
    const { id } = await call('tools/call', slow.worker);
    slow.isPaused = true;
    leaving.leave();
    await pass(1_500);
    slow.goOn();
    await pass(5_000);
    expect([outcomes, cancelsAt(slow.worker)]).toEqual([[], []]);
    slow.calls.get(id)?.({ kind: 'result', result: {} });
    await pass(0);
    await vi.advanceTimersByTimeAsync(0);
    expect(outcomes).toEqual(['result']);
  });

  it('at a backend that gave no sign for three seconds goes on when that one runs again', async () => {
    const [slow] = [await started(), await started()];
    const { id } = await call('tools/call', slow.worker);
    slow.isPaused = true;
    await pass(3_000);
    slow.goOn();
    await pass(5_000);
    slow.calls.get(id)?.({ kind: 'result', result: {} });
    await vi.advanceTimersByTimeAsync(0);
    expect([outcomes, cancelsAt(slow.worker)]).toEqual([['result'], []]);
  });

  it('at a backend that stays silent fails, and is cancelled there as soon as it answers again', async () => {
    const [silent] = [await started(), await started()];
    const { id } = await call('tools/call', silent.worker);
    silent.isPaused = true;
    await pass(6_000);
    expect(outcomes).toEqual(['gateway.interrupted']);
    controls.splice(0);
    silent.isPaused = false;
    await pass(1_000);
    expect(cancelsAt(silent.worker)).toEqual([id]);
  });

  it('at a backend that finds NATS eight seconds later than this worker is answered, and is interrupted when that one stays away', async () => {
    const [late, away] = [await started(), await started(), await started()];
    const { id } = await call('tools/call', late.worker);
    await call('tools/call', away.worker);
    for (const backend of [late, away]) backend.kill();
    bus.reconnect();
    await pass(8_000);
    expect(outcomes).toEqual([]);
    await late.start();
    await pass(1_000);
    late.calls.get(id)?.({ kind: 'result', result: {} });
    await vi.advanceTimersByTimeAsync(0);
    expect(outcomes).toEqual(['result']);
    await pass(2_000);
    expect(outcomes).toEqual(['result', 'gateway.interrupted']);
  });

  it('bound to a backend that may find NATS later than this worker waits for that one, and goes to another only when it stays away', async () => {
    const [late, away, other] = [await started(), await started(), await started()];
    for (const backend of [late, away]) backend.kill();
    bus.reconnect();
    const calls: ExchangeId[] = [];
    for (const { worker } of [late, away]) calls.push((await call('tools/call', worker)).id);
    await pass(8_000);
    calls.push((await call('tools/call', late.worker)).id);
    expect([other.calls.size, outcomes]).toEqual([0, []]);
    await late.start();
    await pass(1_000);
    expect(new Set(late.calls.keys())).toEqual(new Set([calls[0], calls[2]]));
    await pass(2_000);
    const elsewhere = [late, other].some(({ calls: those }) => those.has(calls[1] as ExchangeId));
    expect([elsewhere, outcomes]).toEqual([true, []]);
  });

  it('at a backend that was killed is known to be lost as soon as its signs stay out', async () => {
    const [killed] = [await started(), await started()];
    await call('tools/call', killed.worker);
    killed.kill();
    await pass(3_500);
    expect(outcomes).toEqual(['gateway.interrupted']);
  });

  it('that only reads is made again elsewhere, and cancelled at the first, not at the second', async () => {
    const [first, second] = [await started(), await started()];
    const { id } = await call('tasks/get', first.worker);
    first.kill();
    await pass(3_500);
    expect([outcomes, second.calls.has(id), cancelsAt(second.worker), cancelsAt(first.worker)]).toEqual([
      [],
      true,
      [],
      [id],
    ]);
  });

  it('that only reads is made again elsewhere at once also after a loss of NATS, unless its backend keeps something for it', async () => {
    const [away, other] = [await started(), await started()];
    const taskPlace = { worker: away.worker, connection: 'run-1', isProgram: true };
    const { id } = await call('tasks/get', undefined, {}, new Map([[server, away.worker]]));
    await call('tasks/get', away.worker);
    await call('tasks/get', undefined, { taskPlace });
    expect(away.calls.size).toBe(3);
    away.kill();
    bus.reconnect();
    await pass(8_000);
    expect([[...other.calls.keys()], outcomes]).toEqual([[id], []]);
    await pass(3_000);
    expect([other.calls.size, outcomes]).toEqual([2, ['task.lost']]);
  });

  it('that went to whichever adapter NATS chose is looked for at each that may have it', async () => {
    await pass(2 * presenceMs);
    const nats = await bus.subscribe(
      subjects.backend(server),
      ({ exchange }, reply) => void backends[0]?.calls.set(exchange, reply),
      { queue: 'backend' },
    );
    const exchange = await call();
    nats.close();
    expect(exchange.sentTo).toBeUndefined();
    const [first, second, leaving] = [await started(), await started(), await started()];
    second.calls.set(exchange.id, () => undefined);
    leaving.leave();
    await pass(3_000);
    expect([outcomes, exchange.sentTo]).toEqual([[], second.worker]);
    first.kill();
    await pass(5_000);
    expect(outcomes).toEqual([]);
    second.kill();
    await pass(5_000);
    expect(outcomes).toEqual(['gateway.interrupted']);
  });

  it('that the only worker took without being known is answered when that one leaves without it', async () => {
    const nats = await bus.subscribe(subjects.backend(server), () => undefined, { queue: 'backend' });
    await call();
    nats.close();
    const only = await started();
    await pass(10_000);
    only.leave();
    await pass(3_000);
    expect(outcomes).toEqual(['gateway.interrupted']);
  });

  it('meant for a backend that has gone in that moment goes to another, and to none that is silent', async () => {
    const [gone, other] = [await started(), await started()];
    gone.kill();
    const { id } = await call('tools/call', gone.worker);
    await vi.advanceTimersByTimeAsync(0);
    expect([outcomes, other.calls.has(id)]).toEqual([[], true]);
  });

  it('of one session goes to the same backend as its others, also before any has said that it keeps something', async () => {
    await Promise.all([started(), started(), started()]);
    await pass(presenceMs);
    const used = new Set<WorkerId>();
    for (let each = 0; each < 12; each += 1) {
      const session = newRequestKey();
      const sent = new Set<WorkerId | undefined>();
      for (let again = 0; again < 6; again += 1) sent.add((await call('tools/call', undefined, { session })).sentTo);
      expect(sent.size).toBe(1);
      for (const worker of sent) used.add(worker as WorkerId);
    }
    expect(used.size).toBeGreaterThan(1);
  });

  it('of one session goes to the backend of its first calls, though others come while they are open', async () => {
    const first = await started();
    const sessions = Array.from({ length: 8 }, () => ({
      session: newRequestKey(),
      chosen: new Map<ServerName, WorkerId>(),
    }));
    const sentOf = (): Promise<(WorkerId | undefined)[]> =>
      Promise.all(
        sessions.map(async ({ session, chosen }) => (await call('tools/call', undefined, { session }, chosen)).sentTo),
      );
    expect(new Set(await sentOf())).toEqual(new Set([first.worker]));
    await Promise.all([started(), started()]);
    await pass(presenceMs);
    expect(new Set(await sentOf())).toEqual(new Set([first.worker]));
    first.leave();
    await pass(presenceMs);
    expect(await sentOf()).not.toContain(first.worker);
  });

  it("without a session goes where its user's others go, and anywhere when nobody knows whose it is", async () => {
    await Promise.all([started(), started(), started()]);
    await pass(presenceMs);
    const sentOf = async (more: Partial<ExchangeContext>): Promise<Set<WorkerId | undefined>> => {
      const sent = new Set<WorkerId | undefined>();
      for (let again = 0; again < 30; again += 1)
        sent.add(
          (await call('tools/call', undefined, { session: newRequestKey(), standsAlone: true, ...more })).sentTo,
        );
      return sent;
    };
    for (const client of [localUser, { id: 'a connection', isOne: true }])
      expect((await sentOf({ client })).size).toBe(1);
    expect((await sentOf({})).size).toBeGreaterThan(1);
  });

  it('about a task of a program goes to the worker that runs it and to no other, and the task is lost with it', async () => {
    const [owner, other] = [await started(), await started()];
    const taskPlace = { worker: owner.worker, connection: 'run-1', isProgram: true };
    const { id } = await call('tasks/get', other.worker, { taskPlace });
    expect([owner.calls.has(id), other.calls.has(id)]).toEqual([true, false]);
    owner.kill();
    const late = await call('tasks/get', other.worker, { taskPlace });
    // No adapter received it: in one process that is proof.
    expect(outcomes).toEqual(['task.lost']);
    await pass(5_000);
    const last = await call('tasks/result', other.worker, { taskPlace });
    await pass(0);
    expect([outcomes, [id, late.id, last.id].filter((each) => other.calls.has(each))]).toEqual([
      ['task.lost', 'task.lost', 'task.lost'],
      [],
    ]);
  });

  it('about a task that the server itself keeps goes where it was made, and by another way when that one is gone', async () => {
    const [first, other] = [await started(), await started()];
    const taskPlace = { worker: first.worker, connection: 'connection-1', isProgram: false };
    const { id } = await call('tasks/get', other.worker, { taskPlace });
    expect(first.calls.has(id)).toBe(true);
    first.leave();
    await pass(5_000);
    expect(other.calls.has(id)).toBe(true);
  });

  it('is watched, whichever part began it', async () => {
    const [first] = [await started(), await started()];
    await call('tasks/cancel', first.worker);
    first.kill();
    await pass(3_500);
    expect(outcomes).toEqual(['gateway.interrupted']);
  });
});
