/** The session ids of servers: those that the specification allows, and those that the official SDK clients return as well. */
import type { RepairCounts } from '@omnibus/protocol';
import { silentObserver, type ResponseObserver } from './response-reader.ts';
import { isHeaderText, isSessionId } from './server-words.ts';

export const unusableSession =
  'the session id it gave cannot be used: up to 8,192 characters that a header can carry are allowed, and with validation: enforce only visible ASCII';

/** @param repairs undefined where only what the specification allows can be used. */
export function isUsableSession(session: unknown, repairs: RepairCounts | undefined): session is string {
  if (typeof session !== 'string') return false;
  if (isSessionId(session)) return true;
  if (repairs === undefined || !isHeaderText(session)) return false;
  repairs.note('session-text', 'Mcp-Session-Id');
  return true;
}

const deleteTimeoutMs = 2_000;

/**
 * Resolves when the server has answered the request that ends a session, or no longer can, or takes too long.
 * @param send that request.
 */
export function untilEnded(send: (observer: ResponseObserver) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, deleteTimeoutMs);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    send({ ...silentObserver, ended: done, failed: done });
  });
}
