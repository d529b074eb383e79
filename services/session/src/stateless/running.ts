/** The requests without sessions that run, each in its client's share. */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Caller, Limits } from '@omnibus/protocol';
import { Shares } from './shares.ts';
import { holderOf } from './shelf.ts';

export class Running {
  readonly #shares: Shares;
  #onIdle: (() => void) | undefined;

  constructor({ maxInFlightPerSession, maxInFlightWithoutSession }: Limits) {
    this.#shares = new Shares({ share: { name: 'maxInFlightPerSession', value: maxInFlightPerSession }, total: { name: 'maxInFlightWithoutSession', value: maxInFlightWithoutSession } });
  }

  get size(): number {
    return this.#shares.size;
  }

  /** @returns which limit is reached, in words; undefined when there was room, which is taken then. */
  take(caller: Caller): string | undefined {
    return this.#shares.take(holderOf(caller));
  }

  leave(caller: Caller): void {
    this.#shares.leave(holderOf(caller));
    if (this.#shares.size === 0) this.#onIdle?.();
  }

  /** Resolves when nothing runs any more, or the time is over. */
  async idle(wheel: DeadlineWheel, limitMs: number): Promise<void> {
    if (this.#shares.size === 0) return;
    await new Promise<void>((resolve) => {
      const limit = wheel.schedule(limitMs, resolve);
      this.#onIdle = () => {
        limit.cancel();
        resolve();
      };
    });
  }
}
