import type { Watch } from '../bus.ts';
import { MemoryBus } from '../memory/bus.ts';

/** A bus in memory that a test loses and finds again, as a process does with NATS. */
export class LosableBus extends MemoryBus {
  override reconnects = 0;
  readonly #after = new Set<() => void>();

  override afterReconnect(run: () => void): Watch {
    this.#after.add(run);
    return { close: () => void this.#after.delete(run) };
  }

  reconnect(): void {
    this.reconnects += 1;
    for (const run of this.#after) run();
  }
}
