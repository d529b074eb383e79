/**
 * The other session workers: who may be there, and asking one of them until it answers or is known to be gone. That somebody
 * says nothing is no answer.
 */
import { PresenceWatch, subjects, type Bus, type PendingRequest, type Subject } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Presence, WorkerId } from '@omnibus/protocol';

/** A worker that has not answered is asked again: what is asked here can be asked twice. */
const againMs = 500;
/** A worker that is not lost and yet answers nothing for so long is not waited for. */
const giveUpMs = 10_000;

export interface PeersOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly worker: WorkerId;
}

export class Peers {
  readonly #options: PeersOptions;
  readonly #watch: PresenceWatch<Presence>;

  constructor(options: PeersOptions) {
    const { bus, wheel } = options;
    this.#options = options;
    this.#watch = new PresenceWatch({ bus, clock: wheel, subject: subjects.presence, joined: () => undefined, gone: () => undefined, disturbed: () => undefined });
  }

  /** In one process there are no others. */
  async start(): Promise<void> {
    if (this.#options.bus.isShared) await this.#watch.start();
  }

  stop(): void {
    this.#watch.stop();
  }

  /** What its signs of life say of a worker. */
  get workers(): Pick<PresenceWatch<Presence>, 'state'> {
    return this.#watch;
  }

  /** Whoever may be there, us excepted. */
  get others(): readonly WorkerId[] {
    return this.#watch.expected.filter((worker) => worker !== this.#options.worker);
  }

  /** `others` are all there can be. */
  get isComplete(): boolean {
    return this.#watch.isSettled;
  }

  /**
   * Asks one worker by its name, again and again until it answers.
   * @returns undefined when it is gone; `silence` when it is there and says nothing.
   */
  ask<Request, Reply extends object>(worker: WorkerId, to: Subject<Request, Reply>, request: Request): Promise<Reply | 'silence' | undefined> {
    const { bus, wheel } = this.#options;
    const giveUpAt = performance.now() + giveUpMs;
    return new Promise((resolve) => {
      let pending: PendingRequest | undefined;
      const finish = (reply: Reply | 'silence' | undefined): void => {
        pending?.close();
        next.cancel();
        resolve(reply);
      };
      const ask = (): void => {
        pending?.close();
        try {
          // Nobody listens where the worker is not back yet after the bus was gone, too; presence tells which.
          pending = bus.request(to, request, { reply: finish, failed: () => undefined });
        } catch {
          pending = undefined; // The bus is closing.
        }
      };
      const look = (): void => {
        const isLost = this.#watch.state(worker) === 'lost';
        if (isLost || performance.now() >= giveUpAt) {
          finish(isLost ? undefined : 'silence');
          return;
        }
        ask();
        next = wheel.schedule(againMs, look);
      };
      let next = wheel.schedule(againMs, look);
      ask();
    });
  }

  /**
   * Asks each of these workers.
   * @param isIt whether an answer says that it is the one that is looked for.
   * @returns that one; undefined when all have answered or are gone, and `silence` when one did neither.
   */
  askAll<Request, Reply extends object>(workers: readonly WorkerId[], to: (worker: WorkerId) => Subject<Request, Reply>, request: Request, isIt: (reply: Reply) => boolean): Promise<WorkerId | 'silence' | undefined> {
    return new Promise((resolve) => {
      const asked = workers.map(async (worker) => {
        const reply = await this.ask(worker, to(worker), request);
        if (reply !== 'silence' && reply !== undefined && isIt(reply)) resolve(worker);
        return reply;
      });
      void Promise.all(asked).then((replies) => resolve(replies.includes('silence') ? 'silence' : undefined));
    });
  }
}
