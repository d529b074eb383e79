/**
 * Whether the edge of a request still waits for it. An edge may have given the request up while this worker was cut off, without this worker being told. After
 * each interruption the edge asks which requests are held here, and asks of none that it has given up.
 */
import type { Bus } from '@omnibus/bus';
import type { GatewayFault } from '@omnibus/protocol';
import { draining } from './pending-reply.ts';

export class Wanted {
  readonly #bus: Bus;
  /** Interruptions of the bus after which the request was wanted. */
  #reconnects: number;

  constructor(bus: Bus) {
    this.#bus = bus;
    this.#reconnects = bus.reconnects;
  }

  /** The edge has asked after it. */
  confirmed(): void {
    this.#reconnects = this.#bus.reconnects;
  }

  /** The fault for a request that may be given up; undefined for one that is wanted. An edge that still waits sends it to another worker, since nothing was done with it. */
  get doubt(): GatewayFault | undefined {
    const { isShared, connected, reconnects } = this.#bus;
    return isShared && (!connected || reconnects !== this.#reconnects) ? draining : undefined;
  }
}
