import { subjects, type Subject } from '@omnibus/bus';
import { sessionKey, type SessionCommand, type StreamFrame } from '@omnibus/protocol';

/** Remembered ids; beyond it all are forgotten at once, since an id costs little to digest again. */
const maxRemembered = 20_000;

/** The subject of the session an `Mcp-Session-Id` names. Whether there is such a session is for its owner to say. */
export class SessionSubjects {
  readonly #known = new Map<string, Subject<SessionCommand, StreamFrame>>();

  of(sessionId: string): Subject<SessionCommand, StreamFrame> {
    const known = this.#known.get(sessionId);
    if (known !== undefined) return known;
    if (this.#known.size >= maxRemembered) this.#known.clear();
    const found = subjects.session(sessionKey(sessionId));
    this.#known.set(sessionId, found);
    return found;
  }
}
