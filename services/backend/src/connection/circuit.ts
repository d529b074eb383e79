/**
 * Notices that a server is not well though its connection stands: it fails request after request, or answers nothing at all
 * any more. Then the circuit opens: the connection is closed, requests are refused at once, and after a back-off a handshake
 * shows whether the server is well again. The state `backoff` of `connection/machine.ts` is the open circuit; this only says when.
 */
import type { CircuitCause } from '@omnibus/telemetry';

export interface CircuitOptions {
  /** Asks for a sign of life. Resolves with false when there was none. */
  readonly isAlive: () => Promise<boolean>;
  readonly open: (cause: CircuitCause, problem: string) => void;
}

/** Requests in a row that fail before a server is taken out of use. */
const maxFaultsInARow = 5;

export class Circuit {
  readonly #options: CircuitOptions;
  #faultsInARow = 0;
  #isChecking = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /** The server has answered something, or is new. */
  isWell(): void {
    this.#faultsInARow = 0;
  }

  /** A request failed at the server. */
  failed(problem: string): void {
    this.#faultsInARow += 1;
    if (this.#faultsInARow >= maxFaultsInARow) this.#options.open('faults', `${this.#faultsInARow} requests in a row failed, the last: ${problem}`);
  }

  /** A request was not answered in its time. That may be the tool's nature: only a server that answers nothing else either is taken out of use. */
  timedOut(): void {
    this.#faultsInARow += 1;
    if (this.#faultsInARow < maxFaultsInARow || this.#isChecking) return;
    this.#isChecking = true;
    void this.#options.isAlive().then((isAlive) => {
      this.#isChecking = false;
      if (isAlive) this.isWell();
      // Whatever it answered meanwhile shows that it lives.
      else if (this.#faultsInARow >= maxFaultsInARow) this.#options.open('silence', `${this.#faultsInARow} requests in a row were not answered in time, and a ping was not either`);
    });
  }
}

/** The server is well, and does not want this request: what one client sends must not take it from the others. */
export function isAboutRequest(httpStatus: number): boolean {
  return httpStatus < 500 && httpStatus !== 401 && httpStatus !== 403;
}
