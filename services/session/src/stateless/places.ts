/** M5: each call has a place, either among running calls or among those that wait for their clients. Running ones are bounded by the share of each client. */
import type { Drain } from '@omnibus/lifecycle';
import type { Caller, GatewayFault, Limits } from '@omnibus/protocol';
import type { KeptCall, KeptCalls } from './kept-calls.ts';
import { Shares } from './shares.ts';

export interface PlacedCall extends KeptCall {
  /** Whether its place is among running calls. */
  isAmongRunning: boolean;
}

/** The places of running requests, and those of kept calls. */
export class Places extends Shares {
  readonly #kept: KeptCalls;
  readonly #drain: Drain;

  constructor({ maxInFlightPerSession, maxInFlightWithoutSession }: Limits, kept: KeptCalls, drain: Drain) {
    super('request.limit', {
      share: { name: 'maxInFlightPerSession', value: maxInFlightPerSession },
      total: { name: 'maxInFlightWithoutSession', value: maxInFlightWithoutSession },
    });
    this.#kept = kept;
    this.#drain = drain;
  }

  override give(caller: Caller): void {
    super.give(caller);
    if (this.#drain.isAwaited) this.#drain.ended();
  }

  /** Moves a call from the running to the kept ones, or changes its size there. @returns why there is no room and it must end; undefined if there is. */
  keep(call: PlacedCall, bytes: number): GatewayFault | undefined {
    const refusal = this.#kept.keep(call, bytes);
    if (refusal === undefined && call.isAmongRunning) this.leave(call);
    return refusal;
  }

  /** Moves a call to the running ones. @returns why it cannot run now and stays kept; undefined where it can. */
  run(call: PlacedCall): GatewayFault | undefined {
    const refusal = this.take(call.caller);
    if (refusal !== undefined) return refusal;
    call.isAmongRunning = true;
    this.#kept.remove(call);
    return undefined;
  }

  /** The call has ended. */
  leave(call: PlacedCall): void {
    if (call.isAmongRunning) this.give(call.caller);
    else this.#kept.remove(call);
    call.isAmongRunning = false;
  }
}
