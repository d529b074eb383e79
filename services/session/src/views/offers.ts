/**
 * Finds out what clients of a declared set of capabilities are offered, before they are shown a list: some servers have tools only for
 * clients they may ask something. Adapters are told once of a set nobody knows yet, and write what they find into the catalogue; what a
 * client asks by name waits for that for a moment. The set of the first client of its kind costs it that moment, and nobody after it.
 */
import { subjects, type Bus } from '@omnibus/bus';
import { isOfferKnown, offerKeyOf } from '@omnibus/catalog';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { CatalogRecord, Declared, OfferCaller, ServerName } from '@omnibus/protocol';
import type { Place } from './place.ts';

export interface OffersOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  /** Of the servers that are seen there. */
  readonly recordsOf: (place: Place) => readonly CatalogRecord[];
}

/** A client that asks something. */
export interface OfferRequest {
  readonly place: Place;
  readonly declared: Declared;
  readonly caller: OfferCaller;
}

/** A program has started by then; later, what it has besides is announced as a change. */
const waitMs = 2_000;
/** An adapter that has not answered, because it has no connection to spare or is of an older version, is told again after this long. */
const againMs = 60_000;
/** Sets of servers that are remembered as asked; the oldest is asked again. */
const maxAsked = 10_000;

interface Waiting {
  readonly asking: OfferRequest;
  readonly limit: Deadline;
  readonly resolve: () => void;
}

export class Offers {
  readonly #options: OffersOptions;
  /** When adapters were told of a set last, by server and key. */
  readonly #asked = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();

  constructor(options: OffersOptions) {
    this.#options = options;
  }

  /**
   * @param told hears which servers are told of the client: they may keep something for it.
   * @returns undefined when nothing is to be waited for; else resolves when the lists can be shown as they are known then.
   */
  settling(asking: OfferRequest, told?: (server: ServerName) => void): Promise<void> | undefined {
    const unknown = this.#unknown(asking);
    if (unknown.length === 0) return undefined;
    const { bus, wheel } = this.#options;
    const now = performance.now();
    let leftMs = 0;
    for (const record of unknown) {
      const { server } = record;
      const name = `${server} ${offerKeyOf(record, asking.declared)}`;
      let askedAt = this.#asked.get(name);
      if (askedAt === undefined || now - askedAt > againMs) {
        askedAt = now;
        this.#asked.delete(name);
        this.#asked.set(name, now);
        if (this.#asked.size > maxAsked) this.#asked.delete(this.#asked.keys().next().value as string);
        told?.(server);
        bus.publish(subjects.backendControl(server), { kind: 'wanted', caller: asking.caller });
      }
      leftMs = Math.max(leftMs, askedAt + waitMs - now);
    }
    if (leftMs <= 0) return undefined;
    return new Promise((resolve) => {
      const waiting: Waiting = { asking, limit: wheel.schedule(leftMs, () => this.#end(waiting)), resolve };
      this.#waiting.add(waiting);
    });
  }

  /** The catalogue has changed. */
  changed(): void {
    for (const waiting of this.#waiting) if (this.#unknown(waiting.asking).length === 0) this.#end(waiting);
  }

  #end(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    waiting.limit.cancel();
    waiting.resolve();
  }

  #unknown({ place, declared }: OfferRequest): readonly CatalogRecord[] {
    return this.#options.recordsOf(place).filter((record) => record.status === 'up' && !isOfferKnown(record, declared));
  }
}
