/** The running requests without sessions, within the share of each client. */
import type { Drain } from '@omnibus/lifecycle';
import type { Caller, Limits } from '@omnibus/protocol';
import { Shares } from './shares.ts';
import { holderOf } from './kept-calls.ts';

export class Running {
  readonly #shares: Shares;
  readonly #drain: Drain;

  constructor({ maxInFlightPerSession, maxInFlightWithoutSession }: Limits, drain: Drain) {
    this.#drain = drain;
    this.#shares = new Shares({
      share: { name: 'maxInFlightPerSession', value: maxInFlightPerSession },
      total: { name: 'maxInFlightWithoutSession', value: maxInFlightWithoutSession },
    });
  }

  get size(): number {
    return this.#shares.size;
  }

  /** Takes a place. @returns which limit is reached, in words; undefined when there was a place. */
  take(caller: Caller): string | undefined {
    return this.#shares.take(holderOf(caller));
  }

  leave(caller: Caller): void {
    this.#shares.leave(holderOf(caller));
    this.#drain.ended();
  }
}
