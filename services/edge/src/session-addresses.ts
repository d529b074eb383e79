import { subjects, type Subject } from '@omnibus/bus';
import { sessionKey, type SessionCommand, type SessionKey, type StreamFrame } from '@omnibus/protocol';

/** Where a session is asked, whoever owns it. */
export interface SessionAddress {
  readonly key: SessionKey;
  readonly subject: Subject<SessionCommand, StreamFrame>;
}

/** Remembered ids; beyond it all are forgotten at once, since an id costs little to digest again. */
const maxRemembered = 20_000;

/** @param sessionId the value of an `Mcp-Session-Id`. Whether there is such a session is for its owner to say. */
export function addressOf(sessionId: string): SessionAddress {
  const key = sessionKey(sessionId);
  return { key, subject: subjects.session(key) };
}

export class SessionAddresses {
  readonly #known = new Map<string, SessionAddress>();

  of(sessionId: string): SessionAddress {
    const known = this.#known.get(sessionId);
    if (known !== undefined) return known;
    if (this.#known.size >= maxRemembered) this.#known.clear();
    const found = addressOf(sessionId);
    this.#known.set(sessionId, found);
    return found;
  }
}
