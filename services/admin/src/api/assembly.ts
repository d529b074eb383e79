/** Asks all processes of a gateway at once. One that is known by its signs of life and does not answer is reported as missing. */
import { subjects, type Bus, type PendingRequest, type Subscription } from '@omnibus/bus';
import type { Missing } from '@omnibus/admin-api';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { AdminAnswer, AdminQuestion, JsonObject, WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { z } from 'zod';

/** Milliseconds within which a process must answer; one that does not is busy, cut off or gone. */
export const answerMs = 500;
/** Time limit of questions to which only processes of one role know the answer, while none of them has answered: without one there is nothing to show. */
export const surveyMs = 3_000;
/** Time limit of questions that need work at the other process, such as reconnecting to a server. */
export const actMs = 10_000;

export interface AssemblyOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /** The answer of this process. */
  readonly answer: (question: AdminQuestion) => AdminAnswer | Promise<AdminAnswer>;
}

/** The answer of one process. */
interface Said<Body> {
  readonly process: WorkerId;
  readonly role: string;
  readonly body: Body;
}

export interface Heard<Body> {
  readonly said: readonly Said<Body>[];
  readonly missing: Missing;
}

export class Assembly {
  readonly #options: AssemblyOptions;
  #subscription: Subscription | undefined;

  constructor(options: AssemblyOptions) {
    this.#options = options;
  }

  /** Answers others from now on. NATS with the permissions of an older version permits neither questions nor answers: each process then speaks for itself. */
  async start(): Promise<void> {
    const { bus, answer, log } = this.#options;
    if (!bus.isShared) return;
    try {
      this.#subscription = await bus.subscribe(subjects.adminAsk, async (question, reply) =>
        reply(await answer(question)),
      );
    } catch (error) {
      log.warn(
        { problem: String(error) },
        'the console shows this process alone: does NATS have the permissions of this version (omnibus nats-permissions)?',
      );
    }
  }

  stop(): void {
    this.#subscription?.close();
  }

  /**
   * @param args what JSON can hold.
   * @param shape of each answer; one of another shape is ignored.
   * @param limitMs how long to wait for known processes that have not answered.
   * @param firstMs how long to wait for the first answer that says something of this; as long as `limitMs` if left out.
   */
  async ask<Body>(
    about: string,
    args: object,
    shape: z.ZodType<Body>,
    limitMs = answerMs,
    firstMs = limitMs,
  ): Promise<Heard<Body>> {
    const answers = await this.#collect({ about, args: args as JsonObject }, limitMs, firstMs);
    const heard = new Set(answers.flatMap(({ process, workers }) => [process, ...workers]));
    const missing = new Map(
      answers
        .flatMap(({ known }) => known)
        .filter(({ worker }) => !heard.has(worker))
        .map(({ worker, role }) => [worker, { process: worker, role }]),
    );
    const said = answers.flatMap(({ process, role, body, problem }): Said<Body>[] => {
      if (body === undefined) {
        if (problem !== undefined) missing.set(process, { process, role });
        return [];
      }
      const parsed = shape.safeParse(body);
      if (parsed.success) return [{ process, role, body: parsed.data }];
      this.#options.log.warn(
        { process, about, problem: parsed.error.issues[0]?.message, path: parsed.error.issues[0]?.path.join('.') },
        'what a process said of itself cannot be read',
      );
      missing.set(process, { process, role });
      return [];
    });
    return { said, missing: [...missing.values()] };
  }

  async #collect(question: AdminQuestion, limitMs: number, firstMs: number): Promise<readonly AdminAnswer[]> {
    const { bus, wheel, answer } = this.#options;
    if (this.#subscription === undefined) return [await answer(question)];
    const answers = new Map<WorkerId, AdminAnswer>();
    const { promise, resolve } = Promise.withResolvers<void>();
    let isLate = false;
    const hasOne = (): boolean => [...answers.values()].some(({ body }) => body !== undefined);
    // In a process that is late itself, answers that have arrived are read before the wait ends.
    let limit = wheel.schedule(limitMs, () => {
      setImmediate(() => {
        isLate = true;
        if (hasOne() || firstMs <= limitMs) resolve();
        else limit = wheel.schedule(firstMs - limitMs, () => void setImmediate(resolve));
      });
    });
    let pending: PendingRequest | undefined;
    try {
      pending = bus.request(subjects.adminAsk, question, {
        reply: (said) => {
          answers.set(said.process, said);
          if (isWhole([...answers.values()]) || (isLate && hasOne())) resolve();
        },
        failed: () => resolve(),
      });
      await promise;
    } catch {
      // The bus is closing; this process still answers for itself.
    } finally {
      limit.cancel();
      pending?.close();
    }
    return answers.size === 0 ? [await answer(question)] : [...answers.values()];
  }
}

/** All known processes have answered, and at least one session worker, which hears the signs of life of all. */
function isWhole(answers: readonly AdminAnswer[]): boolean {
  const heard = new Set(answers.flatMap(({ workers }) => workers));
  return (
    answers.some(({ role }) => role === 'session' || role === 'all') &&
    answers.every(({ known }) => known.every(({ worker }) => heard.has(worker)))
  );
}
