/** The tools of one server in their configured shapes. A tool that a shape does not fit any more is left out, with the reason; the others stay. */
import type { ServerConfig } from '@omnibus/config';
import type { CallerOffer, CatalogLists, CatalogRecord, JsonObject, ToolEntry, UnfitEntry } from '@omnibus/protocol';
import { shapedFrom, sourceOf, type RecordShape } from '../../catalog/record-shape.ts';
import { shapedSchema, type ToolShape } from './schema.ts';

interface Misfit {
  readonly misfit: string;
}

function isShaped({ title, description, annotations, arguments: shapes }: ToolShape): boolean {
  return [title, description, annotations].some((each) => each !== undefined) || Object.keys(shapes).length > 0;
}

/** The shapes of a server by the server's names of its tools; undefined if no tool has one. */
export function shapesOf({ tools }: Pick<ServerConfig, 'tools'>): ReadonlyMap<string, ToolShape> | undefined {
  const shapes = new Map(Object.entries(tools).filter(([, shape]) => isShaped(shape)));
  return shapes.size === 0 ? undefined : shapes;
}

export class ServerShapes implements RecordShape {
  readonly #shapes: ReadonlyMap<string, ToolShape>;
  readonly #known = new WeakMap<ToolEntry, ToolEntry | Misfit>();
  /** The latest lists, so that equal lists stay the same object. */
  #latest:
    | { readonly lists: CatalogLists; readonly shaped: CatalogLists; readonly unfit: readonly UnfitEntry[] }
    | undefined;

  constructor(shapes: ReadonlyMap<string, ToolShape>) {
    this.#shapes = shapes;
  }

  tool(entry: ToolEntry): ToolEntry | undefined {
    const shaped = this.#shaped(entry);
    return isTool(shaped) ? shaped : undefined;
  }

  record(record: CatalogRecord): CatalogRecord {
    const { lists, unfit: before = [], offers } = record;
    if (this.#latest?.lists !== lists) this.#latest = { lists, ...this.#lists(lists) };
    const { shaped, unfit } = this.#latest;
    const all = [...before, ...unfit];
    return {
      ...record,
      lists: shaped,
      ...(all.length === 0 ? {} : { unfit: all }),
      ...(offers === undefined ? {} : { offers: offers.map((offer) => this.#offer(offer, all)) }),
      ...(unfit.length === 0 ? {} : { leftOut: (record.leftOut ?? 0) + unfit.length }),
    };
  }

  #lists(lists: CatalogLists): { readonly shaped: CatalogLists; readonly unfit: readonly UnfitEntry[] } {
    const { fit, unfit } = this.#sorted(lists.tools);
    return { shaped: { ...lists, tools: fit }, unfit };
  }

  /** @param unfit of the common lists. */
  #offer(offer: CallerOffer, unfit: readonly UnfitEntry[]): CallerOffer {
    const { tools } = offer.lists;
    if (tools === undefined) return offer;
    const own = this.#sorted(tools.entries as readonly ToolEntry[]);
    const without = [...tools.without, ...own.unfit.map(({ name }) => name as string)];
    const fitting = new Set(own.fit.map(({ name }) => name));
    const all = [
      ...(offer.unfit ?? unfit).filter(({ kind, name }) => kind !== 'tools' || !fitting.has(name as string)),
      ...own.unfit,
    ];
    return {
      ...offer,
      lists: { ...offer.lists, tools: { entries: own.fit, without } },
      ...(own.unfit.length === 0 && all.length === unfit.length ? {} : { unfit: all }),
    };
  }

  #sorted(tools: readonly ToolEntry[]): { readonly fit: readonly ToolEntry[]; readonly unfit: readonly UnfitEntry[] } {
    const fit: ToolEntry[] = [];
    const unfit: UnfitEntry[] = [];
    for (const entry of tools) {
      const shaped = this.#shaped(entry);
      if (isTool(shaped)) fit.push(shaped);
      else unfit.push({ kind: 'tools', name: entry.name, problem: shaped.misfit });
    }
    return { fit, unfit };
  }

  #shaped(given: ToolEntry): ToolEntry | Misfit {
    const entry = sourceOf(given);
    const shape = this.#shapes.get(entry.name);
    if (shape === undefined) return entry;
    let shaped = this.#known.get(entry);
    if (shaped === undefined) {
      shaped = shapedTool(entry, shape);
      this.#known.set(entry, shaped);
    }
    return shaped;
  }
}

const isTool = (shaped: ToolEntry | Misfit): shaped is ToolEntry => 'name' in shaped;

function shapedTool(entry: ToolEntry, shape: ToolShape): ToolEntry | Misfit {
  const schema = shapedSchema(entry['inputSchema'] as JsonObject, shape.arguments);
  if ('problem' in schema)
    return {
      misfit: `its shape in the configuration (\`tools\` of the server) does not fit the tool: ${schema.problem}. Change the shape, or the tool`,
    };
  const { title, description } = shape;
  const annotations = annotationsOf(entry, shape);
  return shapedFrom(entry, {
    ...entry,
    inputSchema: schema.schema,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(annotations === undefined ? {} : { annotations }),
  });
}

function annotationsOf({ annotations }: JsonObject, { title, annotations: hints }: ToolShape): JsonObject | undefined {
  const said = annotations as JsonObject | undefined;
  const own = said?.['title'] !== undefined && title !== undefined ? { title } : undefined;
  return hints === undefined && own === undefined ? undefined : { ...said, ...own, ...hints };
}
