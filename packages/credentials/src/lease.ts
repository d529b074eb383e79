/** The mark in a record that says which process uses its refresh token, and until when others leave it alone. */

/** Time within which a process that has claimed a refresh token must have used it, in milliseconds. */
const leaseMs = 15_000;

export interface Claim {
  /** The attempt. */
  readonly by: string;
  /** Milliseconds since 1970, by the clock of the process that made it. */
  readonly until: number;
}

export function newClaim(by: string): Claim {
  return { by, until: Date.now() + leaseMs };
}

export class Leases {
  #seen: { readonly revision: number; readonly at: number } | undefined;

  /**
   * How long another's claim still must be respected, in milliseconds; 0: no longer. It ends as its maker wrote, and at the latest when it was
   * seen here for the length of a lease: the maker's clock may be ahead of ours, or was set back since.
   * @param revision of the record that has the claim.
   */
  leftMs({ until }: Claim, revision: number): number {
    const now = performance.now();
    if (this.#seen?.revision !== revision) this.#seen = { revision, at: now };
    return Math.max(0, Math.min(until - Date.now(), this.#seen.at + leaseMs - now));
  }
}
