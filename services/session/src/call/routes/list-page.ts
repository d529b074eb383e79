/** The page of a list that a request of a client with a session asks for. */
import type { View } from '@omnibus/catalog';
import type { JsonObject, ListKind } from '@omnibus/protocol';

/**
 * A client may leave the cursor out or send null; the empty string is a cursor, only never one of ours.
 * @returns the result as JSON; undefined when the cursor is not one of this list.
 */
export function listPage(view: View, kind: ListKind, params: JsonObject | undefined): string | undefined {
  const cursor = params?.['cursor'] ?? undefined;
  return cursor === undefined || typeof cursor === 'string' ? view.list(kind, cursor) : undefined;
}
