import type { IncomingHttpHeaders } from 'node:http';
import {
  fault,
  isSessionId,
  sessionKey,
  type GatewayFault,
  type SessionId,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';

/** The worker to which commands of a session are sent. */
export interface SessionAddress {
  readonly key: SessionKey;
  /** The worker that held it at the last command; undefined when that is not known here. */
  owner: WorkerId | undefined;
}

/** Sessions that are remembered; they take a few MB. */
const maxRemembered = 20_000;

export function addressOf(sessionId: SessionId, owner: WorkerId): SessionAddress {
  return { key: sessionKey(sessionId), owner };
}

/**
 * The owners of sessions. Only sessions with a known owner are remembered, so that invented ids displace none. Those that were not used are
 * forgotten first.
 */
export class SessionAddresses {
  /** By the session's id rather than its key, which is a hash that would have to be computed for each request. */
  readonly #known = new Map<SessionId, Remembered>();
  readonly #max: number;

  constructor(max = maxRemembered) {
    this.#max = max;
  }

  /** The session that the headers of a request name; undefined if they name none, a fault if the id is not one of this gateway. */
  named(headers: IncomingHttpHeaders): SessionAddress | { readonly fault: GatewayFault } | undefined {
    const id = headers['mcp-session-id'];
    // A client that always sends the header has an empty one before its session.
    if (id === undefined || id === '') return undefined;
    const known = this.#known.get(id as SessionId);
    if (known !== undefined) {
      known.isUsed = true;
      return known;
    }
    return typeof id === 'string' && isSessionId(id) ? this.of(id) : { fault: fault('session.unknown') };
  }

  /** The address of a session id, whether or not there is such a session, which only its owner can say. */
  of(sessionId: SessionId): SessionAddress {
    const known = this.#known.get(sessionId);
    if (known === undefined)
      return new Remembered(sessionKey(sessionId), undefined, (address) => this.#remember(sessionId, address));
    known.isUsed = true;
    return known;
  }

  /** Remembers a session that a worker has just opened. */
  opened(sessionId: SessionId, owner: WorkerId): void {
    this.#remember(sessionId, new Remembered(sessionKey(sessionId), owner, () => undefined));
  }

  #remember(sessionId: SessionId, address: Remembered): void {
    if (this.#known.size >= this.#max) this.#forgetOne();
    this.#known.set(sessionId, address);
  }

  /** Forgets the oldest session that was not used since the last check; used ones stay until the next. */
  #forgetOne(): void {
    for (const [sessionId, address] of this.#known) {
      this.#known.delete(sessionId);
      if (!address.isUsed) return;
      address.isUsed = false;
      this.#known.set(sessionId, address);
    }
  }
}

class Remembered implements SessionAddress {
  readonly key: SessionKey;
  /** Whether it was used since the last check. */
  isUsed = false;
  #owner: WorkerId | undefined;
  readonly #found: (address: Remembered) => void;

  /** @param found called when its owner becomes known. */
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
