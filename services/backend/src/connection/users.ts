/**
 * Records the users of a connection since its transport opened. It decides on receivers of the server's messages without a request.
 *
 * Invariants
 *  U1  Words that one principal's calls may have caused reach no other principal. Once two principals have used a connection, no client hears such words.
 *  U2  Anonymous sessions are strangers to each other. One of them hears such words only while the server works for no other, and only if messages keep their
 *      order: words on another stream may be older than the answer to their call. Without order, one session alone must have used the connection.
 *  U3  Sessions of one principal may have keys of different width, which only the session worker knows. It learns whether another one can have caused the words.
 */
import { anonymous, type Principal, type SessionKey } from '@omnibus/protocol';

/** The maker of a request. */
export interface User {
  /** Undefined for the gateway itself. */
  readonly principal: Principal | undefined;
  /** Undefined for the gateway itself. */
  readonly session: SessionKey | undefined;
  /** Whether the session lasts longer than the request, so that its client hears what belongs to no request. */
  readonly listens: boolean;
}

/** The sessions that may hear words of a server. */
export interface Audience {
  readonly sessions: readonly SessionKey[];
  /** Whether the words can have been caused by no other client than the only session of these. */
  readonly isOwn: boolean;
}

const noAudience: Audience = { sessions: [], isOwn: false };

/** Bound on sessions that are remembered, and so told, for one connection; the oldest is forgotten. */
const maxSessions = 100;
/** Milliseconds for which a server may go on with a call that is no longer in flight. */
const behindMs = 5 * 60_000;

export class Users {
  /** Null when several have used the connection. */
  #session: SessionKey | null | undefined;
  #principal: Principal | null | undefined;
  /** The session that used it last. */
  latest: SessionKey | undefined;
  /** The living sessions that have used it. */
  readonly #sessions = new Set<SessionKey>();
  /** Whether it was used by others too, with unknown presence. */
  #hadOthers = false;
  /** The session of calls that the server may continue, null for several, and until when, on the clock of `performance.now()`. */
  #behind: { readonly by: SessionKey | null; readonly until: number } | undefined;

  use({ session, principal, listens }: User): void {
    if (session === undefined || session === this.latest) return;
    this.latest = session;
    if (session !== this.#session) this.#session = this.#session === undefined ? session : null;
    if (principal !== this.#principal) this.#principal = this.#principal === undefined ? principal : null;
    if (listens) this.#sessions.add(session);
    else this.#hadOthers = true;
    if (this.#sessions.size <= maxSessions) return;
    for (const oldest of this.#sessions) {
      this.#sessions.delete(oldest);
      this.#hadOthers = true;
      return;
    }
  }

  /** The server may go on with a call of this client that is no longer in flight: the client gave it up, or it runs on as a task. */
  goesOn({ session }: User): void {
    if (session === undefined) return;
    const now = performance.now();
    const isOnly = this.#behind === undefined || this.#behind.until <= now || this.#behind.by === session;
    this.#behind = { by: isOnly ? session : null, until: now + behindMs };
  }

  forgetSession(session: SessionKey): void {
    this.#sessions.delete(session);
    if (this.latest === session) this.latest = undefined;
    if (this.#behind?.by === session) this.#behind = undefined;
  }

  /** The server is a new one, which no session has used. */
  forget(): void {
    this.#session = undefined;
    this.#principal = undefined;
    this.latest = undefined;
    this.#sessions.clear();
    this.#hadOthers = false;
    this.#behind = undefined;
  }

  /** The only session that has ever used the connection. */
  get session(): SessionKey | undefined {
    return this.#session ?? undefined;
  }

  /** The living sessions that have used it. */
  get sessions(): ReadonlySet<SessionKey> {
    return this.#sessions;
  }

  /**
   * Whether the server can speak of nothing but the calls of this session, if no other session has a call in flight.
   * @param keepsOrder whether messages come in the order in which the server sent them.
   */
  isAlone(session: SessionKey, keepsOrder: boolean): boolean {
    if (this.#principal === null) return false; // U1
    if (this.#principal === anonymous && !keepsOrder) return this.#session === session; // U2
    if (this.#principal !== anonymous || this.#behind === undefined || this.#behind.by === session) return true;
    return this.#behind.until <= performance.now(); // U2
  }

  /**
   * The sessions that may hear words about no request in flight, or about one of several.
   * @param inFlight the only session with calls in flight; null where several have some, undefined where none has.
   * @param keepsOrder whether messages come in the order in which the server sent them.
   */
  audience(inFlight: SessionKey | null | undefined, keepsOrder: boolean): Audience {
    if (this.#principal === null) return noAudience; // U1
    if (this.#principal !== anonymous) {
      const sessions = [...this.#sessions];
      return { sessions, isOwn: sessions.length === 1 && sessions[0] === this.#session }; // U3
    }
    const [only, ...others] = this.#sessions;
    const one = inFlight === undefined && others.length === 0 && !this.#hadOthers ? only : inFlight;
    return one !== undefined && one !== null && this.#sessions.has(one) && this.isAlone(one, keepsOrder)
      ? { sessions: [one], isOwn: true }
      : noAudience; // U2
  }
}
