/** Notifications that are sent as soon as the connection is open. */
import type { JsonObject } from '@omnibus/protocol';

interface Held {
  readonly method: string;
  readonly params: JsonObject;
}

/** Bound on held notifications: more than a client normally sends while a connection is opened. */
const maxHeld = 100;

export class HeldNotifications {
  #held: Held[] = [];

  /** @returns false if too many wait already. */
  add(method: string, params: JsonObject): boolean {
    return this.#held.length < maxHeld && this.#held.push({ method, params }) > 0;
  }

  take(): readonly Held[] {
    return this.#held.splice(0);
  }
}
