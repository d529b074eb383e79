import type { Config } from '@omnibus/config';
import type { Proofs } from '@omnibus/identity';
import { anonymous, newRequestKey, type Caller, type Facts, type OfferCaller } from '@omnibus/protocol';
import { modernDialect } from '../dialect/modern/dialect.ts';

/** The gateway as the caller of a request of its own, which it makes for no client. */
export function gatewayAsCaller(): Omit<OfferCaller, 'who' | 'capabilities'> {
  return modernDialect.asker(anonymous, newRequestKey());
}

/**
 * Whether this worker has authenticated callers: its own edge authenticates them, or edges of other processes may.
 * @param config with which the process began: `auth` takes effect with a start.
 */
export function mayKnowCallers({ auth }: Config, proofs: Proofs | undefined): boolean {
  return proofs !== undefined || (auth !== undefined && auth !== 'none');
}

/** The owner of a budget: the proven principal; anonymous callers by address, as far as the edge knows it. */
export function shareOf({ principal, origin }: Caller, facts: Facts | undefined): string {
  return facts?.principal ?? origin ?? principal;
}
