/**
 * Bounds the connections that belong to single callers in one process, and the programs behind them, over all its servers. Each server also has a bound of
 * its own (`connection/pool.ts`).
 */
import type { Limits } from '@omnibus/protocol';

/** The connections to one server. */
export interface Pool {
  /** Whether each connection has a program of its own. */
  readonly isProgram: boolean;
  readonly size: number;
  /** The least recently used one of the idle connections. */
  idle(): IdleConnection | undefined;
}

export interface IdleConnection {
  /** When it became idle, on the clock of `performance.now()`. */
  readonly since: number;
  close(): void;
}

export class ConnectionBudget {
  readonly #limits: Pick<Limits, 'maxCallerConnections' | 'maxCallerPrograms'>;
  readonly #pools = new Set<Pool>();

  constructor(limits: Pick<Limits, 'maxCallerConnections' | 'maxCallerPrograms'>) {
    this.#limits = limits;
  }

  join(pool: Pool): void {
    this.#pools.add(pool);
  }

  leave(pool: Pool): void {
    this.#pools.delete(pool);
  }

  /**
   * Makes room for one more connection of a pool, by closing an idle one if necessary.
   * @returns the option that prevents it, with its value; undefined when there is room.
   */
  admit({ isProgram }: Pool): string | undefined {
    const { maxCallerConnections, maxCallerPrograms } = this.#limits;
    if (
      isProgram &&
      !makeRoom(
        this.programs,
        maxCallerPrograms,
        [...this.#pools].filter((pool) => pool.isProgram),
      )
    )
      return `limits.maxCallerPrograms (${maxCallerPrograms})`;
    if (!makeRoom(this.connections, maxCallerConnections, [...this.#pools]))
      return `limits.maxCallerConnections (${maxCallerConnections})`;
    return undefined;
  }

  get connections(): number {
    return sizeOf([...this.#pools]);
  }

  get programs(): number {
    return sizeOf([...this.#pools].filter(({ isProgram }) => isProgram));
  }
}

function sizeOf(pools: readonly Pool[]): number {
  return pools.reduce((sum, { size }) => sum + size, 0);
}

/** Closes idle connections until a place is free. @returns false when all places are in use. */
export function makeRoom(taken: number, max: number, pools: readonly Pool[]): boolean {
  if (taken < max) return true;
  let oldest: IdleConnection | undefined;
  for (const pool of pools) {
    const idle = pool.idle();
    if (idle !== undefined && (oldest === undefined || idle.since < oldest.since)) oldest = idle;
  }
  oldest?.close();
  return oldest !== undefined;
}
