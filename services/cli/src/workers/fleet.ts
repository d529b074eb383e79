/** The workers of a supervisor: starts them, starts those again that end, and replaces them one after the other. */
import type { LocalHub } from '@omnibus/bus';
import { backoffMs } from '@omnibus/lifecycle';
import type { Logger } from '@omnibus/telemetry';
import { Member, type Ended } from './member.ts';
import type { Answers, QuestionKind } from './messages.ts';

/** Milliseconds that clients of a replaced worker have to connect to another one: a client that is busy does so with its next request. */
const leaveMs = 2_000;
/** Pauses before a worker is started again. */
const pauses = { minMs: 200, maxMs: 30_000 };
/** After a worker has run for so many milliseconds, its end is no failure to start: it is started again at once. */
const steadyMs = 60_000;

export interface FleetOptions {
  readonly slots: number;
  readonly hub: LocalHub;
  readonly sealingKeys: string;
  readonly log: Logger;
  /** Called before a worker is started again after it has ended. */
  readonly restarting: () => void;
}

interface Slot {
  readonly number: number;
  member: Member | undefined;
  isReplaced: boolean;
  /** Ends shortly after the start, one after the other. */
  failures: number;
}

export class Fleet {
  readonly #options: FleetOptions;
  readonly #slots: readonly Slot[];
  /** All processes that have not ended: those of slots, and those that are about to have one or have left it. */
  readonly #running = new Set<Member>();
  #state: 'starting' | 'serving' | 'stopping' = 'starting';
  #processes = 0;
  /** The replacement that runs; the next one waits for it. */
  #replacing: Promise<void> = Promise.resolve();
  constructor(options: FleetOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.slots }, (_, number) => ({
      number,
      member: undefined,
      isReplaced: false,
      failures: 0,
    }));
  }

  /**
   * Starts all workers, and resolves when all listen.
   * @returns the endpoint for clients. @throws {Error} in words for the operator if one ends before; the others are stopped.
   */
  async start(): Promise<string | undefined> {
    try {
      const endpoints = await Promise.all(this.#slots.map((slot) => this.#adopt(slot, this.#fork(slot)).listening));
      this.#state = 'serving';
      for (const slot of this.#slots) if (slot.member === undefined) this.#startAgain(slot, 0);
      return endpoints[0];
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Resolves when the servers of all workers are settled. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#members.map(({ ready }) => ready));
  }

  /** Why a worker does not serve, in words for the operator. */
  notReady(): readonly string[] {
    return this.#slots.flatMap(({ number, member }) =>
      member?.isReady === true ? [] : [`worker ${number} is starting`],
    );
  }

  /** The answers of workers to a question; those that do not answer in time are left out. */
  async ask<Kind extends QuestionKind>(
    question: Kind,
  ): Promise<readonly { readonly slot: number; readonly answer: Answers[Kind] }[]> {
    const answers = await Promise.all(
      this.#slots.map(async ({ number, member }) => ({ slot: number, answer: await member?.ask(question) })),
    );
    return answers.flatMap(({ slot, answer }) => (answer === undefined ? [] : [{ slot, answer }]));
  }

  /** Replaces all workers, one after the other: the next one serves before its predecessor leaves. Never rejects. */
  replace(): Promise<void> {
    this.#replacing = this.#replacing.then(async () => {
      const { log } = this.#options;
      log.info('the workers are replaced, one after the other');
      for (const slot of this.#slots) if (!(await this.#replaceOne(slot))) return;
      log.info('all workers were replaced');
    });
    return this.#replacing;
  }

  async stop(): Promise<void> {
    this.#state = 'stopping';
    await Promise.all(Array.from(this.#running, (member) => member.stop(0)));
  }

  get #members(): readonly Member[] {
    return this.#slots.flatMap(({ member }) => member ?? []);
  }

  #fork({ number }: Slot): Member {
    const { slots, hub, sealingKeys, log } = this.#options;
    this.#processes += 1;
    const name = `${number}-${this.#processes}`;
    const member = new Member(hub, { slot: number, slots, name, sealingKeys });
    this.#running.add(member);
    void member.ended.then(() => this.#running.delete(member));
    log.info({ worker: name, pid: member.pid }, 'a worker starts');
    return member;
  }

  #adopt(slot: Slot, member: Member): Member {
    slot.member = member;
    void member.ended.then((ended) => {
      if (slot.member !== member) return;
      slot.member = undefined;
      if (this.#state === 'serving' && !slot.isReplaced) this.#recover(slot, ended);
    });
    return member;
  }

  #recover(slot: Slot, { status, ranMs }: Ended): void {
    slot.failures = ranMs >= steadyMs ? 0 : slot.failures + 1;
    const waitMs = slot.failures === 0 ? 0 : backoffMs(slot.failures - 1, pauses, Math.random());
    this.#options.log.error({ worker: slot.number, status, waitMs }, 'a worker has ended, and is started again');
    this.#startAgain(slot, waitMs);
  }

  #startAgain(slot: Slot, waitMs: number): void {
    setTimeout(() => {
      if (this.#state !== 'serving' || slot.member !== undefined) return;
      this.#options.restarting();
      this.#adopt(slot, this.#fork(slot));
    }, waitMs);
  }

  /** @returns false if the next worker does not start, or the gateway stops. */
  async #replaceOne(slot: Slot): Promise<boolean> {
    if (this.#state !== 'serving') return false;
    slot.isReplaced = true;
    const next = this.#fork(slot);
    try {
      await next.ready;
      const before = slot.member;
      this.#adopt(slot, next);
      await before?.stop(leaveMs);
      return true;
    } catch (error) {
      if (this.#state !== 'serving') return false;
      const problem = (error as Error).message;
      this.#options.log.error({ worker: slot.number, problem }, 'the workers that run stay, since the next one failed');
      return false;
    } finally {
      slot.isReplaced = false;
      if (slot.member === undefined) this.#startAgain(slot, 0);
    }
  }
}
