/**
 * What the revisions with sessions want of HTTP (2024-11-05 to 2025-11-25), by what the headers of a request say of it. The body of a request
 * of 2026-07-28 says the rest itself (`modern/check-request.ts`).
 */
import type { IncomingHttpHeaders } from 'node:http';
import { fault, featuresOf, isLegacyRevision, isModernRevision, isSessionId, type GatewayFault, type Revision } from '@omnibus/protocol';

const revisionHeader = 'mcp-protocol-version';

/** Why a request cannot be served before its message is known: the session it names is none of ours. */
export function sessionHeadersProblem(headers: IncomingHttpHeaders): GatewayFault | undefined {
  const id = headers['mcp-session-id'];
  if (id === undefined || isModernRevision(headers[revisionHeader])) return undefined;
  return typeof id === 'string' && isSessionId(id) ? undefined : fault('session.unknown');
}

/** A revision nobody speaks is refused (2025-06-18 transports, Protocol Version Header); without the header it is 2025-03-26. */
export function revisionProblem(headers: IncomingHttpHeaders): GatewayFault | undefined {
  const revision = headers[revisionHeader];
  return revision === undefined || isLegacyRevision(revision) ? undefined : fault('revision.unsupported');
}

/** Whether the streams of a client begin with an event that it can come back to (2025-11-25 transports, Sending Messages to the Server). */
export function hasPrimedStreams(headers: IncomingHttpHeaders): boolean {
  const revision = headers[revisionHeader];
  return isLegacyRevision(revision) && featuresOf(revision).primingEvent;
}

/** Whether a session takes several messages at once. */
export function takesBatches(revision: Revision): boolean {
  return featuresOf(revision).batching;
}

/** The id of an error about a message whose own id cannot be read: null, or none at all from 2025-11-25 on. */
export function idOfUnreadable(revision: Revision): null | undefined {
  return featuresOf(revision).idlessErrors ? undefined : null;
}
