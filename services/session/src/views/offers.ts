/**
 * Finds the servers' lists for a set of capabilities, before such a client gets a list: some servers have tools only
 * for clients that can answer questions. Adapters get each set once, and write the lists into the catalogue. Only the first client that
 * declares a set waits a moment for that.
 */
import { setImmediate } from 'node:timers/promises';
import { setLast } from '@omnibus/collections';
import { subjects, type Bus } from '@omnibus/bus';
import { isOfferKnown, offerKeyOf, type MissingServer } from '@omnibus/catalog';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { CatalogRecord, Declared, OfferCaller, ServerName } from '@omnibus/protocol';
import type { Place } from './place.ts';

export interface OffersOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  /** The catalogue records of the servers that are seen at a place. */
  readonly recordsOf: (place: Place) => readonly CatalogRecord[];
}

/** The client of a request, and its declarations. */
export interface OfferRequest {
  readonly place: Place;
  readonly declared: Declared;
  readonly caller: OfferCaller;
  /** Whether the request names something that is in no known list: an error cannot be corrected later. */
  readonly isNamed?: boolean;
  /** The time limit that the client gives its request, in milliseconds: a list waits so long, where that is longer than usual. */
  readonly ownMs?: number | undefined;
}

/** How long a client waits. By then a program has usually started; later findings are announced as a change. */
const waitMs = 2_000;
/** How long a request waits that names what one user's lists may have: as long as a server takes that is slow to be connected to, and to say its lists. */
const namedWaitMs = 10_000;
/** After this time a silent adapter gets the set again; it may have had no free connection. */
const againMs = 60_000;
/**
 * The longest wait of a list with a time limit of its client: longer than a program takes that is downloaded before it starts, and shorter than `againMs`,
 * since a deadline may be late and an adapter with a repeated set gets another wait.
 */
const maxOwnWaitMs = 55_000;
/** Bound on recorded sets, by server; the oldest is requested again. */
const maxAsked = 10_000;

interface Waiting {
  readonly asking: OfferRequest;
  /** The servers that are waited for. */
  readonly servers: ReadonlySet<ServerName>;
  readonly limit: Deadline;
  readonly resolve: () => void;
}

export class Offers {
  readonly #options: OffersOptions;
  /** When adapters were last told of a set, by server and key of the set. */
  readonly #asked = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #isStopped = false;

  constructor(options: OffersOptions) {
    this.#options = options;
  }

  /**
   * Asks adapters about the client's set where it is not known yet.
   * @param told is called for each server that learns of the client, because the server may have state for it.
   * @returns undefined if there is nothing to wait for; else resolves when the lists are known as far as possible.
   */
  settling(asking: OfferRequest, told?: (server: ServerName) => void): Promise<void> | undefined {
    const unknown = this.#isStopped ? [] : this.#unknown(asking);
    if (unknown.length === 0) return undefined;
    const { bus, wheel } = this.#options;
    const now = wheel.now();
    const left = new Map<ServerName, number>();
    for (const record of unknown) {
      const { server } = record;
      const name = `${server} ${offerKeyOf(record, asking.declared)}`;
      let askedAt = this.#asked.get(name);
      if (askedAt === undefined || now - askedAt > againMs) {
        askedAt = now;
        setLast(this.#asked, name, now, maxAsked);
        told?.(server);
        const { who, ...caller } = asking.caller;
        // The identity is included if it matters.
        bus.publish(subjects.backendControl(server), {
          kind: 'wanted',
          caller: record.owners === undefined || who === undefined ? caller : { ...caller, who },
        });
      }
      const leftMs = askedAt + waitOf(asking, record) - now;
      if (leftMs > 0) left.set(server, leftMs);
    }
    if (left.size === 0) return undefined;
    return new Promise((resolve) => {
      // The request comes again then, and waits on for those that may take longer.
      const waiting: Waiting = {
        asking,
        servers: new Set(left.keys()),
        limit: wheel.schedule(Math.min(...left.values()), () => this.#end(waiting)),
        resolve,
      };
      this.#waiting.add(waiting);
    });
  }

  /** Adapters of these servers came or went, or may have missed messages: an adapter with a set may be gone, and a present one may lack it. */
  adaptersChanged(servers: readonly ServerName[]): void {
    const changed = new Set<string>(servers);
    for (const name of [...this.#asked.keys()])
      if (changed.has(name.slice(0, name.indexOf(' ')))) this.#asked.delete(name);
  }

  /** The catalogue has changed, so waiting requests look again. */
  changed(): void {
    for (const waiting of this.#waiting)
      if (!this.#unknown(waiting.asking).some(({ server }) => waiting.servers.has(server))) this.#end(waiting);
  }

  /** The worker leaves: nothing waits any more, and every request gets the known lists. @returns when waiting requests have continued. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const waiting of this.#waiting) this.#end(waiting);
    await setImmediate();
  }

  #end(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    waiting.limit.cancel();
    waiting.resolve();
  }

  /** The servers with lists for such a client that are still being read. */
  reading(asking: Pick<OfferRequest, 'place' | 'declared'>): readonly MissingServer[] {
    return this.#unknown(asking).map(({ server }) => ({
      server,
      problem: 'what it offers to such a client is still being read',
    }));
  }

  #unknown({ place, declared }: Pick<OfferRequest, 'place' | 'declared'>): readonly CatalogRecord[] {
    return this.#options.recordsOf(place).filter((record) => record.status === 'up' && !isOfferKnown(record, declared));
  }
}

/** How long a request waits for what one server offers. */
function waitOf({ isNamed, ownMs = 0 }: OfferRequest, { owners }: CatalogRecord): number {
  const usualMs = isNamed === true && owners !== undefined ? namedWaitMs : waitMs;
  return Math.max(usualMs, Math.min(ownMs, maxOwnWaitMs));
}
