/** Commands of sessions when workers pause, leave, vanish and hand sessions over: with scripted workers and a clock of the test. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BusError, subjects, type Bus, type Subscription } from '@omnibus/bus';
import {
  anonymous,
  idSequence,
  newSessionId,
  newWorkerId,
  rootEndpoint,
  type AdoptReply,
  type OpenReply,
  type SessionCommand,
  type StreamFrame,
  type StreamId,
} from '@omnibus/protocol';
import { DeliveryUnderTest, TestedWorker } from './delivery-under-test.ts';
import { openSession } from './open-session.ts';
import { addressOf, type SessionAddress } from './session-addresses.ts';
import { SessionDelivery } from './session-delivery.ts';

const caller = { principal: anonymous, endpoint: rootEndpoint };
const backend = newWorkerId('backend');
const nextStream = idSequence<StreamId>(newWorkerId('edge'));

let test: DeliveryUnderTest<Worker>;
let delivery: SessionDelivery;

class Worker extends TestedWorker {
  /** Its commands, except for probes. */
  readonly heard: SessionCommand[] = [];
  readonly replies: ((frame: StreamFrame) => void)[] = [];
  probes = 0;
  /** Whether its requests wait for the decision of a person. */
  waits = false;
  /** Its answer to a command of a session that it does not own; undefined while it holds all. */
  says: StreamFrame | undefined;
  adopts: () => AdoptReply = () => ({ outcome: 'held', worker: this.worker });
  opens: (() => OpenReply) | undefined;

  async listen(bus: Bus): Promise<Subscription[]> {
    return [
      await bus.subscribe(subjects.session(this.worker), ({ command }, reply) => {
        if (this.isPaused) return;
        if (command.kind === 'probe') {
          this.probes += 1;
          // A worker keeps a stream for what it has to answer only.
          const held = new Set(this.heard.flatMap((each) => ('stream' in each && isAsking(each) ? [each.stream] : [])));
          reply({
            kind: 'probed',
            missing: command.streams.filter((stream) => !held.has(stream)),
            ...(this.waits ? { notBegun: command.streams } : {}),
          });
          return;
        }
        this.heard.push(command);
        this.replies.push(reply);
        if (this.says !== undefined) reply(this.says);
      }),
      await bus.subscribe(subjects.sessionAdopt(this.worker), (_session, reply) => reply(this.adopts())),
      await bus.subscribe(subjects.sessionOpen(this.worker), (_command, reply) => {
        if (this.opens !== undefined) reply(this.opens());
      }),
    ];
  }
}

beforeEach(async () => {
  test = await DeliveryUnderTest.start<Worker>(
    (signs) => delivery.gone(new Set(signs.map(({ worker }) => worker))),
    (worker) => delivery.disturbed(worker),
  );
  delivery = new SessionDelivery({
    ...test.options,
    edge: newWorkerId('edge'),
    backends: { since: () => [backend], expected: [] },
  });
});

afterEach(() => test.stop());

const pass = (ms: number): Promise<void> => test.pass(ms);
const started = (): Promise<Worker> => test.started(new Worker());

interface Asked {
  /** The answers to its client. */
  readonly told: string[];
  readonly address: SessionAddress;
  readonly close: () => void;
}

async function ask(address: SessionAddress, command: SessionCommand): Promise<Asked> {
  const told: string[] = [];
  const pending = delivery.request(address, command, {
    reply: (frame) => {
      told.push(frame.kind === 'refused' ? frame.fault.reason : frame.kind);
      if (frame.kind === 'refused' || (frame.kind === 'message' && frame.last)) pending.close();
    },
    failed: (error) => told.push(`failed: ${error.kind}`),
  });
  await vi.advanceTimersByTimeAsync(0);
  return { told, address, close: () => pending.close() };
}

function isAsking(command: SessionCommand): boolean {
  return command.kind !== 'post' || command.message.kind === 'request';
}

const post = (method: string): SessionCommand => ({
  kind: 'post',
  caller,
  stream: nextStream(),
  message: { kind: 'request', message: { jsonrpc: '2.0', id: 1, method, params: {} } },
});
const attach = (): Extract<SessionCommand, { kind: 'attach' }> => ({
  kind: 'attach',
  caller,
  stream: nextStream(),
  after: undefined,
});
const message = (sequence: number, last: boolean): StreamFrame => ({
  kind: 'message',
  text: '{}',
  isAnswer: last,
  sequence,
  last,
});
const of = ({ worker }: Worker): SessionAddress => addressOf(newSessionId(), worker);

/** Answers the latest commands. */
async function answer({ replies }: Worker, count = 1): Promise<void> {
  for (const reply of replies.slice(-count)) reply(message(1, true));
  await vi.advanceTimersByTimeAsync(0);
}

it('commands whose worker was killed go to the next owner as soon as its signs stay out, and a call with what the edge knows of it', async () => {
  const [owner, next] = [await started(), await started()];
  const [call, list] = [await ask(of(owner), post('tools/call')), await ask(of(owner), post('tools/list'))];
  test.kill(owner);
  await pass(3_500);
  expect([call.told, next.heard.length, list.address.owner]).toEqual([[], 2, next.worker]);
  expect(next.heard.map((command) => ('begun' in command ? command.begun : undefined))).toEqual([
    { ageMs: expect.any(Number) as number, turn: 1, backends: [backend], areAll: true },
    undefined,
  ]);
  await answer(next, 2);
  expect([call.told, list.told, delivery.waiting]).toEqual([['message'], ['message'], 0]);
});

it('the next owner of a batch gets the requests in it that have no answer yet, and those that share an id', async () => {
  const [owner, next] = [await started(), await started()];
  const batch = (...ids: number[]): Extract<SessionCommand, { kind: 'batch' }> => ({
    kind: 'batch',
    caller,
    stream: nextStream(),
    refusals: ['{"jsonrpc":"2.0","id":null,"error":{}}'],
    messages: ids.map((id) => ({ kind: 'request', message: { jsonrpc: '2.0', id, method: 'tools/call', params: {} } })),
  });
  const answers = ['{"jsonrpc":"2.0","id":null,"error":{}}', '{"jsonrpc":"2.0","id":2,"result":{}}'];
  for (const command of [batch(1, 2, 3), batch(1, 2, 1)]) {
    await ask(of(owner), command);
    for (const [index, text] of answers.entries())
      owner.replies.at(-1)?.({ kind: 'message', text, isAnswer: true, sequence: index + 1, last: false });
  }
  test.kill(owner);
  await pass(3_500);
  const heard = next.heard.map((command) =>
    command.kind === 'batch'
      ? [
          command.messages.map(({ message }) => ('id' in message ? message.id : undefined)),
          command.refusals?.length,
          command.sentUpTo,
        ]
      : command.kind,
  );
  expect(heard).toEqual([
    [[1, 3], 0, 2],
    [[1, 1], 0, 2],
  ]);
});

it('a worker that pauses and comes back still has what it was sent, and nobody else is asked', async () => {
  const [owner, other] = [await started(), await started()];
  const call = await ask(of(owner), post('tools/call'));
  owner.isPaused = true;
  await pass(3_000);
  owner.isPaused = false;
  await pass(3_000);
  expect([call.told, other.heard, owner.heard.filter(({ kind }) => kind === 'post').length]).toEqual([[], [], 1]);
  // It got a request to repeat its messages.
  await answer(owner);
  expect(call.told).toEqual(['message']);
});

it('a worker that is silent for good loses its commands to the next owner within five seconds', async () => {
  const [owner, next] = [await started(), await started()];
  const call = await ask(of(owner), post('tools/call'));
  owner.isPaused = true;
  await pass(6_500);
  expect([call.told, call.address.owner, next.heard]).toEqual([
    [],
    next.worker,
    [expect.objectContaining({ kind: 'post', begun: expect.anything() as unknown })],
  ]);
  await answer(next);
  expect(call.told).toEqual(['message']);
});

it('when a session gets another owner, what a lost worker still has goes there, too, and its late answers are not heard', async () => {
  const [owner, next] = [await started(), await started()];
  const call = await ask(of(owner), post('tools/call'));
  owner.isPaused = true;
  await pass(4_500);
  // Nothing has asked after the call meanwhile; a later command finds the next owner.
  const list = await ask(call.address, post('tools/list'));
  await pass(100);
  expect(next.heard).toHaveLength(2);
  owner.replies.at(-1)?.({ kind: 'refused', fault: { reason: 'gateway.interrupted', message: 'given up' } });
  await pass(0);
  expect(call.told).toEqual([]);
  await answer(next, 2);
  expect([call.told, list.told]).toEqual([['message'], ['message']]);
});

it('a worker that comes back disturbs no command at another worker, whose answer may be on its way', async () => {
  const [owner, other] = [await started(), await started()];
  other.isPaused = true;
  await pass(3_000);
  const call = await ask(of(owner), post('tools/call'));
  other.isPaused = false;
  await pass(1_000);
  expect([owner.probes, owner.heard.map(({ kind }) => kind), other.heard]).toEqual([0, ['post'], []]);
  await answer(owner);
  expect(call.told).toEqual(['message']);
});

it('a worker that has lost a command and holds its session gets the command again, and no other worker takes the session', async () => {
  const [owner, other] = [await started(), await started()];
  const call = await ask(of(owner), post('tools/call'));
  owner.heard.length = 0; // It says that it does not have the command.
  await pass(600);
  delivery.look();
  await pass(100);
  expect([call.address.owner, other.heard]).toEqual([owner.worker, []]);
  expect(owner.heard).toEqual([expect.objectContaining({ kind: 'post', begun: expect.anything() as unknown })]);
  await answer(owner);
  expect(call.told).toEqual(['message']);
});

it('a call whose answer is lost on its way is sent once more to the worker that has given it, with what the edge knows of it', async () => {
  const owner = await started();
  const requests = vi.spyOn(test.bus, 'request');
  const call = await ask(of(owner), post('tools/call'));
  const lose = async (): Promise<void> => {
    requests.mock.calls.at(-1)?.[2].failed(new BusError('lost', 'the bytes of the answer are gone'));
    await pass(0);
  };
  await lose();
  expect(call.told).toEqual([]);
  expect(owner.heard.slice(1)).toEqual([
    expect.objectContaining({ kind: 'post', begun: expect.anything() as unknown }),
  ]);
  await lose();
  expect(call.told).toEqual(['failed: lost']);
});

it('a worker is not asked for a command whose large answer is on its way', async () => {
  const owner = await started();
  const request = test.bus.request.bind(test.bus);
  vi.spyOn(test.bus, 'request').mockImplementation((...asked) =>
    Object.assign(request(...asked), { isArriving: true }),
  );
  const call = await ask(of(owner), post('tools/call'));
  owner.heard.length = 0; // It has answered.
  await pass(600);
  delivery.look();
  delivery.unheard(owner.worker);
  await pass(0);
  test.kill(owner);
  await pass(5_000);
  expect([owner.probes, owner.heard, call.told]).toEqual([0, [], []]);
});

it('a call whose worker is lost for good and that no other worker takes over is answered "outcome unknown"', async () => {
  const owner = await started();
  const call = await ask(of(owner), post('tools/call'));
  test.kill(owner);
  await pass(20_000);
  expect(call.told).toEqual(['gateway.interrupted']);
});

it('a command for a worker that is silent is sent to it, and goes to the next owner with what the edge knows of it', async () => {
  const [owner, next] = [await started(), await started()];
  owner.isPaused = true;
  await pass(3_000);
  const address = of(owner);
  const call = await ask(address, post('tools/call'));
  await pass(600);
  delivery.look();
  await pass(4_000);
  expect([call.told, address.owner, next.heard]).toEqual([
    [],
    next.worker,
    [expect.objectContaining({ begun: expect.anything() as unknown })],
  ]);
  await answer(next);
  expect(call.told).toEqual(['message']);
});

it('a request that waits is asked after, so that a killed worker is replaced before its signs of life are missed', async () => {
  const [owner, next] = [await started(), await started()];
  const call = await ask(of(owner), post('tools/call'));
  await pass(600);
  delivery.look();
  await pass(0);
  expect([owner.probes, call.told]).toEqual([1, []]);
  test.kill(owner);
  await pass(700);
  delivery.look();
  await pass(300);
  expect(next.heard).toHaveLength(1);
});

it("a client's answer to a question is sent once, however long its worker looks for the call that asks", async () => {
  const owner = await started();
  const message = { kind: 'response', message: { jsonrpc: '2.0', id: 'q', result: {} } } as const;
  const said = await ask(of(owner), { kind: 'post', caller, stream: nextStream(), message });
  for (let seconds = 0; seconds < 3; seconds += 1) {
    await pass(1_000);
    delivery.look();
  }
  await pass(1_000);
  for (const reply of owner.replies) reply({ kind: 'accepted' });
  await pass(0);
  said.close();
  expect([owner.heard.length, said.told]).toEqual([1, ['accepted']]);
});

it('a call to a worker that does not hold its session is made once, by the one that does', async () => {
  const [before, holder] = [await started(), await started()];
  before.says = { kind: 'moved' };
  before.adopts = () => ({ outcome: 'held', worker: holder.worker });
  const call = await ask(of(before), post('tools/call'));
  await pass(500);
  expect([before.heard.length, holder.heard.length, call.address.owner]).toEqual([1, 1, holder.worker]);
  await answer(holder);
  expect(call.told).toEqual(['message']);
});

it("a session that every worker says is another's is given up after a number of them", async () => {
  const [one, other] = [await started(), await started()];
  for (const worker of [one, other]) {
    worker.says = { kind: 'moved' };
    worker.adopts = () => ({ outcome: 'held', worker: worker === one ? other.worker : one.worker });
  }
  const call = await ask(of(one), post('tools/call'));
  await pass(5_000);
  expect(call.told).toEqual(['gateway.unavailable']);
  expect(one.heard.length + other.heard.length).toBeLessThan(20);
});

it('a session that nobody knows is said to be unknown, and one that nobody could say it of, to be unavailable', async () => {
  const worker = await started();
  worker.adopts = () => ({ outcome: 'unknown' });
  const unknown = await ask(addressOf(newSessionId(), newWorkerId('session')), post('tools/call'));
  await pass(6_000);
  expect(unknown.told).toEqual(['session.unknown']);
  worker.adopts = () => ({ outcome: 'busy' });
  const busy = await ask(addressOf(newSessionId(), newWorkerId('session')), post('tools/call'));
  await pass(16_000);
  expect(busy.told).toEqual(['gateway.unavailable']);
});

it('a stream whose worker is gone goes on at the next owner after the last message its client has had', async () => {
  const [owner, next] = [await started(), await started()];
  const command = attach();
  const stream = await ask(of(owner), command);
  owner.replies[0]?.({ kind: 'attached', stream: command.stream });
  owner.replies[0]?.(message(7, false));
  test.kill(owner);
  await pass(3_500);
  expect(next.heard).toEqual([{ ...command, after: { stream: command.stream, sequence: 7 } }]);
  expect(stream.told).toEqual(['attached', 'message']);
  stream.close();
  await vi.advanceTimersByTimeAsync(0);
  expect(next.heard.at(-1)).toEqual({ kind: 'detach', stream: command.stream, reader: command.stream });
});

it('a reader of a stream that has got its last message has not left it', async () => {
  const owner = await started();
  const command = attach();
  const stream = await ask(of(owner), command);
  owner.replies[0]?.({ kind: 'attached', stream: command.stream });
  owner.replies[0]?.(message(1, true));
  await vi.advanceTimersByTimeAsync(0);
  expect([stream.told, owner.heard]).toEqual([['attached', 'message'], [command]]);
});

it('the next owner of a session resumes the stream that a repeated call has joined, and does not begin the call', async () => {
  const [owner, next] = [await started(), await started()];
  const joined = await ask(of(owner), post('tools/call'));
  const earlier = nextStream();
  owner.replies[0]?.({ kind: 'attached', stream: earlier });
  owner.replies[0]?.(message(2, false));
  test.kill(owner);
  await pass(3_500);
  expect(next.heard).toMatchObject([{ kind: 'attach', after: { stream: earlier, sequence: 2 } }]);
  joined.close();
});

it('after a worker was cut off from the bus, what it said meanwhile is asked for again', async () => {
  const owner = await started();
  const command = post('tools/call') as Extract<SessionCommand, { kind: 'post' }>;
  const call = await ask(of(owner), command);
  owner.replies[0]?.(message(3, false));
  owner.reconnects = 1;
  await pass(1_000);
  expect(owner.heard[1]).toEqual({
    kind: 'attach',
    caller,
    stream: command.stream,
    after: { stream: command.stream, sequence: 3 },
  });
  owner.replies[1]?.(message(4, true));
  await vi.advanceTimersByTimeAsync(0);
  expect(call.told).toEqual(['message', 'message']);
});

it('an answer counts that its worker has sent before it was asked for everything again', async () => {
  const owner = await started();
  const call = await ask(of(owner), post('tools/call'));
  owner.reconnects = 1;
  await pass(1_000);
  expect(owner.heard.map(({ kind }) => kind)).toEqual(['post', 'attach']);
  owner.replies[0]?.({ kind: 'end' });
  owner.replies[0]?.(message(2, false)); // Something is missing before it.
  owner.replies[0]?.(message(1, true));
  await vi.advanceTimersByTimeAsync(0);
  expect(call.told).toEqual(['message']);
});

it('a message comes once, though its worker was asked for it again', async () => {
  const owner = await started();
  const command = post('tools/call') as Extract<SessionCommand, { kind: 'post' }>;
  const call = await ask(of(owner), command);
  owner.reconnects = 1;
  await pass(1_000);
  owner.replies[0]?.(message(1, false));
  owner.replies[1]?.({ kind: 'attached', stream: command.stream });
  owner.replies[1]?.(message(1, false));
  owner.replies[0]?.(message(2, true)); // Its worker says no more there.
  owner.replies[1]?.(message(2, false));
  owner.replies[1]?.(message(3, true));
  await vi.advanceTimersByTimeAsync(0);
  expect(call.told).toEqual(['message', 'attached', 'message', 'message']);
});

it('a call whose worker cannot read what it has sent is not refused: the worker asks the backend workers for it', async () => {
  const owner = await started();
  await ask(of(owner), post('tools/call'));
  owner.reconnects = 1;
  await pass(1_000);
  owner.replies[1]?.({ kind: 'refused', fault: { reason: 'gateway.unavailable', message: 'no leader' } });
  await vi.advanceTimersByTimeAsync(0);
  expect(owner.heard[2]).toMatchObject({ kind: 'post', begun: { turn: 1 } });
});

it('a session is opened by another worker where one leaves or does not answer, and is refused where none does', async () => {
  const [leaving, silent, ready] = [await started(), await started(), await started()];
  leaving.opens = () => ({ kind: 'refused', fault: { reason: 'gateway.draining', message: 'leaving' } });
  ready.opens = () => ({ kind: 'opened', session: newSessionId(), worker: ready.worker, text: '{}' });
  const replies: OpenReply[] = [];
  const command = {
    kind: 'open',
    caller,
    request: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} },
  } as const;
  for (let count = 0; count < 20; count += 1) openSession(test.options, command, (reply) => replies.push(reply));
  await pass(14_000);
  expect(replies.map((reply) => (reply.kind === 'opened' ? reply.worker : reply.kind))).toEqual(
    Array.from({ length: 20 }, () => ready.worker),
  );
  for (const worker of [leaving, silent, ready]) worker.opens = undefined;
  openSession(test.options, command, (reply) => replies.push(reply));
  await pass(26_000);
  expect(replies.at(-1)).toMatchObject({ kind: 'refused', fault: { reason: 'gateway.unavailable' } });
});

it('a worker that waits five seconds for its store opens a session once', async () => {
  const worker = await started();
  let asked = 0;
  await test.bus.subscribe(subjects.sessionOpen(worker.worker), (_command, reply) => {
    asked += 1;
    test.options.wheel.schedule(5_000, () =>
      reply({ kind: 'opened', session: newSessionId(), worker: worker.worker, text: '{}' }),
    );
  });
  const replies: string[] = [];
  openSession(
    test.options,
    { kind: 'open', caller, request: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} } },
    ({ kind }) => replies.push(kind),
  );
  await pass(10_000);
  expect([asked, replies]).toEqual([1, ['opened']]);
});
