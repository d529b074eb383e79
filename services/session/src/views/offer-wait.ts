/** Finds, for one session, the servers' lists for its declared capabilities; requests of the session wait for that. */
import type { MissingServer } from '@omnibus/catalog';
import {
  whoOf,
  type Caller,
  type Declared,
  type Facts,
  type JsonObject,
  type OfferCaller,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { OfferRequest, Offers } from './offers.ts';
import type { Place } from './place.ts';

interface WaitingClient {
  readonly caller: Caller;
  readonly declared: Declared;
  /** The proven facts of the caller. */
  readonly facts: Facts | undefined;
  readonly dialect: { contextOf(caller: Caller, key: SessionKey): Omit<OfferCaller, 'who' | 'capabilities'> };
  readonly capabilities: JsonObject;
}

export interface OfferWaitOptions {
  readonly key: SessionKey;
  readonly place: Place;
  readonly offers: Offers;
  readonly client: WaitingClient;
  /** Called for each server that learns of the client, because the server may have state for it. */
  readonly told: (server: ServerName) => void;
}

export class OfferWait {
  readonly #options: OfferWaitOptions;

  constructor(options: OfferWaitOptions) {
    this.#options = options;
  }

  /** Servers with lists for the client that are still being read. */
  reading(): readonly MissingServer[] {
    const { client, place, offers } = this.#options;
    return offers.reading({ place, declared: client.declared });
  }

  /** Begins to read unknown lists. @param how as for `Offers.settling`. @returns undefined if there is nothing to wait for. */
  begin(how: Pick<OfferRequest, 'isNamed' | 'ownMs'> = {}): Promise<void> | undefined {
    const { key, client, place, offers, told } = this.#options;
    const { declared, facts } = client;
    return offers.settling(
      {
        place,
        declared,
        ...how,
        caller: {
          ...client.dialect.contextOf(client.caller, key),
          ...whoOf(facts),
          capabilities: client.capabilities,
        },
      },
      told,
    );
  }
}
