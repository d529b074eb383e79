/** M5: the place of one call, either among running calls or among those that are kept for their clients. */
import { fault, type Caller, type GatewayFault } from '@omnibus/protocol';
import type { Running } from './running.ts';
import type { KeptCall, KeptCalls } from './kept-calls.ts';

export class Place {
  readonly #caller: Caller;
  readonly #running: Running;
  readonly #keptCalls: KeptCalls;
  #isRunning = true;

  /** The call runs; its place among running calls was taken before. */
  constructor(caller: Caller, running: Running, keptCalls: KeptCalls) {
    this.#caller = caller;
    this.#running = running;
    this.#keptCalls = keptCalls;
  }

  /** Moves the call from the running to the kept ones, or changes its size there. @returns why it cannot be kept and must end; undefined where it can. */
  keep(kept: KeptCall, bytes: number): GatewayFault | undefined {
    const refusal = this.#keptCalls.keep(kept, bytes);
    if (refusal === undefined) this.#stop();
    return refusal;
  }

  /** Moves the call to the running ones. @returns why it cannot run now and stays kept; undefined where it can. */
  run(kept: KeptCall): GatewayFault | undefined {
    const full = this.#running.take(this.#caller);
    if (full !== undefined) return fault('request.limit', full);
    this.#isRunning = true;
    this.#keptCalls.remove(kept);
    return undefined;
  }

  leave(kept: KeptCall): void {
    this.#keptCalls.remove(kept);
    this.#stop();
  }

  #stop(): void {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    this.#running.leave(this.#caller);
  }
}
