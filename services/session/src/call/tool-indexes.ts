/**
 * The search indexes of views. Callers with the same rights share a view, so a tool that they may not see is in none of their indexes. An index is built at
 * the first search of its view and used until the view changes.
 */
import type { OfferedTool, View } from '@omnibus/catalog';
import { ToolIndex, type SearchableTool } from '@omnibus/search';

export interface IndexedTools {
  readonly tools: readonly OfferedTool[];
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
    const tools = view.everyTool();
    if (tools.length <= fewTools) return undefined;
    const made = ToolIndex.inSteps(searchableIn(view, tools)).then((index) => {
      this.#making.delete(view);
      this.#keep(view, { tools, index });
    });
    this.#making.set(view, made);
    return made;
  }

  of(view: View): IndexedTools {
    const known = this.#byView.get(view);
    if (known !== undefined) return this.#keep(view, known);
    const tools = view.everyTool();
    return this.#keep(view, { tools, index: new ToolIndex(searchableIn(view, tools)) });
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
  return tools.map((tool) => searchable(tool, view.record(tool.server)?.instructions));
}

function searchable({ server, original, entry }: OfferedTool, about: string | undefined): SearchableTool {
  const { title, description, inputSchema } = entry;
  return {
    server,
    name: original,
    title: typeof title === 'string' ? title : undefined,
    description: typeof description === 'string' ? description : undefined,
    inputSchema,
    about,
  };
}
