/** Requests of one session that wait until the servers' offers to clients with these declared capabilities are known. */
import type { MissingServer } from '@omnibus/catalog';
import {
  idKey,
  whoOf,
  type Caller,
  type Declared,
  type Facts,
  type JsonObject,
  type JsonRpcId,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { OfferRequest, Offers } from './offers.ts';
import type { Place } from './place.ts';

interface WaitingClient {
  readonly caller: Caller;
  readonly declared: Declared;
  /** What is proven of the caller. */
  readonly facts: Facts | undefined;
  capabilities(): JsonObject;
}

export interface OfferWaitOptions {
  readonly key: SessionKey;
  readonly place: Place;
  readonly offers: Offers;
  readonly client: WaitingClient;
  /** Called for each server that is told of the client, because the server may keep something for it. */
  readonly told: (server: ServerName) => void;
}

export class OfferWait {
  readonly #options: OfferWaitOptions;
  /** Waiting requests by id; true once the request is cancelled. */
  readonly #waiting = new Map<string | number, boolean>();

  constructor(options: OfferWaitOptions) {
    this.#options = options;
  }

  /** Servers whose offers to the client are still being read. */
  reading(): readonly MissingServer[] {
    const { client, place, offers } = this.#options;
    return offers.reading({ place, declared: client.declared });
  }

  /** Begins to find out what is not known yet. @param how as for `Offers.settling`. @returns undefined when there is nothing to wait for. */
  begin(how: Pick<OfferRequest, 'isNamed' | 'ownMs'> = {}): Promise<void> | undefined {
    const { key, client, place, offers, told } = this.#options;
    const {
      caller: { principal },
      declared,
      facts,
    } = client;
    return offers.settling(
      {
        place,
        declared,
        ...how,
        caller: { principal, ...whoOf(facts), session: key, standsAlone: false, capabilities: client.capabilities() },
      },
      told,
    );
  }

  /** Holds a request back while there is something to wait for; then runs `go`, or `cancelled` if the request was cancelled meanwhile. @returns false when there is nothing to wait for. */
  holds(
    id: JsonRpcId,
    go: () => void,
    cancelled: () => void,
    how: Pick<OfferRequest, 'isNamed' | 'ownMs'> = {},
  ): boolean {
    const settling = this.begin(how);
    if (settling === undefined) return false;
    const key = idKey(id);
    this.#waiting.set(key, false);
    void settling.then(() => {
      const isCancelled = this.#waiting.get(key) === true;
      this.#waiting.delete(key);
      if (isCancelled) cancelled();
      else go();
    });
    return true;
  }

  /** Cancels a waiting request. @returns false when no such request waits. */
  cancel(id: JsonRpcId): boolean {
    if (!this.#waiting.has(idKey(id))) return false;
    this.#waiting.set(idKey(id), true);
    return true;
  }
}
