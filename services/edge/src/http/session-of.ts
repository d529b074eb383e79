import type { IncomingMessage } from 'node:http';
import { fault, isSessionId, type GatewayFault } from '@omnibus/protocol';
import type { SessionAddress, SessionAddresses } from '../delivery/session-addresses.ts';

/** The session that a request names; undefined when it names none, a fault when the id is not one of this gateway. */
export function sessionOf(
  { headers }: IncomingMessage,
  sessions: SessionAddresses,
): SessionAddress | { readonly fault: GatewayFault } | undefined {
  const id = headers['mcp-session-id'];
  if (id === undefined) return undefined;
  return typeof id === 'string' && isSessionId(id) ? sessions.of(id) : { fault: fault('session.unknown') };
}
