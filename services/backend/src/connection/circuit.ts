/**
 * Notices that a server is not well although its connection stands: request after request fails, or the server does not answer anything. Then the circuit
 * opens: requests are refused at once, and after a back-off a handshake shows whether the server is well again. What a server that fails requests works on
 * goes on; as long as it does, its next requests show that. The open circuit is the states `backoff` and `resting` of `connection/machine.ts`; this class only
 * decides when to open it.
 */
import type { CircuitCause } from '@omnibus/telemetry';

export interface CircuitOptions {
  /** Pings the server. Resolves with false when it does not answer. */
  readonly isAlive: () => Promise<boolean>;
  readonly open: (cause: CircuitCause, problem: string) => void;
}

/** Failed requests in a row after which a server is taken out of use. */
const maxFaultsInARow = 5;

export class Circuit {
  readonly #options: CircuitOptions;
  #faultsInARow = 0;
  #isChecking = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /** The server has answered a request, or was just connected to. */
  isWell(): void {
    this.#faultsInARow = 0;
  }

  /** A request failed at the server. */
  failed(problem: string): void {
    this.#faultsInARow += 1;
    if (this.#faultsInARow >= maxFaultsInARow)
      this.#options.open('faults', `${this.#faultsInARow} requests in a row failed, the last: ${problem}`);
  }

  /** A request was not answered in time. Slow tools are normal, so the server is taken out of use only if it does not answer a ping either. */
  timedOut(): void {
    this.#faultsInARow += 1;
    if (this.#faultsInARow < maxFaultsInARow || this.#isChecking) return;
    this.#isChecking = true;
    void this.#options.isAlive().then((isAlive) => {
      this.#isChecking = false;
      if (isAlive) this.isWell();
      // The server has answered something meanwhile, so it is alive.
      else if (this.#faultsInARow >= maxFaultsInARow)
        this.#options.open(
          'silence',
          `${this.#faultsInARow} requests in a row were not answered in time, and a ping was not either`,
        );
    });
  }
}

/** Whether an HTTP status is about the request and not about the server: a wrong request of one client must not take the server from the others. */
export function isAboutRequest(httpStatus: number): boolean {
  return httpStatus < 500 && httpStatus !== 401 && httpStatus !== 403;
}
