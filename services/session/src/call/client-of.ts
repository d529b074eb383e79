import type { Config } from '@omnibus/config';
import type { Proofs } from '@omnibus/identity';
import { anonymous, newRequestKey, type Caller, type Facts, type OfferCaller } from '@omnibus/protocol';
import { modernDialect } from '../dialect/modern/dialect.ts';

/** The gateway as the caller of a request of its own, which it makes for no client. */
export function gatewayAsCaller(): Omit<OfferCaller, 'who' | 'capabilities'> {
  return modernDialect.asker(anonymous, newRequestKey());
}

/**
 * Whether some callers are known to this worker: its own edge asks who they are, or the edges of other processes may.
 * @param config with which the process began: `auth` takes effect with a start.
 */
export function mayKnowCallers({ auth }: Config, proofs: Proofs | undefined): boolean {
  return proofs !== undefined || (auth !== undefined && auth !== 'none');
}

/** Who shares a budget: the principal that was proven; callers that are not known are told apart by their address, as far as the edge knows it. */
export function shareOf({ principal, origin }: Caller, facts: Facts | undefined): string {
  return facts?.principal ?? origin ?? principal;
}
