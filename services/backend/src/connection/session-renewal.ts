/**
 * Whether a session the server may have forgotten is opened anew. 2025-11-25 basic/transports (Session Management) asks servers for a 404;
 * many say 400, 410 or 422, or answer 200 with an error. None of these proves what was executed, and a tool may speak of sessions of its own,
 * so a ping, which every session answers, decides.
 */
import { numberOf, type ExchangeOutcome } from '@omnibus/protocol';
import { saysSessionGone } from '../transport/server-words.ts';

/** A session that lived for this long was worth opening. */
const longMs = 5_000;
/** Sessions in a row that may be given up sooner: a server that answers 404 to one method would else be introduced to without end. */
const maxShort = 3;
/** The call that raised the doubt waits for the ping. */
export const doubtMs = 2_000;

export class SessionRenewal {
  readonly #now: () => number;
  #openedAt = -Infinity;
  #short = 0;
  #checking: Promise<boolean> | undefined;

  /** @param now monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A session is there. */
  opened(): void {
    this.#openedAt = this.#now();
  }

  /** @returns whether the session may be given up for a new one now, which counts. */
  take(): boolean {
    if (this.#now() - this.#openedAt >= longMs) this.#short = 0;
    if (this.#short >= maxShort) return false;
    this.#short += 1;
    return true;
  }

  /** Resolves with whether the server has forgotten the session. Doubts that come meanwhile share the ping. */
  check(ping: () => Promise<ExchangeOutcome>): Promise<boolean> {
    this.#checking ??= ping().then(isRefusal).finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }
}

function isRefusal(outcome: ExchangeOutcome): boolean {
  if (outcome.kind === 'error') return saysSessionGone(outcome.error.message);
  const status = outcome.kind === 'fault' && outcome.fault.reason === 'upstream.refused' ? (numberOf(outcome.fault.data?.['httpStatus']) ?? 0) : 0;
  // Who may not come in at all would not be let in with a new session either; too many requests pass.
  return status >= 400 && status < 500 && status !== 401 && status !== 403 && status !== 429;
}
