/** What one upstream server offers, as its adapter publishes it: the value under the server's key in the catalogue. */
import type { ServerName } from './ids.ts';
import type { JsonObject } from './json-rpc.ts';
import type { ChangeKind } from './methods.ts';
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

export interface CatalogRecord {
  readonly server: ServerName;
  /** A server that is `down` keeps its last lists, so that a call to one of its tools can say what is wrong. */
  readonly status: 'up' | 'down';
  /** Why it is down, in words for a person. */
  readonly problem?: string;
  readonly revision?: Revision;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  readonly lists: CatalogLists;
  /** When the server last announced a change, per list; it grows with each: announcements are passed on even when the list reads the same afterwards. */
  readonly announcements: Readonly<Record<ChangeKind, number>>;
}

export const noLists: CatalogLists = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
export const noAnnouncements: Readonly<Record<ChangeKind, number>> = { tools: 0, prompts: 0, resources: 0 };
