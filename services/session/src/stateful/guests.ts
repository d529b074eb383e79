/** What a feature does in each session, beside the requests of its client. */
import type { SessionParts } from './session-parts.ts';

export interface SessionGuest {
  /** The client has sent something, or opened a stream. */
  look(): void;
  /** The session ends at this worker. */
  close(): void;
}

export type GuestMaker = (session: Omit<SessionParts, 'guests'>) => SessionGuest;
