/** Requests without a session whose workers pause, leave and vanish: with workers that say what the test wants and time that the test lets pass. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus, PresenceWatch, subjects, type Subscription } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { anonymous, newRequestKey, newWorkerId, presenceMs, rootEndpoint, type ModernControl, type ModernReply, type Presence, type SessionKey, type WorkerId } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { StatelessDelivery } from './stateless-delivery.ts';

let bus: MemoryBus;
let delivery: StatelessDelivery;
let watch: PresenceWatch<Presence>;
let workers: Worker[];
let closed: ModernControl[];

class Worker {
  readonly worker: WorkerId = newWorkerId('session');
  readonly requests = new Map<SessionKey, (reply: ModernReply) => void>();
  readonly #waiting: (() => void)[] = [];
  #subscriptions: Subscription[] = [];
  isPaused = false;

  async start(): Promise<void> {
    this.#subscriptions = [
      await bus.subscribe(subjects.modern(this.worker), ({ key }, reply) => void this.requests.set(key, reply)),
      await bus.subscribe(subjects.modernHolds(this.worker), ({ keys }, reply) => {
        const answer = (): void => reply({ keys: keys.filter((key) => this.requests.has(key)) });
        if (this.isPaused) this.#waiting.push(answer);
        else answer();
      }),
    ];
    workers.push(this);
  }

  beat(isLeaving = false): void {
    if (!this.isPaused) bus.publish(subjects.presence, { worker: this.worker, isLeaving, reconnects: 0 });
  }

  kill(): void {
    for (const subscription of this.#subscriptions) subscription.close();
    workers.splice(workers.indexOf(this), 1);
  }

  goOn(): void {
    this.isPaused = false;
    for (const answer of this.#waiting.splice(0)) answer();
  }
}

beforeEach(async () => {
  vi.useFakeTimers();
  [workers, closed] = [[], []];
  bus = new MemoryBus(({ what }) => expect.fail(what));
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  // As `Delivery` watches them.
  watch = new PresenceWatch<Presence>({
    bus, clock: wheel, subject: subjects.presence, joined: () => undefined,
    gone: (signs) => delivery.lookAfter(({ sentTo }) => sentTo === undefined || signs.some(({ worker }) => worker === sentTo)),
    disturbed: () => delivery.lookAfter(),
  });
  await watch.start();
  delivery = new StatelessDelivery({ bus, wheel, log: createLogger({ level: 'silent', format: 'json' }), workers: watch });
  await bus.subscribe(subjects.modernControl, (control) => void closed.push(control));
});

afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

/** Lets time pass in which workers that run give their signs. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += presenceMs) {
    for (const worker of workers) worker.beat();
    await vi.advanceTimersByTimeAsync(presenceMs);
  }
}

async function started(): Promise<Worker> {
  const worker = new Worker();
  await worker.start();
  await pass(presenceMs);
  return worker;
}

/** A request, which goes to any of the workers. */
async function request(method: string): Promise<{ readonly key: SessionKey; readonly frames: ModernReply[]; readonly at: Worker }> {
  const key = newRequestKey();
  const frames: ModernReply[] = [];
  delivery.request({
    kind: 'request', key, caller: { principal: anonymous, endpoint: rootEndpoint }, request: { jsonrpc: '2.0', id: 1, method, params: {} }, context: { capabilities: {}, logLevel: undefined }, parameterHeaders: undefined,
  }, { reply: (frame) => frames.push(frame), failed: (error) => expect.fail(String(error)) });
  await vi.advanceTimersByTimeAsync(0);
  return { key, frames, at: workers.find(({ requests }) => requests.has(key)) as Worker };
}

const answered: ModernReply = { kind: 'message', text: '{}', isAnswer: true, sequence: undefined, last: true };
const reasons = (frames: readonly ModernReply[]): string[] => frames.map((frame) => (frame.kind === 'refused' ? frame.fault.reason : frame.kind));

it('a request at a worker that pauses for a second or two goes on, whoever leaves meanwhile', async () => {
  const all = [await started(), await started()];
  const { key, frames, at } = await request('tools/call');
  const other = all.find((worker) => worker !== at) as Worker;
  at.isPaused = true;
  other.kill();
  other.beat(true);
  await pass(1_500);
  delivery.lookAfter();
  await pass(1_000);
  at.goOn();
  await pass(3_000);
  at.requests.get(key)?.(answered);
  await vi.advanceTimersByTimeAsync(0);
  expect([reasons(frames), closed]).toEqual([['message'], []]);
});

it('a request whose worker is silent for good is answered "outcome unknown", or made again where that does no harm, and ended there should that one come back', async () => {
  await started();
  await started();
  const [call, list] = [await request('tools/call'), await request('tools/list')];
  await started();
  call.at.isPaused = true;
  list.at.isPaused = true;
  await pass(8_000);
  expect(reasons(call.frames)).toEqual(['gateway.interrupted']);
  expect(workers.filter((worker) => worker !== list.at && worker.requests.has(list.key)).length).toBe(1);
  expect(closed).toEqual(expect.arrayContaining([expect.objectContaining({ key: call.key, worker: call.at.worker }), expect.objectContaining({ key: list.key, worker: list.at.worker })]));
});

it('a request whose worker was killed is known to be lost as soon as its signs stay out', async () => {
  await started();
  await started();
  const { frames, at } = await request('tools/call');
  at.kill();
  await pass(3_500);
  expect(reasons(frames)).toEqual(['gateway.interrupted']);
});

it('an answer of a newer worker that this version does not know ends the request', async () => {
  await started();
  const { key, frames, at } = await request('tools/call');
  at.requests.get(key)?.({ kind: 'from the future' } as unknown as ModernReply);
  await vi.advanceTimersByTimeAsync(0);
  expect(reasons(frames)).toEqual(['gateway.interrupted']);
  expect(delivery.waiting).toBe(0);
});
