/** Programs of servers start a few at a time, so that the first are ready soon and a laptop stays usable. See docs/decisions/0050-start-ups-in-a-queue.md. */
import { availableParallelism } from 'node:os';
import PQueue from 'p-queue';

/** Milliseconds after which a program that has not answered the handshake gives its place up, since it may be waiting for something else than a processor. */
const patienceMs = 5_000;

export class StartUps {
  readonly #queue: PQueue;
  readonly #patienceMs: number;

  /**
   * @param concurrency number of programs that start at the same time.
   * @param patience milliseconds that one of them keeps its place at most.
   */
  constructor(concurrency: number, patience = patienceMs) {
    this.#queue = new PQueue({ concurrency });
    this.#patienceMs = patience;
  }

  /**
   * Waits for a place among the programs that start.
   * @param signal ends the wait.
   * @returns gives the place up; a second call does nothing.
   * @throws the reason of the signal.
   */
  turn(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const hold = (): Promise<void> =>
        new Promise((release) => {
          const leave = (): void => {
            clearTimeout(limit);
            signal.removeEventListener('abort', leave);
            release();
          };
          const limit = setTimeout(leave, this.#patienceMs);
          // It may be closed before it uses its turn.
          signal.addEventListener('abort', leave);
          resolve(leave);
        });
      this.#queue.add(hold, { signal }).catch(reject);
    });
  }
}

/** Those of this process. */
export const startUps = new StartUps(Math.max(8, 4 * availableParallelism()));
