import { sessionKey, type SessionKey, type WorkerId } from '@omnibus/protocol';

/** Where a session is asked. */
export interface SessionAddress {
  readonly key: SessionKey;
  /** The worker that held it when it was last asked; undefined when that is not known here. */
  owner: WorkerId | undefined;
}

/** Remembered sessions; beyond it the oldest are forgotten, and found again when they are asked for. */
const maxRemembered = 20_000;

/** @param sessionId the value of an `Mcp-Session-Id`. Whether there is such a session is for its owner to say. */
export function addressOf(sessionId: string, owner?: WorkerId): SessionAddress {
  return { key: sessionKey(sessionId), owner };
}

export class SessionAddresses {
  readonly #known = new Map<string, SessionAddress>();

  of(sessionId: string): SessionAddress {
    return this.#known.get(sessionId) ?? this.opened(sessionId, undefined);
  }

  /** A session that a worker has just opened. */
  opened(sessionId: string, owner: WorkerId | undefined): SessionAddress {
    if (this.#known.size >= maxRemembered) this.#known.delete(this.#known.keys().next().value as string);
    const address = addressOf(sessionId, owner);
    this.#known.set(sessionId, address);
    return address;
  }
}
