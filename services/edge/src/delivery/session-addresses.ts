import { sessionKey, type SessionId, type SessionKey, type WorkerId } from '@omnibus/protocol';

/** Where a session is asked. */
export interface SessionAddress {
  readonly key: SessionKey;
  /** The worker that held it when it was last asked; undefined when that is not known here. */
  owner: WorkerId | undefined;
}

/** Each has a key of 32 characters and the name of a worker: a few MB together. */
const maxRemembered = 20_000;

export function addressOf(sessionId: SessionId, owner: WorkerId): SessionAddress {
  return { key: sessionKey(sessionId), owner };
}

/**
 * Where sessions are. Only one whose owner is known is remembered, so whatever ids somebody invents, they push nobody out. What is
 * not asked for is forgotten before what is.
 */
export class SessionAddresses {
  readonly #known = new Map<SessionKey, Remembered>();
  readonly #max: number;

  constructor(max = maxRemembered) {
    this.#max = max;
  }

  /** Whether there is such a session is for its owner to say. */
  of(sessionId: SessionId): SessionAddress {
    const key = sessionKey(sessionId);
    const known = this.#known.get(key);
    if (known === undefined) return new Remembered(key, undefined, (address) => this.#remember(address));
    known.isUsed = true;
    return known;
  }

  /** A session that a worker has just opened. */
  opened(sessionId: SessionId, owner: WorkerId): void {
    this.#remember(new Remembered(sessionKey(sessionId), owner, () => undefined));
  }

  #remember(address: Remembered): void {
    if (this.#known.size >= this.#max) this.#forgetOne();
    this.#known.set(address.key, address);
  }

  /** The oldest that was not asked for; one that was gets a second chance. */
  #forgetOne(): void {
    for (const [key, address] of this.#known) {
      this.#known.delete(key);
      if (!address.isUsed) return;
      address.isUsed = false;
      this.#known.set(key, address);
    }
  }
}

class Remembered implements SessionAddress {
  readonly key: SessionKey;
  /** Asked for since it was last looked at. */
  isUsed = false;
  #owner: WorkerId | undefined;
  readonly #found: (address: Remembered) => void;

  /** @param found is called when its owner becomes known. */
  constructor(key: SessionKey, owner: WorkerId | undefined, found: (address: Remembered) => void) {
    this.key = key;
    this.#owner = owner;
    this.#found = found;
  }

  get owner(): WorkerId | undefined {
    return this.#owner;
  }

  set owner(owner: WorkerId | undefined) {
    const isFound = this.#owner === undefined && owner !== undefined;
    this.#owner = owner;
    if (isFound) this.#found(this);
  }
}
