/**
 * The sessions of one worker, counted by caller and by what is kept of them, and which of them can be missed most when there is
 * no room for another: one that was opened and never used, then one that nobody has used for long. One in use is never ended.
 */
import { anonymous, type Principal, type SessionKey } from '@omnibus/protocol';

/** What the table has to know of a session. */
export interface Missable {
  readonly key: SessionKey;
  readonly caller: { readonly principal: Principal };
  /** Its client has asked something or opened a stream. */
  readonly isUsed: boolean;
  /** Bytes kept of what its client declared and subscribed to. */
  readonly keptBytes: number;
  /** Milliseconds since anything happened; 0 while something is open. */
  idleMs(now: number): number;
}

export interface HeldSession<Session extends Missable> {
  readonly session: Session;
  /** Another worker may have it: what still comes here is to be sent there. */
  isReleased: boolean;
  /** Bytes kept, as they were counted last. */
  bytes: number;
}

/** A client that asks something once a minute uses its session. */
const inUseMs = 60_000;
/** Looking through all sessions for the idle ones is dear: so many are found at once, and tried at most so often. */
const foundAtOnce = 500;
const lookEveryMs = 1_000;

export class HeldSessions<Session extends Missable> {
  readonly #held = new Map<SessionKey, HeldSession<Session>>();
  readonly #perPrincipal = new Map<Principal, number>();
  /** Never used when they were last looked at, the one that was opened first in front. */
  readonly #unused = new Set<HeldSession<Session>>();
  #idle: HeldSession<Session>[] = [];
  #lookedAt = -Infinity;
  #bytes = 0;

  get size(): number {
    return this.#held.size;
  }

  /** Bytes kept of all clients together. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: SessionKey): HeldSession<Session> | undefined {
    return this.#held.get(key);
  }

  values(): HeldSession<Session>[] {
    return [...this.#held.values()];
  }

  *sessions(): Generator<Session> {
    for (const { session } of this.#held.values()) yield session;
  }

  /** Sessions of one caller; 0 for those of whom nobody knows who they are: they are not one. */
  of(principal: Principal): number {
    return principal === anonymous ? 0 : (this.#perPrincipal.get(principal) ?? 0);
  }

  add(session: Session): void {
    const held = { session, isReleased: false, bytes: 0 };
    this.#held.set(session.key, held);
    this.#unused.add(held);
    const { principal } = session.caller;
    this.#perPrincipal.set(principal, (this.#perPrincipal.get(principal) ?? 0) + 1);
  }

  /** Counts anew what is kept of it. */
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
   * The session that can be missed most.
   * @param now monotonic milliseconds.
   * @returns undefined when all are in use.
   */
  spare(now: number): { readonly session: Session; readonly kind: 'unused' | 'idle' } | undefined {
    for (const held of this.#unused) {
      if (!held.session.isUsed && held.session.idleMs(now) > 0) return { session: held.session, kind: 'unused' };
      this.#unused.delete(held);
    }
    if (this.#idle.length === 0 && now - this.#lookedAt >= lookEveryMs) {
      this.#lookedAt = now;
      this.#idle = this.values().map((held) => ({ held, idleMs: held.session.idleMs(now) })).filter(({ idleMs }) => idleMs > inUseMs)
        .sort((a, b) => a.idleMs - b.idleMs).slice(-foundAtOnce).map(({ held }) => held);
    }
    for (let held = this.#idle.pop(); held !== undefined; held = this.#idle.pop()) {
      if (this.#held.get(held.session.key) === held && held.session.idleMs(now) > inUseMs) return { session: held.session, kind: 'idle' };
    }
    return undefined;
  }
}
