/**
 * Looks after exchanges whose adapter may be gone. Adapters give signs of life; when those of one stay out, the others are asked
 * which of the open exchanges they hold, and what nobody holds is lost.
 *
 * Invariant W3: an exchange whose adapter vanished ends within a bounded time, or is sent again when that can do no harm.
 */
import { PresenceWatch, subjects, type Bus } from '@omnibus/bus';
import { Ring } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { BackendPresence, ExchangeId, ServerName, WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { CallSubject, Exchange } from './exchange.ts';

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
  readonly #workers: PresenceWatch<BackendPresence>;
  /** Adapters that are there, by server; undefined when that has to be found out anew. */
  #adapters: ReadonlyMap<ServerName, readonly WorkerId[]> | undefined;

  constructor(options: ExchangeWatchOptions) {
    this.#options = options;
    const { bus, wheel, log } = options;
    this.#workers = new PresenceWatch({
      bus,
      clock: wheel,
      subject: subjects.backendPresence,
      heard: (sign, before) => {
        if (before === undefined || sign.isLeaving || String(before.servers) !== String(sign.servers)) this.#adapters = undefined;
      },
      joined: ({ servers }) => options.changed(servers),
      gone: (signs, how) => {
        this.#adapters = undefined;
        if (how === 'lost') log.warn({ workers: signs.map(({ worker }) => worker) }, 'backend workers are gone');
        this.#lookAfter(serversOf(signs));
      },
      missing: (signs) => this.#ask(serversOf(signs), (exchange) => !exchange.isSure),
      disturbed: () => this.#lookAfter(serversOf(this.#workers.signs)),
    });
  }

  start(): Promise<void> {
    return this.#workers.start();
  }

  stop(): void {
    this.#workers.stop();
  }

  add(exchange: Exchange): void {
    this.#open.add(exchange);
  }

  remove(exchange: Exchange): void {
    this.#open.remove(exchange);
  }

  /**
   * Where a call goes: to the adapter that keeps something for its session unless that is lost, else to any that is there.
   * @param bound the worker of the adapter that keeps something.
   */
  route(server: ServerName, bound: WorkerId | undefined): { readonly to: CallSubject; readonly isBound: boolean } {
    if (bound !== undefined && this.#workers.state(bound) !== 'lost') return { to: subjects.backendAt(server, bound), isBound: true };
    this.#adapters ??= adaptersOf(this.#workers.signs);
    const there = this.#adapters.get(server);
    const worker = there?.[Math.floor(Math.random() * there.length)];
    return { to: worker === undefined ? subjects.backend(server) : subjects.backendAt(server, worker), isBound: false };
  }

  #lookAfter(servers: readonly ServerName[]): void {
    this.#options.changed(servers);
    this.#ask(servers, () => true);
  }

  #ask(servers: readonly ServerName[], isAskedFor: (exchange: Exchange) => boolean): void {
    const open = this.#open.toArray().filter(isAskedFor);
    for (const server of servers) {
      const of = open.filter((exchange) => exchange.server === server);
      if (of.length > 0) this.#askServer(server, of);
    }
  }

  #askServer(server: ServerName, open: readonly Exchange[]): void {
    const held = new Set<ExchangeId>();
    // Only what was sent before the question can be lost by the answer.
    const attempts = open.map((exchange) => exchange.attempts);
    const pending = this.#options.bus.request(subjects.backendHolds(server), { exchanges: open.map(({ id }) => id) }, {
      reply: ({ exchanges }) => {
        for (const id of exchanges) held.add(id);
      },
      failed: () => undefined, // Nobody is there: nothing is held.
    });
    this.#options.wheel.schedule(answerMs, () => {
      pending.close();
      if (!this.#options.bus.connected) return;
      for (const [index, exchange] of open.entries()) {
        if (exchange.attempts !== attempts[index] || !this.#open.has(exchange)) continue;
        exchange.isSure = held.has(exchange.id);
        if (!exchange.isSure) exchange.lost(); // W3
      }
    });
  }
}

function adaptersOf(signs: readonly BackendPresence[]): ReadonlyMap<ServerName, readonly WorkerId[]> {
  const adapters = new Map<ServerName, WorkerId[]>();
  for (const { worker, servers } of signs) {
    for (const server of servers) {
      const known = adapters.get(server);
      if (known === undefined) adapters.set(server, [worker]);
      else known.push(worker);
    }
  }
  return adapters;
}

function serversOf(signs: readonly BackendPresence[]): ServerName[] {
  return [...new Set(signs.flatMap(({ servers }) => servers))];
}
