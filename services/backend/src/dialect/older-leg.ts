/**
 * The older leg of a server that speaks 2026-07-28 too. Most such servers ask their client (sampling, elicitation, roots) by requests of
 * their own, which only the older era has, so a client with a session is served over a connection with a session where there can be one:
 * it gets what it would get without a gateway. Bridging between the eras is for servers that have one.
 *
 * Nothing a server of 2026-07-28 says tells whether it knows `initialize`; being introduced to it does. It is tried when first needed, and
 * what was found has a date.
 */
import type { ExchangeOutcome, JsonObject } from '@omnibus/protocol';
import type { ServerDialect } from './dialect.ts';

/**
 * Over which leg of its server a call travels. `only`: the server has no other. `unknown`: whether there is an older one has to be found out
 * first; the newer one is there.
 */
export type Leg = 'only' | 'newer' | 'older' | 'unknown';

/** After this long a server that had no older era, or could not ask in the newer one, may have been replaced by another version. */
const verdictMs = 60 * 60_000;
/** A first attempt may have failed for a reason of the moment; the pause doubles with each. */
const firstRetryMs = 30_000;

/**
 * What the SDKs say when a tool asks its client in the older way on a connection of 2026-07-28: the Python SDK an error, FastMCP a failed
 * tool; what they have in common is the name of what is missing.
 */
const cannotAsk = /server-initiated request/i;

export class OlderLeg {
  readonly #isPossible: boolean;
  readonly #open: () => Promise<boolean>;
  readonly #now: () => number;
  #speaks: boolean | undefined;
  #knownAt = 0;
  #retryMs = firstRetryMs;
  #finding: Promise<void> | undefined;
  #asksOnlyThereAt = -Infinity;

  /**
   * @param isPossible false when the configuration says which era to use.
   * @param open tries to connect; resolves with whether the server took it.
   * @param now monotonic milliseconds.
   */
  constructor(isPossible: boolean, open: () => Promise<boolean>, now: () => number = () => performance.now()) {
    this.#isPossible = isPossible;
    this.#open = open;
    this.#now = now;
  }

  /**
   * Whether a call is to travel in the older era.
   * @param hasSession its client speaks that era.
   * @param mayBeAsked its client declared something a server may ask for.
   * @returns undefined while it has to be found out first, by `find`.
   */
  carries(hasSession: boolean, mayBeAsked: boolean): boolean | undefined {
    if (!this.#isPossible || !(hasSession || (mayBeAsked && this.#now() - this.#asksOnlyThereAt < verdictMs))) return false;
    if (this.#speaks === false && this.#now() - this.#knownAt > this.#retryMs) this.#speaks = undefined;
    return this.#speaks;
  }

  /**
   * @param dialect in which the server is spoken to first.
   * @param hasSession its client speaks the older era.
   * @param capabilities what its client declared.
   */
  legOf(dialect: ServerDialect, hasSession: boolean, capabilities: JsonObject): Leg {
    if (!dialect.declaresPerRequest) return 'only';
    const isOlder = this.carries(hasSession, Object.keys(capabilities).some((name) => name !== 'extensions'));
    if (isOlder === undefined) return 'unknown';
    return isOlder ? 'older' : 'newer';
  }

  /** Finds out whether the server has the older era. Those that ask meanwhile wait for the same answer. */
  find(): Promise<void> {
    this.#finding ??= this.#open().then((speaks) => {
      this.#retryMs = speaks ? firstRetryMs : Math.min(this.#retryMs * 2, verdictMs);
      this.#speaks = speaks;
      this.#knownAt = this.#now();
    }).finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  /** The older leg was lost: the server may be another one by now. */
  forget(): void {
    this.#speaks = undefined;
  }

  /** A call over the newer leg has ended. Whoever cannot ask there is asked in the older way from the next call on; this one is not made again. */
  learn(outcome: ExchangeOutcome): void {
    if (this.#isPossible && cannotAsk.test(complaintOf(outcome))) this.#asksOnlyThereAt = this.#now();
  }
}

function complaintOf(outcome: ExchangeOutcome): string {
  if (outcome.kind === 'error') return outcome.error.message;
  if (outcome.kind !== 'result' || outcome.result['isError'] !== true || !Array.isArray(outcome.result['content'])) return '';
  const [first] = outcome.result['content'] as readonly (JsonObject | undefined)[];
  return typeof first?.['text'] === 'string' ? first['text'].slice(0, 2_000) : '';
}
