/** Requests of one session that wait until it is known what servers offer to a client that declared what this one did. */
import { idKey, type Caller, type Declared, type JsonObject, type JsonRpcId, type ServerName, type SessionKey } from '@omnibus/protocol';
import type { Offers } from './offers.ts';
import type { Place } from './place.ts';

export interface OfferWaitOptions {
  readonly key: SessionKey;
  readonly caller: Caller;
  readonly place: Place;
  readonly offers: Offers;
  readonly capabilities: () => JsonObject;
  readonly declared: () => Declared;
  /** A server is told of the client, and may keep something for it. */
  readonly told: (server: ServerName) => void;
}

export class OfferWait {
  readonly #options: OfferWaitOptions;
  /** By id; true once cancelled. */
  readonly #waiting = new Map<string | number, boolean>();

  constructor(options: OfferWaitOptions) {
    this.#options = options;
  }

  /** Has it found out what is not known yet. @returns undefined when there is nothing to wait for. */
  begin(): Promise<void> | undefined {
    const { key, caller: { principal }, place, offers, capabilities, declared, told } = this.#options;
    return offers.settling({ place, declared: declared(), caller: { principal, session: key, standsAlone: false, capabilities: capabilities() } }, told);
  }

  /** @returns false when there is nothing to wait for; else `go` runs when there is not any more, or `cancelled`. */
  holds(id: JsonRpcId, go: () => void, cancelled: () => void): boolean {
    const settling = this.begin();
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

  /** @returns false when no such request waits. */
  cancel(id: JsonRpcId): boolean {
    if (!this.#waiting.has(idKey(id))) return false;
    this.#waiting.set(idKey(id), true);
    return true;
  }
}
