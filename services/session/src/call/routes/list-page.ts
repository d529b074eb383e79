/** The page of a list that a request of a client with a session asks for. */
import type { MissingServer, View } from '@omnibus/catalog';
import { readOwnLimit, type JsonObject, type ListKind } from '@omnibus/protocol';

/**
 * The cursor of a request for a list, as far as it names one: a client may leave it out, or send null. The empty text is never a cursor of ours, and clients
 * that fill in every member send it for the first page.
 */
export function cursorOf(params: JsonObject | undefined): unknown {
  const said = params?.['cursor'];
  return said === null || said === '' ? undefined : said;
}

/**
 * @param reading servers with lists for the client that are still being read.
 * @returns the result as JSON; undefined when the cursor is not one of this list.
 */
export function listPage(
  view: View,
  kind: ListKind,
  params: JsonObject | undefined,
  reading: readonly MissingServer[],
): string | undefined {
  const cursor = cursorOf(params);
  return cursor === undefined || typeof cursor === 'string' ? view.list(kind, cursor, reading) : undefined;
}

/** The time limit that a client gives a list, in milliseconds: so long it may wait to be whole. An invalid one has no effect, since lists have none. */
export function ownLimitOf(params: JsonObject | undefined): number | undefined {
  const limit = params === undefined ? undefined : readOwnLimit(params);
  return typeof limit === 'number' ? limit : undefined;
}
