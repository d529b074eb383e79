/**
 * The older leg of a server that speaks 2026-07-28 and an older era. Most such servers can ask their client (sampling, elicitation, roots) only by requests
 * of their own, which only the older era has. So a client with a session is served over a connection with a session if the server allows one, and gets what
 * it would get without a gateway. Bridging between the eras is for servers that speak only one.
 *
 * Nothing that a server of 2026-07-28 says tells whether it knows `initialize`; only trying it does. It is tried when it is first needed, and the result
 * expires.
 */
import type { ExchangeContext, ExchangeOutcome, JsonObject } from '@omnibus/protocol';
import type { ServerDialect } from './dialect.ts';
import { older, unknown, type Leg } from './leg.ts';

/** After this time a server that had no older era, or could not ask in the newer one, may have been replaced by another version. */
const verdictMs = 60 * 60_000;
/** Pause after a failed attempt, which may have had a passing cause; it doubles with each failure. */
const firstRetryMs = 30_000;

/**
 * The common part of what SDKs say when a tool asks its client in the older way on a connection of 2026-07-28: the Python SDK answers with an error,
 * FastMCP with a failed tool.
 */
const cannotAsk = /server-initiated request/i;

export class Legs {
  readonly #isPossible: boolean;
  readonly #open: () => Promise<boolean>;
  readonly #now: () => number;
  #speaks: boolean | undefined;
  #knownAt = 0;
  #retryMs = firstRetryMs;
  #finding: Promise<void> | undefined;
  #asksOnlyThereAt = -Infinity;

  /**
   * @param isPossible false when the configuration sets the era.
   * @param open tries to connect; resolves with whether the server accepted the connection.
   * @param now monotonic milliseconds.
   */
  constructor(isPossible: boolean, open: () => Promise<boolean>, now: () => number = () => performance.now()) {
    this.#isPossible = isPossible;
    this.#open = open;
    this.#now = now;
  }

  /**
   * Whether a call is to travel over the older leg.
   * @param hasSession whether its client speaks the older era.
   * @param mayBeAsked whether its client declared something that a server may ask for.
   * @returns undefined while that must be found out first, by `find`.
   */
  carries(hasSession: boolean, mayBeAsked: boolean): boolean | undefined {
    if (!this.#isPossible || !(hasSession || (mayBeAsked && this.#now() - this.#asksOnlyThereAt < verdictMs)))
      return false;
    if (this.#speaks === false && this.#now() - this.#knownAt > this.#retryMs) this.#speaks = undefined;
    return this.#speaks;
  }

  /**
   * The leg of a call.
   * @param dialect in which the server is spoken to first.
   */
  legOf(
    { sharing }: ServerDialect,
    { standsAlone, capabilities }: Pick<ExchangeContext, 'standsAlone' | 'capabilities'>,
  ): Leg {
    if (!sharing.servesEverybody) return sharing;
    const isOlder = this.carries(
      !standsAlone,
      Object.keys(capabilities).some((name) => name !== 'extensions'),
    );
    if (isOlder === undefined) return unknown;
    return isOlder ? older : sharing;
  }

  /** Finds out whether the server speaks the older era. Calls that come meanwhile wait for the same answer. */
  find(): Promise<void> {
    this.#finding ??= this.#open()
      .then((speaks) => {
        this.#retryMs = speaks ? firstRetryMs : Math.min(this.#retryMs * 2, verdictMs);
        this.#speaks = speaks;
        this.#knownAt = this.#now();
      })
      .finally(() => {
        this.#finding = undefined;
      });
    return this.#finding;
  }

  /** The older leg was lost; the server may have been replaced. */
  forget(): void {
    this.#speaks = undefined;
  }

  /** A call over the newer leg has ended. If its tool could not ask its client there, later calls that may ask go over the older leg; this one is not repeated. */
  learn(outcome: ExchangeOutcome): void {
    if (this.#isPossible && cannotAsk.test(complaintOf(outcome))) this.#asksOnlyThereAt = this.#now();
  }
}

function complaintOf(outcome: ExchangeOutcome): string {
  if (outcome.kind === 'error') return outcome.error.message;
  if (outcome.kind !== 'result' || outcome.result['isError'] !== true || !Array.isArray(outcome.result['content']))
    return '';
  const [first] = outcome.result['content'] as readonly (JsonObject | undefined)[];
  return typeof first?.['text'] === 'string' ? first['text'].slice(0, 2_000) : '';
}
