import type { IncomingMessage } from 'node:http';
import { fault, isLegacyRevision, isSessionId, type GatewayFault } from '@omnibus/protocol';
import type { SessionAddress, SessionAddresses } from '../delivery/session-addresses.ts';

/** The session that a request names; undefined when it names none, a fault when it names what is none of ours. */
export function sessionOf({ headers }: IncomingMessage, sessions: SessionAddresses): SessionAddress | { readonly fault: GatewayFault } | undefined {
  const id = headers['mcp-session-id'];
  if (id === undefined) return undefined;
  return typeof id === 'string' && isSessionId(id) ? sessions.of(id) : { fault: fault('session.unknown') };
}

/** A revision nobody speaks is refused (2025-06-18 transports, Protocol Version Header); without the header it is 2025-03-26. */
export function revisionProblem({ headers }: IncomingMessage): GatewayFault | undefined {
  const revision = headers['mcp-protocol-version'];
  return revision === undefined || isLegacyRevision(revision) ? undefined : fault('revision.unsupported');
}
