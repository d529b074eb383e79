/**
 * Decides whether to open a new session when the server may have forgotten the present one. 2025-11-25 basic/transports (Session Management) demands a 404,
 * but many servers answer 400, 410 or 422, or 200 with an error. None of these proves an execution, and a tool may speak of sessions of its own, so a
 * ping decides, which every session answers.
 */
import { numberOf, type ExchangeOutcome } from '@omnibus/protocol';
import { saysSessionGone } from '../transport/server-words.ts';

/** A session that lived for this long was worth opening. */
const longMs = 5_000;
/** Bound on abandoned short sessions in a row. Otherwise a server that answers 404 to one method would be initialized without end. */
const maxShort = 3;
/** How long the call that raised the doubt waits for the ping. */
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

  /** A session was opened. */
  opened(): void {
    this.#openedAt = this.#now();
  }

  /** @returns whether a new session may replace this one now; this counts as a replacement. */
  take(): boolean {
    if (this.#now() - this.#openedAt >= longMs) this.#short = 0;
    if (this.#short >= maxShort) return false;
    this.#short += 1;
    return true;
  }

  /** Resolves with whether the server has forgotten the session. Further doubts meanwhile share the ping. */
  check(ping: () => Promise<ExchangeOutcome>): Promise<boolean> {
    this.#checking ??= ping()
      .then(isRefusal)
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }
}

function isRefusal(outcome: ExchangeOutcome): boolean {
  if (outcome.kind === 'error') return saysSessionGone(outcome.error.message);
  const status =
    outcome.kind === 'fault' && outcome.fault.reason === 'upstream.refused'
      ? (numberOf(outcome.fault.data?.['httpStatus']) ?? 0)
      : 0;
  // Missing authorization would not be cured by a new session, and too many requests is a passing state.
  return status >= 400 && status < 500 && status !== 401 && status !== 403 && status !== 429;
}
