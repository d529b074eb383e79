/**
 * The one place where an exception during the handling of a client's message becomes its answer: the client is answered once, and the exception is logged
 * under the incident that the answer names. A failure in an observer of the bus comes back as the failure of its request (B6), and one in a
 * deadline goes to the wheel's `onFault`.
 */
import { BusError, gatewayFaultOf, newIncident } from '@omnibus/bus';
import { fault, type GatewayFault } from '@omnibus/protocol';
import type { Faults, Logger } from '@omnibus/telemetry';

/** Answers the request with a fault. */
export type Refuse = (gatewayFault: GatewayFault) => void;

export class Boundary {
  readonly #log: Logger;
  readonly #faults: Faults;

  constructor(log: Logger, faults: Faults) {
    this.#log = log;
    this.#faults = faults;
  }

  /** Runs a part of the work on a message; its exception becomes the answer. */
  run(refuse: Refuse, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.failed(refuse, error);
    }
  }

  /** The answer to a client after a failure of the bus. */
  faultOf(error: BusError, whenNobodyListens: 'session.unknown' | 'gateway.unavailable'): GatewayFault {
    const known = gatewayFaultOf(error);
    if (known !== undefined) return known;
    switch (error.kind) {
      case 'no-responders':
        return fault(whenNobodyListens);
      case 'closed':
        return fault('gateway.draining');
      case 'payload-too-large':
        return fault('message.too_large', error.message);
      default:
        this.#log.error({ err: error }, 'the bus failed');
        return fault('gateway.unavailable', error.message);
    }
  }

  /** Answers after an exception in the work on a message, and logs it. */
  failed(refuse: Refuse, error: unknown): void {
    if (error instanceof BusError) {
      refuse(this.faultOf(error, 'gateway.unavailable'));
      return;
    }
    const incident = newIncident();
    this.#faults.bug('request', 'the work on a message of a client failed', error, incident);
    try {
      refuse(fault('internal.error', undefined, { incident }));
    } catch (second) {
      this.#log.error({ err: second, incident }, 'and its client could not be told');
    }
  }
}
