/** Asking workers by their names until each has answered or is known to be gone. That somebody says nothing is no answer. */
import type { WorkerId } from '@omnibus/protocol';
import type { Bus, PendingRequest } from './bus.ts';
import type { PresenceWatch, Sign } from './presence.ts';
import type { Subject } from './subject.ts';

/** A worker that has not answered is asked again: what is asked here can be asked twice. */
const againMs = 500;
/** A worker that is not lost and yet answers nothing for so long is not waited for. */
const giveUpMs = 10_000;

export interface AskOptions {
  readonly bus: Bus;
  /** What runs things later; a `DeadlineWheel`. */
  readonly clock: { schedule(delayMs: number, run: () => void): { cancel(): void } };
  readonly workers: Pick<PresenceWatch<Sign>, 'state'>;
}

/**
 * Asks one worker, again and again until it answers.
 * @returns undefined when it is gone; `silence` when it is there, or may be, and says nothing.
 */
export function askWorker<Request, Reply extends object>({ bus, clock, workers }: AskOptions, worker: WorkerId, to: Subject<Request, Reply>, request: Request): Promise<Reply | 'silence' | undefined> {
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
      const isLost = workers.state(worker) === 'lost';
      if (isLost || performance.now() >= giveUpAt) {
        finish(isLost ? undefined : 'silence');
        return;
      }
      ask();
      next = clock.schedule(againMs, look);
    };
    let next = clock.schedule(againMs, look);
    ask();
  });
}

/**
 * Asks each of these workers.
 * @param isIt whether an answer says that it is the one that is looked for.
 * @returns that one; undefined when all have answered or are gone, and `silence` when one did neither.
 */
export function askWorkers<Request, Reply extends object>(options: AskOptions, workers: readonly WorkerId[], to: (worker: WorkerId) => Subject<Request, Reply>, request: Request, isIt: (reply: Reply) => boolean): Promise<WorkerId | 'silence' | undefined> {
  return new Promise((resolve) => {
    const asked = workers.map(async (worker) => {
      const reply = await askWorker(options, worker, to(worker), request);
      if (reply !== 'silence' && reply !== undefined && isIt(reply)) resolve(worker);
      return reply;
    });
    void Promise.all(asked).then((replies) => resolve(replies.includes('silence') ? 'silence' : undefined));
  });
}
