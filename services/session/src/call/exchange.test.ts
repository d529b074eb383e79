/** One request on its way to one server, with a scripted adapter and a clock of the test. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BusError, MemoryBus, subjects, type PendingRequest, type ReplyObserver, type Subject } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  newRequestKey,
  newWorkerId,
  parseServerName,
  type AttachCommand,
  type CallCommand,
  type ControlCommand,
  type ExchangeEvent,
  type ExchangeId,
  type ExchangeMethod,
  type ExchangeOutcome,
  type InputKey,
} from '@omnibus/protocol';
import { Metrics, createLogger } from '@omnibus/telemetry';
import { Exchange } from './exchange.ts';
import type { ExchangeRequest } from './exchange-request.ts';
import { ExchangeWatch } from './exchange-watch.ts';

const server = parseServerName('up');
const owner = newWorkerId('session');
const limits = { callMs: 1_000, maxMs: 5_000, humanMs: 3_000, taskMs: 9_000 };
const question = (input: InputKey): ExchangeEvent => ({
  kind: 'input',
  input,
  method: 'elicitation/create',
  params: { message: `number ${input}` },
});

let bus: MemoryBus;
let wheel: DeadlineWheel;
let watch: ExchangeWatch;
let metrics: Metrics;
let calls: { readonly command: CallCommand; readonly reply: (event: ExchangeEvent) => void }[];
let controls: ControlCommand[];
let said: string[];
let outcomes: ExchangeOutcome[];
let count = 0;

beforeEach(async () => {
  vi.useFakeTimers();
  bus = new MemoryBus(({ what }) => expect.fail(what));
  wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  metrics = new Metrics({ processMetrics: false });
  watch = new ExchangeWatch({
    bus,
    wheel,
    log: createLogger({ level: 'silent', format: 'json' }),
    changed: () => undefined,
    workersChanged: () => undefined,
    reaching: (_server, workers) => workers,
    mustHear: () => false,
    keptFor: () => undefined,
  });
  [calls, controls, said, outcomes] = [[], [], [], []];
  await bus.subscribe(subjects.backend(server), (command, reply) => void calls.push({ command, reply }), {
    queue: 'backend',
  });
  await bus.subscribe(subjects.backendControl(server), (command) => void controls.push(command));
});

afterEach(() => {
  vi.useRealTimers();
});

/** A bus on which every reply is lost. */
class LosingBus extends MemoryBus {
  override request<Request, Reply>(
    to: Subject<Request, Reply>,
    payload: Request,
    observer: ReplyObserver<Reply>,
  ): PendingRequest {
    const request = super.request(to, payload, observer);
    queueMicrotask(() => observer.failed(new BusError('lost', 'a reply could not be read')));
    return request;
  }
}

/** An exchange that is not sent yet. */
function exchangeOf(more: Partial<ExchangeRequest> = {}): Exchange {
  return new Exchange(
    { bus, wheel, adapters: watch, metrics, owner },
    {
      exchange: `exchange-${(count += 1)}` as ExchangeId,
      server,
      method: 'tools/call',
      params: {},
      subject: ['tool', 'act'],
      limits,
      context: {
        principal: anonymous,
        session: newRequestKey(),
        capabilities: {},
        standsAlone: false,
        logLevel: undefined,
        wantsProgress: true,
      },
      ...more,
    },
    {
      progress: ({ progress }) => said.push(`progress ${JSON.stringify(progress)}`),
      log: () => said.push('log'),
      affinity: () => undefined,
      lost: (outcome) => said.push(`lost, ${outcome}`),
      input: ({ input }) => said.push(`asked ${input}`),
      inputWithdrawn: (input) => said.push(`withdrawn ${input}`),
      settled: (outcome) => outcomes.push(outcome),
    },
  );
}

async function begin(
  method: ExchangeMethod = 'tools/call',
  isRepeatable = false,
  more: Pick<ExchangeRequest, 'isKept' | 'continues' | 'turn'> = {},
): Promise<{ readonly exchange: Exchange; readonly say: (event: ExchangeEvent) => Promise<void> }> {
  const exchange = exchangeOf({ method, isRepeatable, ...more }).begin();
  await pass(0);
  return {
    exchange,
    say: async (event) => {
      calls.at(-1)?.reply(event);
      await pass(0);
    },
  };
}

/** Lets time pass, and everything be delivered. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

const reasons = (): unknown[] =>
  outcomes.map((outcome) => (outcome.kind === 'fault' ? outcome.fault.reason : outcome.kind));
const answersGiven = (): unknown[] =>
  controls.flatMap((command) =>
    command.kind === 'answer'
      ? [[command.input, 'error' in command.answer ? command.answer.error.data : command.answer.result]]
      : [],
  );
const cancelled = (): unknown[] => controls.flatMap((command) => (command.kind === 'cancel' ? [command.exchange] : []));

describe('an exchange', () => {
  it('is sent when it begins, and looked after from then until it is settled', async () => {
    const exchange = exchangeOf();
    await pass(0);
    expect([calls.length, watch.size]).toEqual([0, 0]);
    exchange.begin();
    await pass(0);
    expect([calls.length, watch.size]).toEqual([1, 1]);
    calls[0]?.reply({ kind: 'result', result: {} });
    await pass(0);
    expect([reasons(), watch.size]).toEqual([['result'], 0]);
  });

  it('settles once, and nothing follows that', async () => {
    const { say } = await begin();
    await say({ kind: 'progress', progress: 1 });
    await say({ kind: 'result', result: {} });
    await say({ kind: 'progress', progress: 2 });
    await say({ kind: 'result', result: {} });
    await pass(20_000);
    expect([said, reasons()]).toEqual([['progress 1'], ['result']]);
  });

  it('is cancelled at its adapter if a reply of that is lost: the adapter may not have sent it to the server yet', async () => {
    bus = new LosingBus(({ what }) => expect.fail(what));
    await bus.subscribe(subjects.backend(server), (command, reply) => void calls.push({ command, reply }));
    await bus.subscribe(subjects.backendControl(server), (command) => void controls.push(command));
    const { exchange } = await begin();
    await pass(0);
    expect([reasons(), cancelled()]).toEqual([['gateway.interrupted'], [exchange.id]]);
  });

  it('is never settled after it was cancelled, and the server is told to stop', async () => {
    const { exchange, say } = await begin();
    exchange.cancel('not needed');
    await say({ kind: 'result', result: {} });
    await pass(20_000);
    expect([reasons(), cancelled()]).toEqual([[], [exchange.id]]);
  });

  it('ends without a sign of progress, and in all', async () => {
    const { exchange, say } = await begin();
    for (let progress = 1; progress < 8; progress += 1) {
      await pass(700);
      await say({ kind: 'progress', progress });
    }
    expect(reasons()).toEqual([]);
    await pass(400);
    expect([reasons(), cancelled()]).toEqual([['upstream.timeout'], [exchange.id]]);
    await begin();
    await pass(1_200);
    expect(reasons()).toEqual(['upstream.timeout', 'upstream.timeout']);
  });

  it('is kept alive by progress that is not for the client, who hears nothing of it, up to its time in all', async () => {
    const { say } = await begin();
    for (let sign = 1; sign < 8; sign += 1) {
      await pass(700);
      await say({ kind: 'alive' });
    }
    expect([said, reasons()]).toEqual([[], []]);
    await pass(400);
    expect(reasons()).toEqual(['upstream.timeout']);
  });

  it('names what the server wrote that cannot be read, when its time is over', async () => {
    const { say } = await begin();
    await say({ kind: 'doubt', problem: 'its program wrote on stdout: INFO' });
    await pass(1_100);
    expect(outcomes).toEqual([
      expect.objectContaining({
        fault: expect.objectContaining({
          reason: 'upstream.timeout',
          message: expect.stringMatching(
            /it was told to stop\. Its answer may have been lost: its program wrote on stdout: INFO$/,
          ),
        }),
      }),
    ]);
  });

  it('does not age while a client answers a question, and each question has its own time', async () => {
    const { exchange, say } = await begin();
    await pass(900);
    await say(question(1));
    await pass(2_500);
    await say(question(2));
    await pass(600);
    // Three seconds after the first, half a second after the second.
    expect(answersGiven()).toEqual([[1, expect.objectContaining({ reason: 'input.timeout' })]]);
    expect(said).toEqual(['asked 1', 'asked 2', 'withdrawn 1']);
    await pass(2_000);
    exchange.answerInput(2, { result: { ok: true } });
    await pass(900);
    expect([answersGiven().at(-1), reasons()]).toEqual([[2, { ok: true }], []]);
    await pass(300);
    expect(reasons()).toEqual(['upstream.timeout']);
  });

  it('whose questions overlap without end is ended by its total time as soon as none is open', async () => {
    const { exchange, say } = await begin();
    for (let input = 1; input < 10; input += 1) {
      await say(question(input));
      await pass(1_000);
      await say(question(input + 100));
      exchange.answerInput(input, { result: {} });
      await pass(1_000);
      exchange.answerInput(input + 100, { result: {} });
      await pass(500);
      if (reasons().length > 0) break;
    }
    await pass(1_100);
    expect(reasons()).toEqual(['upstream.timeout']);
  });

  it('that is retried because its adapter was lost while a question was open has a new time limit, and the question is withdrawn', async () => {
    const { exchange, say } = await begin('resources/read', true);
    await say(question(1));
    exchange.adapterLost();
    await pass(0);
    expect([calls.length, said]).toEqual([2, ['asked 1', 'withdrawn 1', 'lost, repeated']]);
    exchange.answerInput(1, { result: {} });
    await pass(0);
    expect(answersGiven()).toEqual([]);
    await pass(1_200);
    expect(reasons()).toEqual(['upstream.timeout']);
  });

  it('that must not be made twice is answered "outcome unknown" when its adapter is lost, and cancelled where it may still run', async () => {
    const { exchange, say } = await begin();
    await say(question(1));
    exchange.adapterLost();
    await pass(20_000);
    expect([reasons(), cancelled()]).toEqual([['gateway.interrupted'], [exchange.id]]);
  });

  it.each([
    ['gets the answer that its backend worker kept', [{ kind: 'result', result: { kept: true } }], ['result']],
    ['goes on with what runs there', [{ kind: 'alive' }, { kind: 'result', result: {} }], ['result']],
    [
      'has an unknown outcome if that worker has no answer',
      [{ kind: 'seen', state: 'unknown' }],
      ['gateway.interrupted'],
    ],
    ['is made again if that worker has not sent it', [{ kind: 'seen', state: 'never' }], []],
    [
      'no longer listens to that worker when it is made again',
      [
        { kind: 'seen', state: 'never' },
        { kind: 'result', result: {} },
      ],
      [],
    ],
  ] as const)('that another worker may continue, and whose adapter seems lost, %s', async (_title, replies, ends) => {
    const at = newWorkerId('backend');
    const asked: AttachCommand[] = [];
    await bus.subscribe(subjects.backendAttach(at), (command, reply) => {
      asked.push(command);
      for (const each of replies) reply(each);
    });
    const { exchange } = await begin('tools/call', false, { isKept: true, turn: 2 });
    expect(calls[0]?.command.owner).toBe(owner);
    exchange.sentTo = at;
    exchange.adapterLost();
    await pass(0);
    expect(asked).toEqual([{ exchange: exchange.id, owner, ageMs: 0, turn: 2, takes: true, sendings: 2 }]);
    expect(calls.map(({ command: { sending, turn } }) => [sending, turn])).toEqual(
      ends.length === 0
        ? [
            [undefined, 2],
            [3, 2],
          ]
        : [[undefined, 2]],
    );
    expect(outcomes.map((each) => (each.kind === 'fault' ? each.fault.reason : each.kind))).toEqual(ends);
    expect(calls.length).toBe(ends.length === 0 ? 2 : 1);
    expect(cancelled()).toEqual([]);
  });

  it('that another worker may continue, and whose backend worker is gone, has an unknown outcome', async () => {
    vi.spyOn(watch, 'state').mockReturnValue('silent');
    const { exchange } = await begin('tools/call', false, { isKept: true });
    exchange.sentTo = newWorkerId('backend');
    exchange.adapterLost();
    await pass(0);
    expect([reasons(), calls.length]).toEqual([['gateway.interrupted'], 1]);
  });

  it('that another worker may take over continues at a backend worker that was cut off from NATS, when that worker listens again', async () => {
    const { exchange } = await begin('tools/call', false, { isKept: true });
    const at = newWorkerId('backend');
    exchange.sentTo = at;
    exchange.adapterLost();
    await pass(250);
    await bus.subscribe(subjects.backendAttach(at), (_command, reply) => reply({ kind: 'result', result: {} }));
    await pass(1_000);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['result']);
  });

  it('waits for a backend worker without signs of life that may have lost NATS together with this worker', async () => {
    vi.spyOn(watch, 'state').mockReturnValue('silent');
    const awaiting = vi.spyOn(watch, 'mayReturn').mockReturnValue(true);
    const [answered, given] = [await begin('tools/call', false, { isKept: true }), newWorkerId('backend')];
    answered.exchange.sentTo = given;
    answered.exchange.adapterLost();
    await pass(400);
    await bus.subscribe(subjects.backendAttach(given), (_command, reply) => reply({ kind: 'result', result: {} }));
    await pass(300);
    expect(reasons()).toEqual(['result']);
    const { exchange } = await begin('tools/call', false, { isKept: true });
    exchange.sentTo = newWorkerId('backend');
    exchange.adapterLost();
    await pass(250);
    expect(reasons()).toEqual(['result']);
    awaiting.mockReturnValue(false);
    await pass(100);
    expect(reasons()).toEqual(['result', 'gateway.interrupted']);
  });

  it('that another worker may continue is asked for again if the first question for it was lost', async () => {
    const { exchange } = await begin('tools/call', false, { isKept: true });
    const at = newWorkerId('backend');
    let questions = 0;
    await bus.subscribe(subjects.backendAttach(at), (_command, reply) => {
      questions += 1;
      if (questions > 1) reply({ kind: 'result', result: {} });
    });
    exchange.sentTo = at;
    exchange.adapterLost();
    await pass(0);
    // The worker was cut off, and says that the call does not run there.
    exchange.adapterLost();
    await pass(0);
    expect([questions, outcomes.map(({ kind }) => kind)]).toEqual([2, ['result']]);
  });

  it('that a server may have and no backend worker knows is not sent', async () => {
    await begin('tools/call', false, { isKept: true, continues: { at: undefined } });
    expect([reasons(), calls.length]).toEqual([['gateway.interrupted'], 0]);
  });

  it('gives an answer again to an adapter that had no word of it, until that one has said that it took it', async () => {
    const { exchange, say } = await begin();
    await say(question(1));
    exchange.answerInput(1, { result: { n: 1 } });
    await say(question(1));
    expect([said, answersGiven()]).toEqual([
      ['asked 1'],
      [
        [1, { n: 1 }],
        [1, { n: 1 }],
      ],
    ]);
    await say({ kind: 'input-answered', input: 1 });
    expect(exchange.unconfirmed).toBe(0);
  });

  it('keeps no more answers than an adapter has questions', async () => {
    const { exchange, say } = await begin();
    for (let input = 1; input <= 1_000; input += 1) {
      await say(question(input));
      exchange.answerInput(input, { result: {} });
    }
    expect(exchange.unconfirmed).toBeLessThanOrEqual(100);
    await say({ kind: 'result', result: {} });
    expect(exchange.unconfirmed).toBe(0);
  });

  it.each([3_000, 700])(
    'ends, although its server asks the next question every %i ms and none is answered',
    async (everyMs) => {
      const { say } = await begin();
      for (let passed = 0, input = 1; passed < 20_000 && outcomes.length === 0; passed += everyMs, input += 1) {
        await say(question(input as InputKey));
        await pass(everyMs);
      }
      expect(outcomes).toMatchObject([
        { kind: 'fault', fault: { reason: 'upstream.timeout', data: { limitMs: 5_000 } } },
      ]);
      // `maxMs`, and once the time of a client to answer.
      expect(said.filter((what) => what.startsWith('asked')).length).toBe(Math.ceil(8_000 / everyMs));
    },
  );

  it('has all its time as long as its client answers, however often it is asked', async () => {
    const { exchange, say } = await begin();
    for (let input = 1; input <= 10; input += 1) {
      await say(question(input as InputKey));
      await pass(2_000);
      exchange.answerInput(input as InputKey, { result: {} });
    }
    expect(outcomes).toEqual([]);
    await say({ kind: 'result', result: {} });
    expect(outcomes).toMatchObject([{ kind: 'result' }]);
  });

  it('gets at most a hundred questions at once; the server gets an error beyond', async () => {
    const { say } = await begin();
    for (let input = 1; input <= 102; input += 1) await say(question(input));
    expect(said.length).toBe(100);
    expect(answersGiven()).toEqual([
      [101, expect.objectContaining({ reason: 'input.limit' })],
      [102, expect.objectContaining({ reason: 'input.limit' })],
    ]);
  });

  it('ignores unknown messages of a newer peer, and counts them', async () => {
    const { say } = await begin();
    await say(JSON.parse('{"kind":"from the future"}') as ExchangeEvent);
    await say({ kind: 'result', result: {} });
    expect(reasons()).toEqual(['result']);
    expect(await metrics.text()).toContain('omnibus_dropped_messages_total{reason="bus_unknown"} 1');
  });

  it('has no control characters and no long names in its words', async () => {
    vi.useFakeTimers();
    const { say } = await begin();
    void say;
    const name = `\u009b31m\u0007${'x'.repeat(5_000)}`;
    void exchangeOf({ subject: ['tool', name] }).begin();
    await pass(1_200);
    const text = JSON.stringify(outcomes);
    expect(text).not.toMatch(/\p{Cc}/u);
    expect(text.length).toBeLessThan(2_000);
  });

  it('on a bus where nobody has the server is answered that it is not available', async () => {
    const other = parseServerName('nowhere');
    void exchangeOf({ server: other, affinity: newWorkerId('backend') }).begin();
    await pass(0);
    expect(reasons()).toEqual(['upstream.unavailable']);
  });
});
