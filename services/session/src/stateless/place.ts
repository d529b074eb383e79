/** M5: the place of one call, among those that run, or among those that are kept for their clients, and never both. */
import { fault, type Caller, type GatewayFault } from '@omnibus/protocol';
import type { Running } from './running.ts';
import type { Kept, Shelf } from './shelf.ts';

export class Place {
  readonly #caller: Caller;
  readonly #running: Running;
  readonly #shelf: Shelf;
  #isRunning = true;

  /** The call runs: its place there was taken before. */
  constructor(caller: Caller, running: Running, shelf: Shelf) {
    this.#caller = caller;
    this.#running = running;
    this.#shelf = shelf;
  }

  /** Leaves those that run; or is kept on, with another size. @returns why it cannot be kept, and has to end. */
  keep(kept: Kept, bytes: number): GatewayFault | undefined {
    const refusal = this.#shelf.keep(kept, bytes);
    if (refusal === undefined) this.#stop();
    return refusal;
  }

  /** Runs again. @returns why it cannot now, and is kept on. */
  run(kept: Kept): GatewayFault | undefined {
    const full = this.#running.take(this.#caller);
    if (full !== undefined) return fault('request.limit', full);
    this.#isRunning = true;
    this.#shelf.remove(kept);
    return undefined;
  }

  leave(kept: Kept): void {
    this.#shelf.remove(kept);
    this.#stop();
  }

  #stop(): void {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    this.#running.leave(this.#caller);
  }
}
