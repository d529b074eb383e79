/**
 * Rules of the revisions with sessions for HTTP (2024-11-05 to 2025-11-25), by the headers of a request. A request of 2026-07-28 is checked by its
 * body (`modern/check-request.ts`).
 */
import type { IncomingHttpHeaders } from 'node:http';
import {
  fault,
  featuresOf,
  isLegacyRevision,
  spokenRevision,
  isModernRevision,
  isSessionId,
  type GatewayFault,
  type Revision,
} from '@omnibus/protocol';

const revisionHeader = 'mcp-protocol-version';

/** Why a request is refused before its body is read: its session id is not one of this gateway. */
export function sessionHeadersProblem(headers: IncomingHttpHeaders): GatewayFault | undefined {
  const id = headers['mcp-session-id'];
  if (isModernRevision(headers[revisionHeader])) return undefined;
  return typeof id === 'string' && isSessionId(id) ? undefined : fault('session.unknown');
}

/** Refuses an unknown revision (2025-06-18 transports, Protocol Version Header); without the header it is 2025-03-26. */
export function revisionProblem(headers: IncomingHttpHeaders): GatewayFault | undefined {
  const revision = headers[revisionHeader];
  return revision === undefined || spokenRevision(revision) !== undefined ? undefined : fault('revision.unsupported');
}

/** Whether the streams of a client begin with an event from which it can resume (2025-11-25 transports, Sending Messages to the Server). */
export function hasPrimedStreams(headers: IncomingHttpHeaders): boolean {
  const revision = headers[revisionHeader];
  return isLegacyRevision(revision) && featuresOf(revision).primingEvent;
}

/** Whether a session accepts batches. */
export function takesBatches(revision: Revision): boolean {
  return featuresOf(revision).batching;
}

/** The id of an error about a message with an unreadable id: null, or undefined from 2025-11-25 on, where it is left out. */
export function idOfUnreadable(revision: Revision): null | undefined {
  return featuresOf(revision).idlessErrors ? undefined : null;
}
