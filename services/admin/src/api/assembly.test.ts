/** Reports of missing processes, on a bus whose replies arrive as they do from a socket. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { MemoryBus, type PendingRequest, type ReplyObserver, type Subject } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, type AdminAnswer, type JsonObject, type WorkerId } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { Assembly } from './assembly.ts';

/** Replies come after everything that the event loop has to do now. */
class SlowBus extends MemoryBus {
  override readonly isShared = true;
  /** Replies that have arrived, read or not. */
  arrived = 0;

  override request<Request, Reply>(
    to: Subject<Request, Reply>,
    payload: Request,
    observer: ReplyObserver<Reply>,
  ): PendingRequest {
    const reply = (said: Reply): void => {
      this.arrived += 1;
      setImmediate(() => observer.reply(said));
    };
    return super.request(to, payload, { ...observer, reply });
  }
}

const [asker, other, gone] = [newWorkerId('edge'), newWorkerId('session'), newWorkerId('session')];
const shape = z.object({ says: z.string() });
let bus: SlowBus;
let wheel: DeadlineWheel;

/** An assembly of a process that knows these others by their signs of life. */
async function joined(
  process: WorkerId,
  role: string,
  known: readonly WorkerId[],
  body: Promise<JsonObject> | 'none' = Promise.resolve({ says: role }),
): Promise<Assembly> {
  const answer = async (): Promise<AdminAnswer> => ({
    process,
    role,
    workers: [process],
    known: known.map((worker) => ({ worker, role: 'session' })),
    ...(body === 'none' ? {} : { body: await body }),
  });
  const assembly = new Assembly({ bus, wheel, log: createLogger({ level: 'silent', format: 'json' }), answer });
  await assembly.start();
  return assembly;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  bus = new SlowBus(({ what }) => expect.fail(what));
  wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
});

afterEach(() => {
  vi.useRealTimers();
});

it('a process that is late itself reads the answers that have arrived before it says that others are missing', async () => {
  const assembly = await joined(asker, 'edge', [other]);
  await joined(other, 'session', []);
  const heard = assembly.ask('process', {}, shape);
  while (bus.arrived < 2) await Promise.resolve();
  // The event loop was blocked, as right after a start: the time is over before the answers are read.
  vi.advanceTimersByTime(2_000);
  const { said, missing } = await heard;
  expect(said.map(({ body }) => body.says).toSorted()).toEqual(['edge', 'session']);
  expect(missing).toEqual([]);
});

it('a process that gives signs of life and does not answer in time is missing', async () => {
  const assembly = await joined(asker, 'edge', [gone]);
  const heard = assembly.ask('process', {}, shape);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  vi.advanceTimersByTime(2_000);
  expect((await heard).missing).toEqual([{ process: gone, role: 'session' }]);
});

it.each([
  ['waits for the first answer longer than for all of them', 3_000, ['session']],
  ['does not, unless it is told to', undefined, []],
])('a question that one role answers %s', async (_how, firstMs, expected) => {
  const { promise: busy, resolve } = Promise.withResolvers<JsonObject>();
  const assembly = await joined(asker, 'edge', [other, gone], 'none');
  await joined(other, 'session', [], busy);
  const heard = assembly.ask('catalogue', {}, shape, 500, firstMs);
  const turn = () => new Promise<void>((go) => void setImmediate(go));
  await turn();
  vi.advanceTimersByTime(800);
  await turn();
  await turn();
  resolve({ says: 'session' });
  const { said, missing } = await heard;
  expect(said.map(({ body }) => body.says)).toEqual(expected);
  expect(missing).toContainEqual({ process: gone, role: 'session' });
});
