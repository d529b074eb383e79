/**
 * The search indexes of views. Callers with the same rights share a view, so a tool that they may not see is in none of their indexes. An index is built at
 * the first search of its view and used until the view changes.
 */
import type { OfferedTool, View } from '@omnibus/catalog';
import type { CatalogRecord, JsonObject, ServerName } from '@omnibus/protocol';
import { ToolIndex, toolText, type SearchableTool } from '@omnibus/search';

export interface IndexedTools {
  readonly tools: readonly OfferedTool[];
  /** The text of each tool for a model. */
  readonly texts: () => readonly string[];
  readonly index: ToolIndex;
}

/** Bound on the bytes of all cached indexes; the least recently used one is built again at its next search. */
const maxBytes = 64 * 1024 * 1024;
/** An index of so many tools takes a few milliseconds. */
const fewTools = 100;

interface Kept {
  readonly view: WeakRef<View>;
  readonly bytes: number;
}

export class Indexes {
  /** An index goes with its view. */
  #byView = new WeakMap<View, IndexedTools>();
  /** The indexes that are being made. */
  readonly #making = new WeakMap<View, Promise<void>>();
  /** Cached indexes, the least recently used first. */
  readonly #kept = new Map<IndexedTools, Kept>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(most = maxBytes) {
    this.#maxBytes = most;
  }

  /** Of all kept indexes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Makes the index of a view in steps, so that other calls are served meanwhile.
   * @returns undefined if it is there already, or its view has so few tools that `of` makes it at once.
   */
  ready(view: View): Promise<void> | undefined {
    const making = this.#making.get(view);
    if (making !== undefined || this.#byView.has(view)) return making;
    const tools = view.searchedTools();
    if (tools.length <= fewTools) return undefined;
    const searched = searchableIn(view, tools);
    const made = ToolIndex.inSteps(searched).then((index) => {
      this.#making.delete(view);
      this.#keep(view, { tools, texts: () => searched.map(toolText), index });
    });
    this.#making.set(view, made);
    return made;
  }

  of(view: View): IndexedTools {
    const known = this.#byView.get(view);
    if (known !== undefined) return this.#keep(view, known);
    const tools = view.searchedTools();
    const searched = searchableIn(view, tools);
    return this.#keep(view, { tools, texts: () => searched.map(toolText), index: new ToolIndex(searched) });
  }

  /** Makes an index the one that was used last. */
  #keep(view: View, indexed: IndexedTools): IndexedTools {
    const { bytes } = indexed.index;
    const isKept = this.#kept.delete(indexed);
    this.#kept.set(indexed, { view: new WeakRef(view), bytes });
    if (isKept) return indexed;
    this.#byView.set(view, indexed);
    this.#bytes += bytes;
    this.#makeRoom(indexed);
    return indexed;
  }

  /** Drops all. */
  clear(): void {
    this.#byView = new WeakMap();
    this.#kept.clear();
    this.#bytes = 0;
  }

  /** Drops indexes of views that are gone, and then, while there are too many bytes, those that were used least recently. */
  #makeRoom(latest: IndexedTools): void {
    for (const isForced of [false, true])
      for (const [indexed, { view, bytes }] of this.#kept) {
        const present = view.deref();
        if (indexed === latest || (present !== undefined && (!isForced || this.#bytes <= this.#maxBytes))) continue;
        if (present !== undefined) this.#byView.delete(present);
        this.#kept.delete(indexed);
        this.#bytes -= bytes;
      }
  }
}

function searchableIn(view: View, tools: readonly OfferedTool[]): readonly SearchableTool[] {
  return tools.map(({ server, original, entry }) => searchable(server, original, entry, view.record(server)));
}

/** A tool as the search reads it. @param original the server's own name of it. */
export function searchable(
  server: ServerName,
  original: string,
  { title, description, inputSchema }: JsonObject,
  record: Pick<CatalogRecord, 'instructions'> | undefined,
): SearchableTool {
  return {
    server,
    name: original,
    title: typeof title === 'string' ? title : undefined,
    description: typeof description === 'string' ? description : undefined,
    inputSchema,
    about: record?.instructions,
  };
}
