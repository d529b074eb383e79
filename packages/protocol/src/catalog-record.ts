/** What one upstream server offers, as an adapter of it publishes it: the value under the server and the adapter's worker in the catalogue. */
import type { DefinedKind } from './approved-definitions.ts';
import { isToken, type ServerName, type WorkerId } from './ids.ts';
import type { JsonObject } from './json-rpc.ts';
import type { ChangeKind, ListKind } from './methods.ts';
import type { Revision } from './revisions.ts';

export type ToolEntry = JsonObject & { readonly name: string };
export type PromptEntry = JsonObject & { readonly name: string };
export type ResourceEntry = JsonObject & { readonly uri: string };
export type ResourceTemplateEntry = JsonObject & { readonly uriTemplate: string };

export interface CatalogLists {
  readonly tools: readonly ToolEntry[];
  readonly prompts: readonly PromptEntry[];
  readonly resources: readonly ResourceEntry[];
  readonly resourceTemplates: readonly ResourceTemplateEntry[];
}

/** What a server says of a whole list, besides its entries. */
export interface ListNotes {
  /** `_meta` of its pages. */
  readonly meta?: JsonObject;
  /** Members of its pages that no revision known here has. */
  readonly more?: JsonObject;
  /** Milliseconds for which it says that the list can be used. */
  readonly ttlMs?: number;
  /** Milliseconds since 1970 at which that began; left out where changes are announced, so that what is known is never older than they are. */
  readonly readAt?: number;
  /** It says that its list is the same for everybody. */
  readonly isPublic?: boolean;
}

/** How a list for some clients differs from what everybody is offered. */
export interface OfferedList {
  /** Entries that are not in the other, or read differently there. */
  readonly entries: readonly JsonObject[];
  /** Names or URIs of entries that are missing. */
  readonly without: readonly string[];
}

/** What a server offers to clients that declared certain capabilities. */
export interface CallerOffer {
  /** `offerKey`. */
  readonly key: string;
  /** Lists that differ; none, where such clients are offered what everybody is. */
  readonly lists: Readonly<Partial<Record<ListKind, OfferedList>>>;
}

/** What a server says of itself when it is met. */
export interface ServerIntroduction {
  readonly revision: Revision;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
}

/** Something a server offers that is kept from clients until its definition is approved. */
export interface HeldEntry {
  readonly kind: DefinedKind;
  /** The server's own name of it, or URI template. */
  readonly name: string;
}

export interface CatalogRecord {
  readonly server: ServerName;
  /** A server that is `down` keeps its last lists, so that a call to one of its tools can say what is wrong. */
  readonly status: 'up' | 'down';
  /** Why it is down, or which of its lists could not be read while it is up, in words for a person. */
  readonly problem?: string;
  readonly revision?: Revision;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  readonly lists: CatalogLists;
  /** For clients that declared capabilities, as far as such clients came. */
  readonly offers?: readonly CallerOffer[];
  /** It is called with credentials of each user, and offers each what is his: by `ownerKey`, the key of an entry of `offers`. */
  readonly owners?: Readonly<Record<string, string>>;
  /** Nothing is shown to whom the server does not know. */
  readonly wantsSignIn?: boolean;
  readonly notes?: Readonly<Partial<Record<ListKind, ListNotes>>>;
  /** Lists that could not be read, or not to their end. */
  readonly unread?: readonly ListKind[];
  /** Entries the server offers that are in no list because they do not fit. */
  readonly leftOut?: number;
  /** What is in no list because its definition is not as it was approved. */
  readonly held?: readonly HeldEntry[];
  /** The adapter's worker has left in order: the record counts only while nobody else has one. */
  readonly hasLeft?: boolean;
  /** When the server last announced a change, per list; it grows with each: announcements are passed on even when the list reads the same afterwards. */
  readonly announcements: Readonly<Record<ChangeKind, number>>;
}

export const noLists: CatalogLists = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
export const noAnnouncements: Readonly<Record<ChangeKind, number>> = { tools: 0, prompts: 0, resources: 0 };

/** Stands in no name. */
const separator = '=';

/** The key of a record: each worker writes its own, so that one that cannot reach a server does not speak for the others. */
export function catalogKey(server: ServerName, worker: WorkerId): string {
  return `${server}${separator}${worker}`;
}

/** @returns undefined for a key that is not ours, as of another version of the gateway. */
export function parseCatalogKey(key: string): { readonly server: ServerName; readonly worker: WorkerId } | undefined {
  const [server, worker, ...more] = key.split(separator);
  if (server === undefined || worker === undefined || more.length > 0 || !isToken(server) || !isToken(worker)) return undefined;
  return { server: server as ServerName, worker: worker as WorkerId };
}
