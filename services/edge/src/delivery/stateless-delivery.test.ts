/** Requests without a session when workers pause, leave and vanish: with scripted workers and a clock of the test. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BusError, subjects, type Bus, type Subscription } from '@omnibus/bus';
import {
  anonymous,
  newRequestKey,
  newWorkerId,
  rootEndpoint,
  type Begun,
  type ModernCommand,
  type ModernControl,
  type ModernReply,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';
import { DeliveryUnderTest, TestedWorker } from './delivery-under-test.ts';
import { StatelessDelivery } from './stateless-delivery.ts';

const backend = newWorkerId('backend');
let test: DeliveryUnderTest<Worker>;
let delivery: StatelessDelivery;
let closed: ModernControl[];

class Worker extends TestedWorker {
  readonly requests = new Map<SessionKey, (reply: ModernReply) => void>();
  readonly begun: Begun[] = [];
  /** The holders of calls that are gone, as it has learned. */
  readonly gone: WorkerId[] = [];
  /** Whether its requests wait for the decision of a person. */
  waits = false;
  readonly #waiting: (() => void)[] = [];

  async listen(bus: Bus): Promise<Subscription[]> {
    return [
      await bus.subscribe(subjects.modern(this.worker), ({ key, begun, gone }, reply) => {
        this.requests.set(key, reply);
        if (gone !== undefined) this.gone.push(gone);
        if (begun !== undefined) this.begun.push(begun);
      }),
      await bus.subscribe(subjects.modernHolds(this.worker), ({ keys }, reply) => {
        const answer = (): void =>
          reply({ keys: keys.filter((key) => this.requests.has(key)), ...(this.waits ? { notBegun: keys } : {}) });
        if (this.isPaused) this.#waiting.push(answer);
        else answer();
      }),
    ];
  }

  goOn(): void {
    this.isPaused = false;
    for (const answer of this.#waiting.splice(0)) answer();
  }
}

beforeEach(async () => {
  closed = [];
  test = await DeliveryUnderTest.start<Worker>(
    (signs) =>
      delivery.lookAfter(({ sentTo }) => sentTo === undefined || signs.some(({ worker }) => worker === sentTo)),
    () => delivery.lookAfter(),
  );
  delivery = new StatelessDelivery({ ...test.options, backends: { since: () => [backend], expected: [] } });
  await test.bus.subscribe(subjects.modernControl, (control) => void closed.push(control));
});

afterEach(() => test.stop());

const pass = (ms: number): Promise<void> => test.pass(ms);
const started = (): Promise<Worker> => test.started(new Worker());

function commandOf(key: SessionKey, method: string): ModernCommand {
  return {
    kind: 'request',
    key,
    caller: { principal: anonymous, endpoint: rootEndpoint },
    request: { jsonrpc: '2.0', id: 1, method, params: {} },
    context: { capabilities: {}, logLevel: undefined },
    parameterHeaders: undefined,
  };
}

/** A request, which goes to any of the workers. */
async function request(
  method: string,
): Promise<{ readonly key: SessionKey; readonly frames: ModernReply[]; readonly at: Worker }> {
  const key = newRequestKey();
  const frames: ModernReply[] = [];
  delivery.request(commandOf(key, method), {
    reply: (frame) => frames.push(frame),
    failed: (error) => expect.fail(String(error)),
  });
  await vi.advanceTimersByTimeAsync(0);
  return { key, frames, at: test.workers.find(({ requests }) => requests.has(key)) as Worker };
}

const answered: ModernReply = { kind: 'message', text: '{}', isAnswer: true, sequence: undefined, last: true };
const reasons = (frames: readonly ModernReply[]): string[] =>
  frames.map((frame) => (frame.kind === 'refused' ? frame.fault.reason : frame.kind));

it('a request at a worker that pauses for a second or two continues, whichever worker leaves meanwhile', async () => {
  const all = [await started(), await started()];
  const { key, frames, at } = await request('tools/call');
  const other = all.find((worker) => worker !== at) as Worker;
  at.isPaused = true;
  test.kill(other);
  test.beat(other, true);
  await pass(1_500);
  delivery.lookAfter();
  await pass(1_000);
  at.goOn();
  await pass(3_000);
  at.requests.get(key)?.(answered);
  await vi.advanceTimersByTimeAsync(0);
  expect([reasons(frames), closed]).toEqual([['message'], []]);
});

it('a request whose worker stays silent goes to another one, and is cancelled there if that one comes back', async () => {
  await started();
  await started();
  const [call, list] = [await request('tools/call'), await request('tools/list')];
  await started();
  call.at.isPaused = true;
  list.at.isPaused = true;
  await pass(8_000);
  expect(reasons(call.frames)).toEqual([]);
  for (const { key, at } of [call, list])
    expect(test.workers.filter((worker) => worker !== at && worker.requests.has(key)).length).toBe(1);
  expect(closed).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ key: call.key, worker: call.at.worker }),
      expect.objectContaining({ key: list.key, worker: list.at.worker }),
    ]),
  );
});

it('a call whose worker was killed goes to another one as soon as its signs stay out, with what the edge knows of it', async () => {
  await started();
  await started();
  const { key, frames, at } = await request('tools/call');
  test.kill(at);
  await pass(3_500);
  const next = test.workers.find((worker) => worker !== at && worker.requests.has(key));
  expect([reasons(frames), next?.begun]).toEqual([
    [],
    [{ ageMs: expect.any(Number) as number, turn: 1, backends: [backend], areAll: true }],
  ]);
});

it('a call that NATS gave to a worker before the edge knew any goes to another one if that worker dies', async () => {
  const first = new Worker();
  const anybodys = await test.bus.subscribe(subjects.modern(undefined), ({ key }, reply) => {
    first.requests.set(key, reply);
  });
  const { key, frames } = await request('tools/call');
  await test.started(first);
  const second = await started();
  anybodys.close();
  test.kill(first);
  await pass(3_500);
  expect([reasons(frames), second.requests.has(key), second.begun.map(({ turn }) => turn)]).toEqual([[], true, [1]]);
});

it('an answer of a newer worker that this version does not know ends the request', async () => {
  await started();
  const { key, frames, at } = await request('tools/call');
  at.requests.get(key)?.({ kind: 'from the future' } as unknown as ModernReply);
  await vi.advanceTimersByTimeAsync(0);
  expect(reasons(frames)).toEqual(['gateway.interrupted']);
  expect(delivery.waiting).toBe(0);
});

it('requests that continue a call whose worker is gone go to one worker, which learns that, and no further if that one does not continue it', async () => {
  const [holder] = [await started(), await started(), await started(), await started()];
  const asked = [await request('tools/call'), await request('tools/call')];
  const call = newRequestKey();
  const elsewhere: ModernReply = { kind: 'elsewhere', worker: holder.worker, call };
  test.kill(holder);
  for (const { key, at } of asked) at.requests.get(key)?.(elsewhere);
  for (const { key, at } of asked) at.requests.delete(key);
  await pass(6_000);
  const next = test.workers.filter(({ gone }) => gone.length > 0);
  expect(next.map(({ gone, begun }) => [gone, begun.map(({ turn }) => turn)])).toEqual([
    [
      [holder.worker, holder.worker],
      [1, 1],
    ],
  ]);
  for (const { key } of asked) next[0]?.requests.get(key)?.(elsewhere);
  await pass(1_000);
  expect(asked.map(({ frames }) => reasons(frames))).toEqual([['state.lost'], ['state.lost']]);
});

it('a call that waits for a person is as young as the last word of its worker that no server has it', async () => {
  const [worker] = [await started(), await started()];
  const { key, at } = await request('tools/call');
  at.waits = true;
  for (let times = 0; times < 10; times += 1) {
    delivery.look();
    await pass(6_000);
  }
  test.kill(at);
  await pass(6_000);
  const next = test.workers.find((each) => each.requests.has(key));
  expect(worker).toBeDefined();
  expect(next?.begun[0]?.ageMs).toBeLessThan(20_000);
});

it('an answer to an earlier question makes a call no younger than that question', async () => {
  await started();
  await started();
  const { key, at } = await request('tools/call');
  await pass(2_000);
  const requests = vi.spyOn(test.bus, 'request');
  at.isPaused = true;
  delivery.lookAfter();
  const [question] = requests.mock.calls;
  await pass(1_500);
  expect(requests.mock.calls.length).toBeGreaterThan(1);
  // It may have begun since the first question.
  question?.[2].reply({ keys: [key], notBegun: [key] });
  await vi.advanceTimersByTimeAsync(0);
  test.kill(at);
  await pass(6_000);
  const next = test.workers.find((each) => each !== at && each.requests.has(key));
  expect(next?.begun[0]?.ageMs).toBeGreaterThan(1_500);
});

it('a request whose answer is lost on its way is sent once more, with what the edge knows of it', async () => {
  const [one, other] = [await started(), await started()];
  const requests = vi.spyOn(test.bus, 'request');
  const { key, frames, at } = await request('tools/call');
  requests.mock.calls.at(-1)?.[2].failed(new BusError('lost', 'the bytes of the answer are gone'));
  await vi.advanceTimersByTimeAsync(0);
  const next = at === one ? other : one;
  expect([frames, next.begun.length, closed.length]).toEqual([[], 1, 1]);
  next.requests.get(key)?.(answered);
  await vi.advanceTimersByTimeAsync(0);
  expect(reasons(frames)).toEqual(['message']);
});

it.each([
  ['waits for the first that is back, right after a loss of NATS', false, 400, []],
  ['fails in the end, if none comes back', false, 3_000, ['no-responders']],
  ['fails at once where NATS was not lost', true, 400, ['no-responders']],
] as const)('a request that no worker hears %s', async (_title, isSteady, backAfterMs, failed) => {
  for (const worker of [await started(), await started()])
    for (const subscription of worker.subscriptions) subscription.close();
  delivery = new StatelessDelivery({
    ...test.options,
    backends: { since: () => [backend], expected: [] },
    connection: { isSteady },
  });
  const [heard, failures]: [SessionKey[], string[]] = [[], []];
  const key = newRequestKey();
  delivery.request(commandOf(key, 'tools/call'), {
    reply: (frame) => expect.fail(frame.kind),
    failed: ({ kind }) => void failures.push(kind),
  });
  await vi.advanceTimersByTimeAsync(backAfterMs);
  await test.bus.subscribe(subjects.modern(undefined), (command) => void heard.push(command.key));
  await vi.advanceTimersByTimeAsync(1_000);
  expect([heard, failures]).toEqual([failed.length === 0 ? [key] : [], failed]);
});
