/** Finds out, for one session, what servers offer to clients with its declared capabilities; requests of the session wait for that. */
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
  /** What is proven of the caller. */
  readonly facts: Facts | undefined;
  readonly dialect: { contextOf(caller: Caller, key: SessionKey): Omit<OfferCaller, 'who' | 'capabilities'> };
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
    const { declared, facts } = client;
    return offers.settling(
      {
        place,
        declared,
        ...how,
        caller: {
          ...client.dialect.contextOf(client.caller, key),
          ...whoOf(facts),
          capabilities: client.capabilities(),
        },
      },
      told,
    );
  }
}
