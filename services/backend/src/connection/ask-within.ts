import type { DeadlineWheel } from '@omnibus/lifecycle';
import { fault, type ExchangeOutcome } from '@omnibus/protocol';

/** Inputs for a request of the gateway's own over a connection. */
export interface Asking {
  readonly wheel: DeadlineWheel;
  readonly limitMs: number;
  readonly method: string;
  /** Sends the request. @returns its id. */
  readonly send: (settle: (outcome: ExchangeOutcome) => void) => number;
  readonly cancel: (id: number) => void;
}

/** Sends a request of the gateway's own and waits for its outcome; after the time limit the request is cancelled. */
export function askWithin({ wheel, limitMs, method, send, cancel }: Asking): Promise<ExchangeOutcome> {
  return new Promise((resolve) => {
    const settle = (outcome: ExchangeOutcome): void => {
      deadline.cancel();
      resolve(outcome);
    };
    const deadline = wheel.schedule(limitMs, () => {
      cancel(id);
      resolve({ kind: 'fault', fault: fault('upstream.timeout', `${method} was not answered within ${limitMs} ms`) });
    });
    const id = send(settle);
  });
}
