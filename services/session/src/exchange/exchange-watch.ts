/**
 * Looks after exchanges whose adapter may be gone. Adapters give signs of life; when those of one stay out, the others are asked
 * which of the open exchanges they hold, and what nobody holds is lost.
 *
 * Invariant W3: an exchange whose adapter vanished ends within a bounded time, or is sent again when that can do no harm.
 */
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import { Ring } from '@omnibus/collections';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { presenceMs, type ExchangeId, type ServerName, type WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { Exchange } from './exchange.ts';

/** A worker that was not heard of for so many beats is gone. */
const missedBeats = 4;
/** Adapters have this long to say what they hold. */
const answerMs = 500;

export interface ExchangeWatchOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /** An adapter of a server came or went: what those that are there are to know of us has to be said again. */
  readonly changed: (servers: readonly ServerName[]) => void;
}

export class ExchangeWatch {
  readonly #options: ExchangeWatchOptions;
  readonly #open = new Ring<Exchange>();
  readonly #workers = new Map<WorkerId, { heardAt: number; readonly servers: readonly ServerName[] }>();
  #subscription: Subscription | undefined;
  #sweep: Deadline | undefined;
  #reconnects = 0;

  constructor(options: ExchangeWatchOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#options.bus.subscribe(subjects.backendPresence, ({ worker, servers, isLeaving }) => {
      const known = this.#workers.get(worker);
      if (isLeaving) {
        if (this.#workers.delete(worker)) this.#lookAfter(servers);
      } else if (known === undefined) {
        this.#workers.set(worker, { heardAt: performance.now(), servers });
        this.#options.changed(servers);
      } else {
        known.heardAt = performance.now();
      }
    });
    this.#sweepLater();
  }

  stop(): void {
    this.#subscription?.close();
    this.#sweep?.cancel();
  }

  add(exchange: Exchange): void {
    this.#open.add(exchange);
  }

  remove(exchange: Exchange): void {
    this.#open.remove(exchange);
  }

  #sweepLater(): void {
    this.#sweep = this.#options.wheel.schedule(presenceMs, () => {
      const now = performance.now();
      // Cut off from the bus we hear nobody, which says nothing about them.
      if (!this.#options.bus.connected) for (const known of this.#workers.values()) known.heardAt = now;
      if (this.#options.bus.reconnects !== this.#reconnects) {
        // What was on its way meanwhile may be lost with it.
        this.#reconnects = this.#options.bus.reconnects;
        this.#lookAfter([...new Set([...this.#workers.values()].flatMap(({ servers }) => servers))]);
      }
      for (const [worker, { heardAt, servers }] of [...this.#workers]) {
        if (now - heardAt <= presenceMs * missedBeats) continue;
        this.#workers.delete(worker);
        this.#options.log.warn({ worker, servers }, 'a backend worker is gone');
        this.#lookAfter(servers);
      }
      this.#sweepLater();
    });
  }

  #lookAfter(servers: readonly ServerName[]): void {
    this.#options.changed(servers);
    for (const server of servers) {
      const open = this.#open.toArray().filter((exchange) => exchange.server === server);
      if (open.length > 0) this.#ask(server, open);
    }
  }

  #ask(server: ServerName, open: readonly Exchange[]): void {
    const held = new Set<ExchangeId>();
    const pending = this.#options.bus.request(subjects.backendHolds(server), { exchanges: open.map(({ id }) => id) }, {
      reply: ({ exchanges }) => {
        for (const id of exchanges) held.add(id);
      },
      failed: () => undefined, // Nobody is there: nothing is held.
    });
    this.#options.wheel.schedule(answerMs, () => {
      pending.close();
      if (!this.#options.bus.connected) return;
      for (const exchange of open) if (!held.has(exchange.id) && this.#open.has(exchange)) exchange.lost(); // W3
    });
  }
}
