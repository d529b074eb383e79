/**
 * Counts authenticated and refused requests by way and outcome. The numbers are counted here and read with a scrape, since this is on the path of every
 * request. Callers themselves are not counted.
 */
import type { Verdict } from './facts.ts';

/** `none`: the request has no credential, or one that may not be used. */
const ways = ['key', 'token', 'certificate', 'proxy', 'none'] as const;
type Way = (typeof ways)[number];
const authOutcomes = [
  'verified',
  'auth.required',
  'auth.invalid',
  'auth.proof',
  'auth.nonce',
  'auth.endpoint',
  'auth.scope',
  'auth.unavailable',
  'auth.query',
] as const;
type AuthOutcome = (typeof authOutcomes)[number];

type Counts = Record<AuthOutcome, number>;

const none = (): Counts => ({
  verified: 0,
  'auth.required': 0,
  'auth.invalid': 0,
  'auth.proof': 0,
  'auth.nonce': 0,
  'auth.endpoint': 0,
  'auth.scope': 0,
  'auth.unavailable': 0,
  'auth.query': 0,
});

export class Tally {
  readonly #counts: Readonly<Record<Way, Counts>> = {
    key: none(),
    token: none(),
    certificate: none(),
    proxy: none(),
    none: none(),
  };

  count(way: Way, verdict: Verdict): Verdict {
    const counts = this.#counts[way];
    if (!('fault' in verdict)) counts.verified += 1;
    else if (verdict.fault.reason in counts) counts[verdict.fault.reason as AuthOutcome] += 1;
    return verdict;
  }

  /** Reports the counts since the last call. */
  flush(tell: (way: Way, outcome: AuthOutcome, count: number) => void): void {
    for (const way of ways) {
      for (const outcome of authOutcomes) {
        if (this.#counts[way][outcome] === 0) continue;
        tell(way, outcome, this.#counts[way][outcome]);
        this.#counts[way][outcome] = 0;
      }
    }
  }
}
