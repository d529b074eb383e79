import type { IncomingHttpHeaders } from 'node:http';
import { subjects } from '@omnibus/bus';
import {
  fault,
  isSessionId,
  sessionKey,
  type GatewayFault,
  type SessionId,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';

/** A session and the worker to which its commands are sent. */
export class SessionAddress {
  readonly key: SessionKey;
  /** The worker that held it at the last command; undefined when that is not known here. Only `heldBy` writes it. */
  owner: WorkerId | undefined;
  /** The subject of that worker, likewise. */
  to: ReturnType<typeof subjects.session> | undefined;
  /** Whether it was used since the last check. */
  isUsed = false;
  readonly #found: ((address: SessionAddress) => void) | undefined;

  /** @param found called when its owner becomes known; left out if that is no news. */
  constructor(key: SessionKey, owner: WorkerId | undefined, found?: (address: SessionAddress) => void) {
    this.key = key;
    this.owner = owner;
    this.to = owner === undefined ? undefined : subjects.session(owner);
    this.#found = found;
  }

  /** Notes the worker that holds the session. */
  heldBy(owner: WorkerId): void {
    const isFound = this.owner === undefined;
    this.owner = owner;
    this.to = subjects.session(owner);
    if (isFound) this.#found?.(this);
  }
}

/** Sessions that are remembered; they take a few MB. */
const maxSessionAddress = 20_000;

export function addressOf(sessionId: SessionId, owner: WorkerId): SessionAddress {
  return new SessionAddress(sessionKey(sessionId), owner);
}

/**
 * The owners of sessions. Only sessions with a known owner are remembered, so that invented ids displace none. Those that were not used are
 * forgotten first.
 */
export class SessionAddresses {
  /** By the session's id rather than its key, which is a hash that would have to be computed for each request. */
  readonly #known = new Map<SessionId, SessionAddress>();
  readonly #max: number;

  constructor(max = maxSessionAddress) {
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

  /** The session that a request must name. @param check refuses a request with a session for another reason. */
  required(
    headers: IncomingHttpHeaders,
    check: (headers: IncomingHttpHeaders) => GatewayFault | undefined,
  ): SessionAddress | { readonly fault: GatewayFault } {
    const session = this.named(headers) ?? { fault: fault('session.missing') };
    const problem = 'fault' in session ? undefined : check(headers);
    return problem === undefined ? session : { fault: problem };
  }

  /** The address of a session id, whether or not there is such a session, which only its owner can say. */
  of(sessionId: SessionId): SessionAddress {
    const known = this.#known.get(sessionId);
    if (known === undefined)
      return new SessionAddress(sessionKey(sessionId), undefined, (address) => this.#remember(sessionId, address));
    known.isUsed = true;
    return known;
  }

  /** Remembers a session that a worker has just opened. */
  opened(sessionId: SessionId, owner: WorkerId): void {
    this.#remember(sessionId, new SessionAddress(sessionKey(sessionId), owner));
  }

  #remember(sessionId: SessionId, address: SessionAddress): void {
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
