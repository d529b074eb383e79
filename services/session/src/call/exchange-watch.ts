/**
 * Watches over exchanges of possibly dead adapters. Backend workers publish signs of life. When those of one are missing, it gets a question which of the
 * open exchanges it holds, until it answers or is known to be gone.
 *
 * Invariant W3: an exchange of a dead adapter ends within a bounded time, or is sent again if it is repeatable; one of a merely
 * slow adapter continues. A failed exchange is cancelled at the worker where it may still run.
 */
import { hash } from 'node:crypto';
import { Inquiry, PresenceWatch, subjects, type Bus } from '@omnibus/bus';
import { Ring, setLast } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  presenceMs,
  type BackendPresence,
  type HeldExchanges,
  type ServerName,
  type WorkerId,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { Abandoned, Adapters, CallTarget, SentExchange } from './adapters.ts';
import { sessionOf } from '../dialect/dialect.ts';
import type { ExchangeRequest } from './exchange-request.ts';

export interface ExchangeWatchOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /**
   * Adapters of servers came or went: the state that adapters need from this worker (subscriptions, log levels) must be sent again. `hasGap` when
   * messages from them may have been lost meanwhile.
   */
  readonly changed: (servers: readonly ServerName[], hasGap: boolean) => void;
  /** Workers came, left or are missing. */
  readonly workersChanged: () => void;
  /** Those of the given workers with a record that the server is up; all of them, when no record does. */
  readonly reaching: (server: ServerName, workers: readonly WorkerId[]) => readonly WorkerId[];
  /** Whether none of the workers that gave a sign of life has the server, and another one has it by its record. */
  readonly mustHear: (server: ServerName, workers: readonly WorkerId[]) => boolean;
  /** A key for the party (caller, session or client) that the adapter may keep a program or connection for; undefined where it keeps nothing. */
  readonly keptFor: (server: ServerName, context: ExchangeRequest['context']) => string | undefined;
}

/** Given-up exchanges that are remembered until their worker comes back. Beyond that the oldest are forgotten, and end there at their own time limit. */
const maxAbandoned = 10_000;
/** Milliseconds for which calls wait for an adapter of a server that was there until its worker vanished: another process needs some seconds to start it. */
const backMs = 10_000;
/** Milliseconds between two attempts of such a call while workers with the server give signs of life. */
const listenAgainMs = 200;

export class ExchangeWatch implements Adapters {
  readonly #options: ExchangeWatchOptions;
  readonly open = new Ring<SentExchange>();
  readonly #workers: PresenceWatch<BackendPresence>;
  readonly #inquiry: Inquiry<SentExchange, HeldExchanges>;
  /** The worker of each failed exchange. */
  readonly #abandoned = new Map<Abandoned, WorkerId>();
  /** The latest sign of each worker that has not left. An exchange for which NATS chose the worker is at one of them. */
  readonly #signs = new Map<WorkerId, BackendPresence>();
  /** Workers with an adapter, by server; undefined when it must be computed again. */
  #adapters: ReadonlyMap<ServerName, readonly WorkerId[]> | undefined;
  /** Where calls go for which the bus chooses a worker, by server. */
  readonly #anywhere = new Map<ServerName, CallTarget>();
  /** Servers whose last adapter has vanished, with the time of that on the clock of `performance.now()`. */
  readonly #vanished = new Map<ServerName, number>();
  /** Whether signs of workers that are there may not have come yet, as far as is known. */
  #isBeginning = false;

  constructor(options: ExchangeWatchOptions) {
    this.#options = options;
    const { bus, wheel, log } = options;
    this.#workers = new PresenceWatch({
      bus,
      clock: wheel,
      subject: subjects.backendPresence,
      heard: (sign, before) => {
        if (!sign.isLeaving) this.#signs.set(sign.worker, sign);
        if (before !== undefined && !sign.isLeaving && String(before.servers) === String(sign.servers)) return;
        this.#adapters = undefined;
        if (this.#vanished.size > 0 && !sign.isLeaving)
          for (const server of sign.servers) this.#vanished.delete(server);
      },
      joined: ({ worker, servers }) => {
        options.workersChanged();
        this.#stopAgain(worker);
        options.changed(servers, false);
      },
      gone: (signs, how) => {
        this.#adapters = undefined;
        options.workersChanged();
        if (how === 'lost') {
          log.warn({ workers: signs.map(({ worker }) => worker) }, 'backend workers are gone');
          for (const server of serversOf(signs)) this.#vanishes(server);
        }
        this.#options.changed(serversOf(signs), false);
        this.#ask(signs, () => true);
        if (how === 'left') for (const { worker } of signs) this.#signs.delete(worker);
      },
      missing: (signs) => {
        options.workersChanged();
        this.#ask(signs, (exchange) => !exchange.isConfirmed);
      },
      disturbed: () => {
        this.#options.changed(serversOf(this.#workers.signs), true);
        this.#ask(undefined, () => true);
      },
    });
    this.#inquiry = new Inquiry<SentExchange, HeldExchanges>({
      bus,
      clock: wheel,
      workers: this.#workers,
      awaits: (exchange, worker) => exchange.waits && this.mayReturn(worker),
      payload: (exchanges) => ({ exchanges: exchanges.map(({ id }) => id) }),
      heldOf: (answer, asked) => {
        const ids = new Set(answer.exchanges);
        return new Set(asked.filter(({ id }) => ids.has(id)));
      },
      attemptOf: (exchange) => (this.open.has(exchange) ? exchange.attempts : undefined),
      held: (exchange, worker) => {
        exchange.sentTo = worker;
        exchange.isConfirmed = true;
      },
      lost: (exchange) => exchange.adapterLost(), // W3
    });
  }

  start(): Promise<void> {
    this.#isBeginning = true;
    return this.#workers.start();
  }

  /** Resolves when each of these workers has given a sign, or after the time of one: only a worker that has been heard of can be missed. */
  async heardOf(backends: ReadonlySet<WorkerId>): Promise<void> {
    const areThere = (): boolean => [...backends].every((worker) => this.#workers.alive.includes(worker));
    if (!areThere()) await this.#workers.heard(areThere, presenceMs);
    // A backend worker that was killed has a record, too, and an empty catalogue names none.
    if (backends.size > 0 && areThere()) this.#workers.hasHeardAll();
  }

  stop(): void {
    this.#workers.stop();
  }

  get expected(): readonly WorkerId[] {
    return this.#workers.expected;
  }

  /** The catalogue records of servers have changed. */
  catalogChanged(): void {
    this.#adapters = undefined;
  }

  since(ageMs: number): readonly WorkerId[] | undefined {
    return this.#workers.since(ageMs);
  }

  hasLostSince(ageMs: number): boolean {
    return this.#workers.hasLostSince(ageMs);
  }

  state(worker: WorkerId): ReturnType<Adapters['state']> {
    const state = this.#workers.state(worker);
    return state === 'lost' && this.mayReturn(worker) ? 'silent' : state;
  }

  mayReturn(worker: WorkerId): boolean {
    return this.#workers.mayReturn(worker);
  }

  isLost(worker: WorkerId): boolean {
    return this.state(worker) === 'lost';
  }

  /** Number of open exchanges. */
  get size(): number {
    return this.open.size;
  }

  /**
   * Chooses where a call goes: to the adapter that keeps state for its session unless that is lost, else to one that is there. Where adapters
   * keep state, all calls of a caller go to the same one, whichever worker sends them and however many are sent at once.
   * @param affinity the worker of the adapter that keeps state.
   * @param except a worker that turned out not to be there.
   * @param chosen the worker that the last request of the same client was sent to: it is chosen again, though others have come since.
   */
  route(
    server: ServerName,
    affinity: WorkerId | undefined,
    context: ExchangeRequest['context'],
    except?: WorkerId,
    chosen?: WorkerId,
  ): CallTarget {
    if (affinity !== undefined && (this.#workers.state(affinity) !== 'lost' || this.mayReturn(affinity)))
      return { to: subjects.backendAt(server, affinity), worker: affinity, isBound: true };
    const known = (this.#adapters ?? this.#known()).get(server);
    const there = except === undefined ? known : known?.filter((worker) => worker !== except);
    const worker = there === undefined || there.length < 2 ? there?.[0] : this.#choose(server, there, context, chosen);
    if (except !== undefined && worker === undefined && !this.#vanished.has(server))
      this.#vanished.set(server, performance.now());
    const heard = this.#isBeginning ? this.#untilHeard(server, there ?? [], context) : undefined;
    if (worker !== undefined) return { to: subjects.backendAt(server, worker), worker, isBound: false, heard };
    if (heard !== undefined) return { to: subjects.backend(server), worker, isBound: false, heard };
    return this.#anywhere.get(server) ?? this.#newAnywhere(server);
  }

  #newAnywhere(server: ServerName): CallTarget {
    const target: CallTarget = { to: subjects.backend(server), worker: undefined, isBound: false };
    this.#anywhere.set(server, target);
    return target;
  }

  /**
   * Right after the start, workers may be there that gave no sign yet.
   * @param there the workers with an adapter of the server that gave one.
   * @returns a promise of the sign that a call must wait for; undefined if it can be sent now.
   */
  #untilHeard(
    server: ServerName,
    there: readonly WorkerId[],
    context: ExchangeRequest['context'],
  ): Promise<void> | undefined {
    const { mustHear, keptFor } = this.#options;
    this.#isBeginning = this.#workers.isBeginning;
    if (!this.#isBeginning) return undefined;
    if (mustHear(server, there)) return this.#workers.heard(() => !mustHear(server, this.#known().get(server) ?? []));
    if (there.length > 0 || sessionOf(context) === undefined || keptFor(server, context) === undefined)
      return undefined;
    return this.#workers.heard(() => this.#known().has(server));
  }

  #vanishes(server: ServerName): void {
    if (!this.#known().has(server) && !this.#vanished.has(server)) this.#vanished.set(server, performance.now());
  }

  untilBack(server: ServerName): Promise<void> | undefined {
    if (!this.#workers.isWatching) return undefined;
    const now = performance.now();
    const isKnown = this.#known().has(server);
    // Its workers give signs of life and do not listen, so they have just lost their connection to NATS, or died.
    if (isKnown && now - (this.#vanished.get(server) ?? -Infinity) > 2 * backMs) this.#vanished.set(server, now);
    const leftMs = (this.#vanished.get(server) ?? -Infinity) + backMs - now;
    if (leftMs <= 0) return undefined;
    if (!isKnown) return this.#workers.heard(() => this.#known().has(server), leftMs);
    return this.untilNextTry();
  }

  untilNextTry(): Promise<void> {
    return new Promise((resolve) => void this.#options.wheel.schedule(listenAgainMs, resolve));
  }

  /** By server, the number of workers that a call may go to. */
  get adapters(): Readonly<Record<ServerName, number>> {
    return Object.fromEntries([...this.#known()].map(([server, workers]) => [server, workers.length]));
  }

  #known(): ReadonlyMap<ServerName, readonly WorkerId[]> {
    this.#adapters ??= new Map(
      [...adaptersOf(this.#workers.signs)].map(([each, workers]) => [
        each,
        this.#workers.nearest(this.#options.reaching(each, workers)),
      ]),
    );
    return this.#adapters;
  }

  #choose(
    server: ServerName,
    there: readonly WorkerId[],
    context: ExchangeRequest['context'],
    chosen: WorkerId | undefined,
  ): WorkerId | undefined {
    const caller = this.#options.keptFor(server, context);
    if (caller === undefined) return this.#workers.here(there) ?? there[Math.floor(Math.random() * there.length)];
    if (chosen !== undefined && there.includes(chosen)) return chosen;
    return chooseFor(`${caller} ${server}`, there);
  }

  stopAt(worker: WorkerId, abandoned: Abandoned): void {
    this.#stop(worker, abandoned);
    if (this.#workers.alive.includes(worker)) return;
    setLast(this.#abandoned, abandoned, worker, maxAbandoned);
  }

  #stop(worker: WorkerId, { server, exchange }: Abandoned): void {
    this.#options.bus.publish(subjects.backendControl(server), {
      kind: 'cancel',
      exchange,
      reason: 'the call was given up',
      worker,
    });
  }

  #stopAgain(worker: WorkerId): void {
    for (const [abandoned, at] of this.#abandoned) {
      if (at !== worker) continue;
      this.#abandoned.delete(abandoned);
      this.#stop(worker, abandoned);
    }
  }

  /** Asks workers which exchanges they hold. @param signs of the workers to ask; undefined for all. */
  #ask(signs: readonly BackendPresence[] | undefined, isAskedFor: (exchange: SentExchange) => boolean): void {
    const workers = signs === undefined ? undefined : new Set(signs.map(({ worker }) => worker));
    const servers = signs === undefined ? undefined : new Set(serversOf(signs));
    const byServer = new Map<ServerName, SentExchange[]>();
    for (const exchange of this.open.toArray()) {
      const { sentTo, server } = exchange;
      const isConcerned = sentTo === undefined ? servers?.has(server) !== false : workers?.has(sentTo) !== false;
      if (!isConcerned || !isAskedFor(exchange)) continue;
      const known = byServer.get(server);
      if (known === undefined) byServer.set(server, [exchange]);
      else known.push(exchange);
    }
    for (const { worker } of this.#signs.values()) if (this.isLost(worker)) this.#signs.delete(worker);
    for (const [server, exchanges] of byServer) {
      const everyone = [...this.#signs.values(), ...(signs ?? [])]
        .filter((sign) => sign.servers.includes(server))
        .map(({ worker }) => worker);
      this.#inquiry.ask(
        exchanges,
        (worker) => subjects.backendHolds(server, worker),
        ({ sentTo }) => (sentTo === undefined ? everyone : [sentTo]),
      );
    }
  }
}

/** Chooses the same worker for the same key in every process (rendezvous hashing): when a worker comes or goes, few keys move. */
function chooseFor(key: string, there: readonly WorkerId[]): WorkerId | undefined {
  let chosen: WorkerId | undefined;
  let most = '';
  for (const worker of there) {
    const weight = hash('md5', `${key} ${worker}`);
    if (weight > most) [chosen, most] = [worker, weight];
  }
  return chosen;
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
