/** The lists of one server, as one of its adapters publishes them: a value in the catalogue, under the server and the adapter's worker. */
import type { DefinedKind } from './approved-definitions.ts';
import { isToken, type ServerName, type WorkerId } from './ids.ts';
import type { JsonObject } from './json-rpc.ts';
import { printable } from './printable.ts';
import type { ChangeKind, ListKind } from './methods.ts';
import type { Revision } from './revisions.ts';

export type ToolEntry = JsonObject & { readonly name: string };
export type PromptEntry = JsonObject & { readonly name: string };
type ResourceEntry = JsonObject & { readonly uri: string };
type ResourceTemplateEntry = JsonObject & { readonly uriTemplate: string };

export interface CatalogLists {
  readonly tools: readonly ToolEntry[];
  readonly prompts: readonly PromptEntry[];
  readonly resources: readonly ResourceEntry[];
  readonly resourceTemplates: readonly ResourceTemplateEntry[];
}

/** Members of a server's list other than its entries. */
export interface ListNotes {
  /** `_meta` of its pages. */
  readonly meta?: JsonObject;
  /** Members of its pages that no known revision defines. */
  readonly more?: JsonObject;
  /** Milliseconds for which the server says that the list can be cached. */
  readonly ttlMs?: number;
  /** Time at which that began, in milliseconds since 1970; left out where the server announces changes, so that the list is never outdated. */
  readonly readAt?: number;
  /** Whether the server says that the list is the same for all. */
  readonly isPublic?: boolean;
}

/** The difference between a list for some clients and the common list. */
export interface OfferedList {
  /** Entries that are not in the common list, or are different there. */
  readonly entries: readonly JsonObject[];
  /** Names or URIs of entries of the common list that are missing. */
  readonly without: readonly string[];
}

/** The lists of a server for clients with certain capabilities. */
export interface CallerOffer {
  /** `offerKey`. */
  readonly key: string;
  /** Lists that differ; empty where such clients are offered the common lists. */
  readonly lists: Readonly<Partial<Record<ListKind, OfferedList>>>;
  /** Left out entries for such a client, with the reason; absent if they equal those of the record. */
  readonly unfit?: readonly UnfitEntry[];
}

/** A server's description of itself in the handshake. */
export interface ServerIntroduction {
  readonly revision: Revision;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
}

/** An entry that clients do not get until its definition is approved. */
export interface HeldEntry {
  readonly kind: DefinedKind;
  /** The server's own name of the entry, or its URI template. */
  readonly name: string;
  /** The guardrail that withholds it; only in records that session workers have processed. */
  readonly guardrail?: string;
}

/** An entry that is in no list because clients would refuse the whole list over it, or because it exceeds a bound. */
export interface UnfitEntry {
  readonly kind: ListKind;
  /** The server's own name of the entry, or its URI or URI template; left out where it has none that can be read. */
  readonly name?: string | undefined;
  /** The reason, in words for a person. */
  readonly problem: string;
}

/** An entry that is left out, and the reason, on one line. */
export function unfitWords({ kind, name, problem }: UnfitEntry): string {
  return printable(`${kind}${name === undefined ? '' : ` ${JSON.stringify(name.slice(0, maxShownName))}`}: ${problem}`);
}

/** Bound on displayed characters of a name. */
const maxShownName = 100;

/**
 * The kinds of problems for which a server cannot be used. `program`: it does not exist or must not be started. `ended`: it has ended. `address`: nothing
 * answers there. `credentials`: they are missing or refused. `time`: no answer in time. `speech`: the answers are not MCP. `configuration`: it is wrong.
 */
export type ServerTrouble = 'program' | 'ended' | 'address' | 'credentials' | 'time' | 'speech' | 'configuration';

export interface CatalogRecord {
  readonly server: ServerName;
  /** A server that is `down` keeps its last lists, so that a call to one of its tools is answered with the problem. */
  readonly status: 'up' | 'down';
  /** Why it is down, or which of its lists could not be read while it is up, in words for a person. */
  readonly problem?: string;
  /** The kind of problem because of which it is down, where that is known. */
  readonly trouble?: ServerTrouble;
  readonly revision?: Revision;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  readonly lists: CatalogLists;
  /** Offers to clients that declared certain capabilities, for those sets that clients have declared so far. */
  readonly offers?: readonly CallerOffer[];
  /** For a server that is called with each user's own credentials: by `ownerKey`, the key of that user's entry in `offers`. */
  readonly owners?: Readonly<Record<string, string>>;
  /** Whether the server shows its lists only to users that have signed in. */
  readonly wantsSignIn?: boolean;
  readonly notes?: Readonly<Partial<Record<ListKind, ListNotes>>>;
  /** Lists that could not be read, or not to their end. */
  readonly unread?: readonly ListKind[];
  /** Number of entries that are in no list because they exceed the bounds. */
  readonly leftOut?: number;
  /** The first hundred of these, each with its reason. */
  readonly unfit?: readonly UnfitEntry[];
  /** Entries that are in no list because their definitions differ from the approved ones. */
  readonly held?: readonly HeldEntry[];
  /** Set when the adapter's worker has left in an orderly way: the record counts only while no other worker has one. */
  readonly hasLeft?: boolean;
  /** Per list, a number that grows with each change that the server announces; announcements are passed on even if the list is the same afterwards. */
  readonly announcements: Readonly<Record<ChangeKind, number>>;
}

export const noLists: CatalogLists = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
export const noAnnouncements: Readonly<Record<ChangeKind, number>> = { tools: 0, prompts: 0, resources: 0 };

/** A character that no name contains. */
const separator = '=';

/** The key of a record. Each worker writes its own, so that a worker that cannot reach a server does not replace the records of others. */
export function catalogKey(server: ServerName, worker: WorkerId): string {
  return `${server}${separator}${worker}`;
}

/** @returns undefined for a key of another form, as of another version of the gateway. */
export function parseCatalogKey(key: string): { readonly server: ServerName; readonly worker: WorkerId } | undefined {
  const [server, worker, ...more] = key.split(separator);
  if (server === undefined || worker === undefined || more.length > 0 || !isToken(server) || !isToken(worker))
    return undefined;
  return { server: server as ServerName, worker: worker as WorkerId };
}
