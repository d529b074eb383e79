/**
 * Notices that a server is not well although its connection stands: request after request fails, and it does not answer a ping either. Then the circuit
 * opens: requests are refused at once, and after a back-off a handshake shows whether the server is well again. The running calls of a failing server
 * goes on; as long as it does, its next requests show that. The open circuit is the states `backoff` and `resting` of `connection/machine.ts`; this class only
 * decides when to open it.
 *
 * One caller of one bad tool can raise the count, so the count alone never opens the circuit: the ping decides.
 */
import type { CircuitCause } from '@omnibus/telemetry';

export interface CircuitOptions {
  /** Pings the server. Resolves with false when it does not answer. */
  readonly isAlive: () => Promise<boolean>;
  readonly open: (cause: CircuitCause, problem: string) => void;
}

/** Failed requests in a row after which a server is pinged. */
const maxFaultsInARow = 5;

export class Circuit {
  readonly #options: CircuitOptions;
  /** Requests that failed since the server last answered one. */
  faultsInARow = 0;
  #isChecking = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /** The server has answered a request, or was just connected to. */
  isWell(): void {
    this.faultsInARow = 0;
  }

  /** A request failed at the server. */
  failed(problem: string): void {
    this.#doubt(
      'faults',
      (count) => `${count} requests in a row failed, and so did a ping; the last problem: ${problem}`,
    );
  }

  /** A request was not answered in time. Slow tools are normal. */
  timedOut(): void {
    this.#doubt(
      'silence',
      (count) => `${count} requests in a row were not answered in time, and a ping was not either`,
    );
  }

  #doubt(cause: CircuitCause, problemOf: (count: number) => string): void {
    this.faultsInARow += 1;
    if (this.faultsInARow < maxFaultsInARow || this.#isChecking) return;
    const count = this.faultsInARow;
    this.#isChecking = true;
    void this.#options.isAlive().then((isAlive) => {
      this.#isChecking = false;
      if (isAlive) this.isWell();
      // The server has answered something meanwhile, so it is alive.
      else if (this.faultsInARow >= maxFaultsInARow) this.#options.open(cause, problemOf(count));
    });
  }
}
