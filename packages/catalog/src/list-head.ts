/**
 * The members of a list other than its entries: members of the servers' own lists, its time and scope for caches, and which
 * servers are missing from it.
 */
import type { CatalogRecord, JsonObject, ListKind, ListNotes, ServerName } from '@omnibus/protocol';

/** Under `_meta` of the first page: the servers without entries in it, each with the reason. */
export const missingKey = 'omnibus.dev/missing';

/** The same for tools and prompts that are left out because clients would refuse the list over them. */
const leftOutKey = 'omnibus.dev/left-out';

export interface LeftOut {
  /** The name that clients would use. */
  readonly name: string;
  readonly server: ServerName;
  /** The reason, in words for a person. */
  readonly problem: string;
}

export interface MissingServer {
  readonly server: ServerName;
  /** The reason, in words for a person. */
  readonly problem: string;
}

/** How long a list may be cached, and whether for all callers (2026-07-28 server/utilities/caching). */
export interface Freshness {
  /** How long the list may be used, in whole milliseconds. */
  readonly ttlMs: number;
  readonly cacheScope: 'public' | 'private';
}

/** How long a client may cache a list without times of its servers: short, since clients that listen hear of changes at once, and the others should ask again. */
const ownTtlMs = 5_000;

/** The capability that servers with such a list declare. */
function capabilityOf(kind: ListKind): string {
  return kind === 'resourceTemplates' ? 'resources' : kind;
}

/** Servers with unknown or hidden entries of a list, in the endpoint's order. */
export function missingServers(
  kind: ListKind,
  servers: readonly ServerName[],
  recordOf: (server: ServerName) => CatalogRecord | undefined,
): readonly MissingServer[] {
  return servers.flatMap((server) => {
    const record = recordOf(server);
    if (record === undefined) return [{ server, problem: 'it has not been reached yet' }];
    const { status, unread = [], problem = 'it is not connected' } = record;
    return status === 'down' || unread.includes(kind) ? [{ server, problem }] : [];
  });
}

/**
 * The members of a list's first page other than its entries. Those of all servers are carried; of two with one name, that of
 * the earlier in the endpoint's order, as with resources: a name means one thing, and the gateway invents none.
 * @param records of servers that are up.
 */
export function listHead(
  kind: ListKind,
  records: readonly CatalogRecord[],
  missing: readonly MissingServer[],
  leftOut: readonly LeftOut[] = [],
): JsonObject {
  const notes = notesOf(kind, records).toReversed();
  const meta: JsonObject = Object.assign(
    {},
    ...notes.map((each) => each.meta ?? {}),
    missing.length === 0 ? {} : { [missingKey]: missing },
    leftOut.length === 0 ? {} : { [leftOutKey]: leftOut },
  ) as JsonObject;
  const more: JsonObject = Object.assign({}, ...notes.map((each) => each.more ?? {})) as JsonObject;
  return Object.keys(meta).length === 0 ? more : { ...more, _meta: meta };
}

/**
 * @param records of servers that are up.
 * @param isForAll the list does not depend on the caller.
 * @param now milliseconds since 1970.
 */
export function freshness(
  kind: ListKind,
  records: readonly CatalogRecord[],
  isForAll: boolean,
  now: number,
): Freshness {
  const contributing = records.filter(({ capabilities }) => capabilityOf(kind) in capabilities);
  const notes = contributing.map((record) => record.notes?.[kind]);
  const left = notes.map((each) =>
    each?.ttlMs === undefined
      ? ownTtlMs
      : each.ttlMs - (each.readAt === undefined ? 0 : Math.max(now - each.readAt, 0)),
  );
  const isPublic = isForAll && notes.length > 0 && notes.every((each) => each?.isPublic === true);
  return {
    ttlMs: Math.floor(
      Math.min(Math.max(notes.length === 0 ? ownTtlMs : Math.min(...left), 0), Number.MAX_SAFE_INTEGER),
    ),
    cacheScope: isPublic ? 'public' : 'private',
  };
}

/** The freshness of a list that is not whole: clients are to ask for it again soon. */
export const notFresh: Freshness = { ttlMs: 0, cacheScope: 'private' };

function notesOf(kind: ListKind, records: readonly CatalogRecord[]): ListNotes[] {
  return records.flatMap(({ notes }) => notes?.[kind] ?? []);
}
