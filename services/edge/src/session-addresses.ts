import { sessionKey, type SessionKey, type WorkerId } from '@omnibus/protocol';

/** Where a session is asked. */
export interface SessionAddress {
  readonly key: SessionKey;
  /** The worker that held it when it was last asked; undefined when that is not known here. */
  owner: WorkerId | undefined;
}

interface Remembered extends SessionAddress {
  /** Asked for since it was last looked at. */
  isUsed: boolean;
}

const maxRemembered = 20_000;

/** @param sessionId the value of an `Mcp-Session-Id`. Whether there is such a session is for its owner to say. */
export function addressOf(sessionId: string, owner?: WorkerId): SessionAddress {
  return { key: sessionKey(sessionId), owner };
}

/** Where sessions are. What is not asked for is forgotten before what is, so that invented ids do not push out those in use. */
export class SessionAddresses {
  readonly #known = new Map<string, Remembered>();
  readonly #max: number;

  constructor(max = maxRemembered) {
    this.#max = max;
  }

  of(sessionId: string): SessionAddress {
    const known = this.#known.get(sessionId);
    if (known === undefined) return this.#remember(sessionId, undefined);
    known.isUsed = true;
    return known;
  }

  /** A session that a worker has just opened. */
  opened(sessionId: string, owner: WorkerId): void {
    this.#remember(sessionId, owner);
  }

  #remember(sessionId: string, owner: WorkerId | undefined): SessionAddress {
    if (this.#known.size >= this.#max) this.#forgetOne();
    const address = { ...addressOf(sessionId, owner), isUsed: false };
    this.#known.set(sessionId, address);
    return address;
  }

  /** The oldest that was not asked for; one that was gets a second chance. */
  #forgetOne(): void {
    for (const [id, address] of this.#known) {
      this.#known.delete(id);
      if (!address.isUsed) return;
      address.isUsed = false;
      this.#known.set(id, address);
    }
  }
}
