/** Asks workers by name until each has answered or is known to be gone. Silence is not taken for an answer. */
import type { WorkerId } from '@omnibus/protocol';
import type { Bus, PendingRequest } from './bus.ts';
import type { PresenceWatch, Sign } from './presence.ts';
import type { Subject } from './subject.ts';

/**
 * Milliseconds before the question to a silent worker is repeated, at first.
 * NATS may have lost it with a node, and a repetition is safe.
 */
const firstAgainMs = 100;
/** The same at most. It doubles with each repetition. */
const againMs = 500;
/** Time after which a worker that does not answer, and is not known to be lost, is no longer waited for. */
const giveUpMs = 10_000;

export interface AskOptions {
  readonly bus: Bus;
  /** A timer; a `DeadlineWheel`. */
  readonly clock: { schedule(delayMs: number, run: () => void): { cancel(): void } };
  readonly workers: Pick<PresenceWatch<Sign>, 'state'>;
}

/**
 * Asks one worker, repeatedly until it answers.
 * @returns undefined when the worker is gone; `silence` when it is or may be alive and does not answer.
 */
export function askWorker<Request, Reply extends object>(
  { bus, clock, workers }: AskOptions,
  worker: WorkerId,
  to: Subject<Request, Reply>,
  request: Request,
): Promise<Reply | 'silence' | undefined> {
  const giveUpAt = performance.now() + giveUpMs;
  return new Promise((resolve) => {
    // An answer to any of the questions counts.
    const pending: PendingRequest[] = [];
    let nextMs = firstAgainMs;
    const finish = (reply: Reply | 'silence' | undefined): void => {
      for (const each of pending) each.close();
      next.cancel();
      resolve(reply);
    };
    const ask = (): void => {
      try {
        // A request also fails with `no-responders` while the worker has not reconnected to the bus yet; its signs of life show which case it is.
        pending.push(bus.request(to, request, { reply: finish, failed: () => undefined }));
      } catch {
        // The bus is closing.
      }
    };
    const look = (): void => {
      const isLost = workers.state(worker) === 'lost';
      if (isLost || performance.now() >= giveUpAt) {
        finish(isLost ? undefined : 'silence');
        return;
      }
      ask();
      nextMs = Math.min(2 * nextMs, againMs);
      next = clock.schedule(nextMs, look);
    };
    let next = clock.schedule(nextMs, look);
    ask();
  });
}

/**
 * Asks each of these workers.
 * @param isIt whether an answer says that its worker is the one that is looked for.
 * @returns that worker; undefined when all others have answered or are gone; `silence` when one did neither.
 */
export function askWorkers<Request, Reply extends object>(
  options: AskOptions,
  workers: readonly WorkerId[],
  to: (worker: WorkerId) => Subject<Request, Reply>,
  request: Request,
  isIt: (reply: Reply) => boolean,
): Promise<WorkerId | 'silence' | undefined> {
  return new Promise((resolve) => {
    const asked = workers.map(async (worker) => {
      const reply = await askWorker(options, worker, to(worker), request);
      if (reply !== 'silence' && reply !== undefined && isIt(reply)) resolve(worker);
      return reply;
    });
    void Promise.all(asked).then((replies) => resolve(replies.includes('silence') ? 'silence' : undefined));
  });
}
