/** The tools of a server in other shapes than the server gives them: clients see the shape, and the server hears its own names. */
import type { CatalogLists, CatalogRecord, ToolEntry } from '@omnibus/protocol';

export interface RecordShape {
  /** The record for clients; its lists are the same object for the same lists. */
  record(record: CatalogRecord): CatalogRecord;
  /** A tool for clients; undefined for one that its shape does not fit. */
  tool(entry: ToolEntry): ToolEntry | undefined;
}

/** The server's own definitions of shaped tools. */
const sources = new WeakMap<ToolEntry, ToolEntry>();

/** @returns the shaped definition. */
export function shapedFrom(source: ToolEntry, shaped: ToolEntry): ToolEntry {
  sources.set(shaped, source);
  return shaped;
}

/** The server's own definition of a tool. */
export function sourceOf(entry: ToolEntry): ToolEntry {
  return sources.get(entry) ?? entry;
}

/** Lists as the server gave them, as far as they were not left out. */
export function unshaped(lists: CatalogLists): CatalogLists {
  return lists.tools.some((entry) => sources.has(entry)) ? { ...lists, tools: lists.tools.map(sourceOf) } : lists;
}
