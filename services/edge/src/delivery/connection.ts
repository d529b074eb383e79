import type { Bus, PresenceWatch } from '@omnibus/bus';
import type { Presence } from '@omnibus/protocol';

/** Milliseconds after a loss of the bus in which workers may come back before others take over their sessions. */
const returnMs = 1_500;

/** The connection of this process to the bus. */
export class Connection {
  readonly #bus: Pick<Bus, 'connected' | 'reconnects'>;
  readonly #workers: Pick<PresenceWatch<Presence>, 'isBehind'>;
  #reconnects = 0;
  #reconnectedAt = -Infinity;

  constructor(bus: Pick<Bus, 'connected' | 'reconnects'>, workers: Pick<PresenceWatch<Presence>, 'isBehind'>) {
    this.#bus = bus;
    this.#workers = workers;
  }

  /** Whether it has lasted for a while. If not, a worker that does not listen may only not be back yet. */
  get isSteady(): boolean {
    const { connected, reconnects } = this.#bus;
    const now = performance.now();
    if (reconnects !== this.#reconnects) this.#reconnectedAt = now;
    this.#reconnects = reconnects;
    return connected && !this.#workers.isBehind && now - this.#reconnectedAt > returnMs;
  }
}
