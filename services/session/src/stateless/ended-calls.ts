/** Calls that clients may repeat and whose answers may be gone: such a call never begins again. */
import { repeatMs, type SessionKey } from '@omnibus/protocol';

/** Longer than a client may repeat a call. */
const rememberMs = 2 * repeatMs;
/** Bound on all callers together, about 100 bytes each. */
const maxRemembered = 20_000;

export class EndedCalls {
  /** When each ended; the one that ended first comes first. */
  readonly #ended = new Map<SessionKey, number>();
  readonly #now: () => number;
  /** Since when all are known. */
  #since: number;

  /** @param now monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#since = now();
  }

  /** Whether every call is known that a client may repeat now. */
  get isComplete(): boolean {
    return this.#now() - this.#since > repeatMs;
  }

  add(key: SessionKey): void {
    const now = this.#now();
    this.#ended.delete(key);
    this.#ended.set(key, now);
    for (const [oldest, at] of this.#ended) {
      if (now - at <= rememberMs && this.#ended.size <= maxRemembered) return;
      this.#ended.delete(oldest);
      if (now - at <= rememberMs) this.#since = now;
    }
  }

  has(key: SessionKey): boolean {
    return this.#ended.has(key);
  }
}
