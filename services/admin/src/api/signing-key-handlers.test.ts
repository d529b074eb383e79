/** Questions about signing keys, from a session worker to an edge, which has them. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryBus } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, type AdminAnswer, type AdminQuestion, type JsonObject, type WorkerId } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { Assembly } from './assembly.ts';
import { signingKeyHandlers, signingKeyQuestions } from './signing-key-handlers.ts';

class SharedBus extends MemoryBus {
  override readonly isShared = true;
}

const [worker, edge] = [newWorkerId('session'), newWorkerId('edge')];
const keys = { keys: [{ id: 'one', created: '2026-11-28T00:00:00.000Z', state: 'signing' }] };
const noted: string[] = [];
let rotateKeys: () => Promise<void>;
let wheel: DeadlineWheel;
let assembly: Assembly;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  noted.length = 0;
  const bus = new SharedBus(({ what }) => expect.fail(what));
  wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  const join = async (process: WorkerId, role: string, answer: (question: AdminQuestion) => Promise<JsonObject>) => {
    const frame = { process, role, workers: [process], known: [{ worker: edge, role: 'edge' }] };
    const answers = async (question: AdminQuestion): Promise<AdminAnswer> => ({
      ...frame,
      ...(await answer(question)),
    });
    const joined = new Assembly({
      bus,
      wheel,
      log: createLogger({ level: 'silent', format: 'json' }),
      answer: answers,
    });
    await joined.start();
    return joined;
  };
  assembly = await join(worker, 'session', () => Promise.resolve({}));
  const questions = signingKeyQuestions({
    process: edge,
    authorization: () => ({ signingKeys: () => keys, rotateKeys: () => rotateKeys() }),
  });
  await join(edge, 'edge', async ({ about, args }) => {
    try {
      return { body: (await questions[about]?.(args)) as JsonObject };
    } catch (error) {
      return { problem: (error as Error).message };
    }
  });
});

afterEach(() => {
  assembly.stop();
  vi.useRealTimers();
});

const rotate = (): Promise<unknown> =>
  signingKeyHandlers({ note: (_request, act) => void noted.push(act) }, { assembly }).rotateSigningKeys({
    body: { atOnce: true },
  } as never);

it('a rotation that takes longer than an answer about state is waited for, and on record', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  rotateKeys = () => promise;
  const rotated = rotate();
  const turn = (): Promise<void> => new Promise((go) => void setImmediate(go));
  for (let step = 0; step < 10; step += 1) {
    await turn();
    vi.advanceTimersByTime(200);
  }
  resolve();
  expect(await rotated).toEqual(keys);
  expect(noted).toEqual(['signing_keys.rotate']);
});

it.each([
  [{}, 'encrypted with another key; restart it', 'failed'],
  [{ kind: 'timeout' }, 'NATS does not answer', 'failed'],
  [{ kind: 'conflict' }, 'the next key is published already', 'conflict'],
])('a rotation that fails with %o says why, and is not on record as done', async (kind, message, reason) => {
  rotateKeys = () => Promise.reject(Object.assign(new Error(message), kind));
  await expect(rotate()).rejects.toMatchObject({ message, reason });
  expect(noted).toEqual([]);
});
