/** Limits the rate at which one caller at one address opens sessions. Only the address distinguishes anonymous callers. */
import { TokenBuckets } from '@omnibus/lifecycle';
import { anonymous, fault, type Caller, type GatewayFault } from '@omnibus/protocol';

export interface OpeningRateOptions {
  /** Sessions that a caller may open without a pause. */
  readonly burst: number;
  /** Further sessions with every second. */
  readonly perSecond: number;
  /** The clock, in monotonic milliseconds. */
  readonly now?: () => number;
}

/** Callers that are remembered; they take a few MB. */
const maxOpeners = 20_000;

export class OpeningRate {
  readonly #buckets: TokenBuckets;

  constructor({ burst, perSecond, now }: OpeningRateOptions) {
    this.#buckets = new TokenBuckets({
      burst,
      everyMs: 1_000 / perSecond,
      maxNames: maxOpeners,
      ...(now === undefined ? {} : { now }),
    });
  }

  /** Counts a session. @param opener of the session (`openerOf`). @returns the reason for a refusal beyond the rate. */
  refuses(opener: string): GatewayFault | undefined {
    const retryAfterSeconds = this.take(opener);
    return retryAfterSeconds === undefined ? undefined : fault('session.rate', undefined, { retryAfterSeconds });
  }

  /** Counts a session. @returns undefined when it may be opened, else the whole seconds until one may. */
  take(opener: string): number | undefined {
    const seconds = this.#buckets.take(opener);
    return seconds === 0 ? undefined : seconds;
  }

  /** Gives back the place of a session that has ended. */
  giveBack(opener: string): void {
    this.#buckets.giveBack(opener);
  }
}

/** The name under which sessions are counted. Users behind one address do not hold each other up, and neither do the programs of one user on several machines. */
export function openerOf({ principal }: Pick<Caller, 'principal'>, address: string): string {
  return principal === anonymous ? address : `${principal} ${address}`;
}
