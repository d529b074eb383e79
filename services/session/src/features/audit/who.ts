import type { Who } from '@omnibus/audit';
import { Proofs } from '@omnibus/identity';
import type { Caller } from '@omnibus/protocol';

/** The identity of the caller, as the edge has authenticated it. Facts of another, as in a forged command, do not identify the sender. */
export function whoOf(caller: Caller, proofs: Proofs | undefined): Who {
  const { principal, address, origin } = caller;
  const proven = Proofs.factsOf(caller, proofs);
  const facts = proven?.principal === principal ? proven : undefined;
  if (facts !== undefined && address === undefined && origin === undefined) return facts;
  const { issuer, subject, tenant, actors, client, key } = facts ?? {};
  return { principal, address: address ?? origin, issuer, subject, tenant, actors, client, key };
}
