/**
 * The sessions of one worker, with their number per caller and the bytes kept for them. When there is no room for another session, one is ended: first
 * one that was opened and never used, then one that was not used for long. A session in use is never ended.
 */
import { anonymous, type Principal, type SessionKey } from '@omnibus/protocol';

/** The session as the table sees it. */
export interface Missable {
  readonly key: SessionKey;
  readonly caller: { readonly principal: Principal };
  /** Whether its client has made a request or opened a stream. */
  readonly isUsed: boolean;
  /** Bytes kept of what its client declared and subscribed to. */
  readonly keptBytes: number;
  /** Milliseconds since the last activity; 0 while a request or stream is open. */
  idleMs(now: number): number;
}

export interface HeldSession<Session extends Missable> {
  readonly session: Session;
  /** Set once another worker may hold it: commands that still come here are sent there. */
  isReleased: boolean;
  /** Bytes kept, as they were counted last. */
  bytes: number;
}

/** Milliseconds since its last request in which a session counts as in use. */
const inUseMs = 60_000;
/** Searching all sessions for idle ones is expensive: a search finds several, and there is a pause between two searches. */
const foundAtOnce = 500;
const lookEveryMs = 1_000;

export class HeldSessions<Session extends Missable> {
  readonly #held = new Map<SessionKey, HeldSession<Session>>();
  readonly byKey: ReadonlyMap<SessionKey, HeldSession<Session>> = this.#held;
  readonly #perPrincipal = new Map<Principal, number>();
  /** Sessions that had not been used when last checked, the oldest first. */
  readonly #unused = new Set<HeldSession<Session>>();
  #idle: HeldSession<Session>[] = [];
  #lookedAt = -Infinity;
  #bytes = 0;

  get size(): number {
    return this.#held.size;
  }

  /** Bytes kept for all clients together. */
  get bytes(): number {
    return this.#bytes;
  }

  values(): HeldSession<Session>[] {
    return [...this.#held.values()];
  }

  *sessions(): Generator<Session> {
    for (const { session } of this.#held.values()) yield session;
  }

  /** Number of sessions of one caller; 0 for anonymous callers, which are not one caller. */
  of(principal: Principal): number {
    return principal === anonymous ? 0 : (this.#perPrincipal.get(principal) ?? 0);
  }

  add(session: Session): void {
    this.remove(session); // It was given away, and came back before that was done.
    const held = { session, isReleased: false, bytes: 0 };
    this.#held.set(session.key, held);
    this.#unused.add(held);
    const { principal } = session.caller;
    this.#perPrincipal.set(principal, (this.#perPrincipal.get(principal) ?? 0) + 1);
  }

  /** Updates the bytes kept for a session. */
  weigh({ key, keptBytes }: Session): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#bytes += keptBytes - held.bytes;
    held.bytes = keptBytes;
  }

  /** @returns false when it is not held. */
  remove({ key, caller: { principal } }: Session): boolean {
    const held = this.#held.get(key);
    if (held === undefined) return false;
    this.#held.delete(key);
    this.#unused.delete(held);
    this.#bytes -= held.bytes;
    const left = (this.#perPrincipal.get(principal) ?? 1) - 1;
    if (left === 0) this.#perPrincipal.delete(principal);
    else this.#perPrincipal.set(principal, left);
    return true;
  }

  /**
   * The session to end when room is needed.
   * @param now by `performance.now()`.
   * @returns undefined when all are in use.
   */
  spare(now: number): { readonly session: Session; readonly kind: 'unused' | 'idle' } | undefined {
    for (const held of this.#unused) {
      if (!held.session.isUsed && held.session.idleMs(now) > 0) return { session: held.session, kind: 'unused' };
      this.#unused.delete(held);
    }
    if (this.#idle.length === 0 && now - this.#lookedAt >= lookEveryMs) {
      this.#lookedAt = now;
      this.#idle = this.values()
        .map((held) => ({ held, idleMs: held.session.idleMs(now) }))
        .filter(({ idleMs }) => idleMs > inUseMs)
        .sort((a, b) => a.idleMs - b.idleMs)
        .slice(-foundAtOnce)
        .map(({ held }) => held);
    }
    for (let held = this.#idle.pop(); held !== undefined; held = this.#idle.pop()) {
      if (this.#held.get(held.session.key) === held && held.session.idleMs(now) > inUseMs)
        return { session: held.session, kind: 'idle' };
    }
    return undefined;
  }
}
