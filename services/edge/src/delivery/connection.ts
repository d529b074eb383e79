import type { Bus, PresenceWatch, Watch } from '@omnibus/bus';
import type { Presence } from '@omnibus/protocol';

/** Milliseconds after a loss of the bus in which workers may come back before others take over their sessions. */
const returnMs = 1_500;

/** Milliseconds until a message is sent again that no worker heard, right after a loss of the bus. */
export const returnRetryMs = 100;

/** The connection of this process to the bus. */
export class Connection {
  readonly #bus: Pick<Bus, 'connected'>;
  readonly #workers: Pick<PresenceWatch<Presence>, 'isBehind'>;
  readonly #watch: Watch;
  #reconnectedAt = -Infinity;

  constructor(bus: Pick<Bus, 'connected' | 'afterReconnect'>, workers: Pick<PresenceWatch<Presence>, 'isBehind'>) {
    this.#bus = bus;
    this.#workers = workers;
    this.#watch = bus.afterReconnect(() => {
      this.#reconnectedAt = performance.now();
    });
  }

  close(): void {
    this.#watch.close();
  }

  /** Whether it has lasted for a while. If not, a worker that does not listen may only not be back yet. */
  get isSteady(): boolean {
    return this.#bus.connected && !this.#workers.isBehind && performance.now() - this.#reconnectedAt > returnMs;
  }
}
