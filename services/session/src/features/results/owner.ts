/** The owner of a stored result: the user, or for an anonymous caller the session. Without a session, the id alone gives access. */
import { createHash } from 'node:crypto';
import { anonymous, type Caller, type SessionKey } from '@omnibus/protocol';

/** @returns a name that may stand in a key of a bucket, and tells nothing of the caller. */
export function ownerOf({
  asking,
  session,
}: {
  readonly asking: Caller;
  readonly session: SessionKey | undefined;
}): string {
  if (asking.principal !== anonymous) return `u${digest(asking.principal)}`;
  return session === undefined ? 'a' : ownerOfSession(session);
}

/** The owner of what an anonymous caller got in a session. */
export function ownerOfSession(session: SessionKey): string {
  return `s${digest(session)}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
