/** What is to be said over a connection as soon as it is open. */
import type { JsonObject } from '@omnibus/protocol';

interface Held {
  readonly method: string;
  readonly params: JsonObject;
}

/** As many as a client may well send while a connection opens. */
const maxHeld = 100;

export class HeldNotifications {
  #held: Held[] = [];

  /** @returns false when there are too many. */
  add(method: string, params: JsonObject): boolean {
    return this.#held.length < maxHeld && this.#held.push({ method, params }) > 0;
  }

  take(): readonly Held[] {
    return this.#held.splice(0);
  }
}
