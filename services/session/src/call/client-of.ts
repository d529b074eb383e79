import type { Config } from '@omnibus/config';
import type { Proofs } from '@omnibus/identity';
import { anonymous, type Caller, type Client, type Facts } from '@omnibus/protocol';

/** The client that a request without a session belongs to, as far as it is known: calls of one client go to one program of a stdio server. */
export function clientOf({ principal, client }: Caller): { readonly client?: Client } {
  if (client !== undefined) return { client };
  return principal === anonymous ? {} : { client: { id: principal, isOne: false } };
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
