/** Limits the rate at which one address opens sessions. */
import { TokenBuckets } from '@omnibus/lifecycle';
import { fault, type GatewayFault } from '@omnibus/protocol';

export interface OpeningRateOptions {
  /** Sessions that an address may open without a pause. */
  readonly burst: number;
  /** Further sessions with every second. */
  readonly perSecond: number;
  /** The clock, in monotonic milliseconds. */
  readonly now?: () => number;
}

/** Addresses that are remembered; they take a few MB. */
const maxAddresses = 20_000;

export class OpeningRate {
  readonly #buckets: TokenBuckets;

  constructor({ burst, perSecond, now }: OpeningRateOptions) {
    this.#buckets = new TokenBuckets({ burst, everyMs: 1_000 / perSecond, maxNames: maxAddresses, ...(now === undefined ? {} : { now }) });
  }

  /** Counts a session. @returns why it may not be opened when the address has opened too many. */
  refuses(address: string): GatewayFault | undefined {
    const retryAfterSeconds = this.take(address);
    return retryAfterSeconds === undefined ? undefined : fault('session.rate', undefined, { retryAfterSeconds });
  }

  /** Counts a session. @returns undefined when it may be opened, else the whole seconds until one may. */
  take(address: string): number | undefined {
    const seconds = this.#buckets.take(address);
    return seconds === 0 ? undefined : seconds;
  }

  /** Gives back the place of a session that has ended. */
  giveBack(address: string): void {
    this.#buckets.giveBack(address);
  }
}
