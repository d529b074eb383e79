/** Asks a question that one reply answers. */
import type { AskOptions } from './ask-workers.ts';
import type { Bus } from './bus.ts';
import type { BusError } from './errors.ts';
import type { Subject } from './subject.ts';

export interface AskOnceOptions {
  readonly bus: Pick<Bus, 'request'>;
  /** A `DeadlineWheel`. Default: timers of Node. */
  readonly clock?: AskOptions['clock'];
}

const timers: AskOptions['clock'] = {
  schedule: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

/**
 * @param limitMs milliseconds until the question is given up.
 * @returns the first reply, the failure of the request, or `late`.
 * @throws {BusError} when the bus cannot carry it.
 */
export async function askOnce<Request, Reply extends object>(
  { bus, clock = timers }: AskOnceOptions,
  to: Subject<Request, Reply>,
  request: Request,
  limitMs: number,
): Promise<Reply | BusError | 'late'> {
  const { promise, resolve } = Promise.withResolvers<Reply | BusError | 'late'>();
  const pending = bus.request(to, request, { reply: resolve, failed: resolve });
  const limit = clock.schedule(limitMs, () => resolve('late'));
  const answer = await promise;
  limit.cancel();
  pending.close();
  return answer;
}
