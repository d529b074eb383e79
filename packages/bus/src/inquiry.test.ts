/** Questions to workers that NATS has lost, or that are answered late: a bus of the test, and its clock. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { newWorkerId } from '@omnibus/protocol';
import { askWorker } from './ask-workers.ts';
import { BusError } from './errors.ts';
import { Inquiry, type InquiryOptions } from './inquiry.ts';
import { MemoryBus } from './memory/bus.ts';
import { subject } from './subject.ts';

interface Items {
  readonly items: readonly string[];
}

const holds = subject<Items, Items>('holds');
const worker = newWorkerId('session');
const clock = {
  schedule(delayMs: number, run: () => void) {
    const timer = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
const workers = { state: (): 'alive' => 'alive' };

let bus: MemoryBus;
/** The questions that came, in order. */
let answers: ((answer: Items) => void)[];

beforeEach(async () => {
  vi.useFakeTimers();
  bus = new MemoryBus(({ what }) => expect.fail(what));
  answers = [];
  await bus.subscribe(holds, (_question, reply) => void answers.push(reply));
});
afterEach(() => void vi.useRealTimers());

/** An inquiry about items that were sent once. */
function inquiryOf(more: Partial<InquiryOptions<string, Items>>): Inquiry<string, Items> {
  return new Inquiry({
    bus,
    clock,
    workers,
    payload: (items) => ({ items }),
    heldOf: ({ items }) => new Set(items),
    attemptOf: () => 1,
    held: () => undefined,
    lost: () => undefined,
    ...more,
  });
}

/** Lets time pass until the worker has got a number of questions. */
async function asked(count: number): Promise<void> {
  for (let passedMs = 0; answers.length < count; passedMs += 10) {
    if (passedMs > 10_000) throw new Error(`${answers.length} questions came`);
    await vi.advanceTimersByTimeAsync(10);
  }
}

it('an inquiry asks again, and an answer to an earlier question counts', async () => {
  const found: string[] = [];
  const inquiry = inquiryOf({
    held: (item) => found.push(`held ${item}`),
    lost: (item) => found.push(`lost ${item}`),
  });
  const startedAt = performance.now();
  inquiry.ask(
    ['one', 'two'],
    () => holds,
    () => [worker],
  );
  await asked(3);
  // The first two were asked again before a worker that is gone would count as silent.
  expect(performance.now() - startedAt).toBeLessThan(500);
  answers[1]?.({ items: ['one'] });
  await vi.advanceTimersByTimeAsync(0);
  expect(found).toEqual(['held one', 'lost two']);
  answers[2]?.({ items: [] });
  await vi.advanceTimersByTimeAsync(20_000);
  expect([found.length, answers.length]).toEqual([2, 3]);
});

it('a busy worker is asked ever less often', async () => {
  const found: string[] = [];
  const inquiry = inquiryOf({
    held: (item) => found.push(`held ${item}`),
    lost: () => expect.fail('it may hold it'),
  });
  inquiry.ask(
    ['one'],
    () => holds,
    () => [worker],
  );
  await vi.advanceTimersByTimeAsync(60_000);
  expect(answers.length).toBeLessThan(40);
  // It is asked all the time: NATS may lose any of the questions.
  expect(answers.length).toBeGreaterThan(25);
  expect(found).toEqual([]);
  answers.at(-1)?.({ items: ['one'] });
  const asked = answers.length;
  await vi.advanceTimersByTimeAsync(20_000);
  expect([found, answers.length]).toEqual([['held one'], asked]);
});

it('while a worker may come back to NATS, no question without a listener proves that it is gone', async () => {
  const found: string[] = [];
  let isAwaited = true;
  const elsewhere = subject<Items, Items>('elsewhere');
  const inquiry = inquiryOf({
    workers: { state: () => 'silent' },
    awaits: () => isAwaited,
    held: (item) => found.push(`held ${item}`),
    lost: (item) => found.push(`lost ${item}`),
  });
  const ask = (...items: readonly string[]): void =>
    inquiry.ask(
      items,
      () => elsewhere,
      () => [worker],
    );
  ask('one');
  await vi.advanceTimersByTimeAsync(8_000);
  expect(found).toEqual([]);
  const back = await bus.subscribe(elsewhere, (_question, reply) => reply({ items: ['one'] }));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(found).toEqual(['held one']);
  back.close();
  ask('two');
  await vi.advanceTimersByTimeAsync(8_000);
  isAwaited = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(found).toEqual(['held one', 'lost two']);
});

it.each(['silent', 'lost'] as const)(
  'while a worker that is %s may come back, only the items that wait for it may still be held there',
  async (state) => {
    const found: string[] = [];
    let isAwaited = true;
    const [away, there] = [newWorkerId('session'), newWorkerId('session')];
    const elsewhere = subject<Items, Items>('elsewhere');
    await bus.subscribe(elsewhere, (_question, reply) => reply({ items: ['both'] }));
    const inquiry = inquiryOf({
      workers: { state: (asked) => (asked === away ? state : 'alive') },
      awaits: (item, asked) => isAwaited && asked === away && item === 'waits',
      held: (item, at) => found.push(`held ${item} ${at}`),
      lost: (item) => found.push(`lost ${item}`),
    });
    inquiry.ask(
      ['waits', 'repeats', 'both', 'nowhere'],
      (asked) => (asked === away ? subject<Items, Items>('nowhere') : elsewhere),
      (item) => (item === 'waits' || item === 'repeats' ? [away] : [away, there]),
    );
    await vi.advanceTimersByTimeAsync(9_000);
    expect(found.toSorted()).toEqual([`held both ${there}`, 'lost nowhere', 'lost repeats']);
    isAwaited = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(found.slice(3)).toEqual(['lost waits']);
  },
);

it('one worker is asked again, and its answer to the first question counts', async () => {
  const found: unknown[] = [];
  void askWorker({ bus, clock, workers }, worker, holds, { items: [] }).then((answer) => found.push(answer));
  await asked(3);
  answers[0]?.({ items: ['first'] });
  await vi.advanceTimersByTimeAsync(0);
  expect(found).toEqual([{ items: ['first'] }]);
});

it('an answer is judged by the time of its own question, though the question was sent again', async () => {
  const times: number[] = [];
  const inquiry = inquiryOf({
    heldOf: ({ items }, _asked, askedAt) => {
      times.push(askedAt);
      return new Set(items);
    },
  });
  const startedAt = performance.now();
  inquiry.ask(
    ['one'],
    () => holds,
    () => [worker],
  );
  await asked(2);
  answers[0]?.({ items: ['one'] });
  await vi.advanceTimersByTimeAsync(0);
  expect(times).toEqual([startedAt]);
});

it('a question that is over is not sent again', async () => {
  const requests = vi.spyOn(bus, 'request');
  const [one, two] = [newWorkerId('session'), newWorkerId('session')];
  const said: string[] = [];
  const inquiry = inquiryOf({
    held: (item, at) => said.push(`${item} at ${at}`),
    lost: () => expect.fail('a worker holds it'),
  });
  inquiry.ask(
    ['item'],
    () => holds,
    () => [one, two],
  );
  await asked(2);
  const [first] = requests.mock.calls;
  // The first sending gets no listener, as for a worker that is not back at NATS yet, and then a late answer of it comes.
  first?.[2].failed(new BusError('no-responders', 'no process listens'));
  answers[0]?.({ items: [] });
  await vi.advanceTimersByTimeAsync(0);
  const before = requests.mock.calls.length;
  await vi.advanceTimersByTimeAsync(110);
  // Only the other worker is asked again.
  expect(requests.mock.calls.length - before).toBe(1);
  answers[1]?.({ items: ['item'] });
  await vi.advanceTimersByTimeAsync(0);
  expect(said).toEqual([`item at ${two}`]);
});
