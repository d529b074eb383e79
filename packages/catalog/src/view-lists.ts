/**
 * The lists of one view as pages of JSON. The constructor computes the pages of the common view; those of a smaller view are computed at the first
 * request, and are those of the common view where no entry is missing.
 */
import { parseJson, type CatalogRecord, type JsonObject, type ListKind, type ServerName } from '@omnibus/protocol';
import { entryText } from './entry.ts';
import { digestOf, LazyPages, ListPages, type KeptPages, type Keeping, type Pages } from './list-pages.ts';
import { withPublicPages } from './pages.ts';
import type { Named } from './tools.ts';
import { mayHoldAlias, parseAlias, type ResourceIndex } from './uris.ts';

/** An entry of a list as JSON. */
export interface Listed {
  readonly server: ServerName;
  /** The server's own name or URI. */
  readonly original: string;
  /** Public name of a tool or prompt. */
  readonly publicName?: string;
  readonly text: string;
}

/** The input for lists: names and URIs of the view, and the records of servers that are up. */
export interface Contents {
  readonly tools: ReadonlyMap<string, Named>;
  readonly prompts: ReadonlyMap<string, Named>;
  readonly resources: ResourceIndex;
  readonly up: readonly CatalogRecord[];
  /** A tool as clients see it. */
  readonly shown: (tool: Named, name: string, isModern: boolean) => JsonObject;
}

/** Entries of a list, in the form for clients of 2026-07-28 or of earlier revisions. */
type Entries = (kind: ListKind, isModern: boolean) => readonly Listed[];
/** An entry as a caller sees it; undefined where the caller does not. */
type SeenAs = (kind: ListKind, entry: Listed) => Listed | undefined;
/** The source lists, and the visibility of their entries. */
interface Less {
  readonly of: ViewLists;
  readonly seenAs: SeenAs;
}

export class ViewLists {
  readonly #entries: Entries;
  readonly #pageSize: number;
  readonly #less: Less | undefined;
  readonly #pages: Record<ListKind, Pages>;
  /** Whether pages with fewer entries are cached, and their count. */
  readonly #keeping: Keeping = { pages: undefined };
  /** Pages of tools for clients of 2026-07-28, made at the first request. */
  #modernTools: Pages | undefined;
  /** The entries of lists by kind, made with the first view that has fewer entries. */
  readonly #kept = new Map<string, readonly Listed[]>();
  /** A digest of each list, the same in every process. */
  readonly versions: Readonly<Record<ListKind, string>>;

  private constructor(entries: Entries, pageSize: number, less?: Less) {
    this.#entries = entries;
    this.#pageSize = pageSize;
    this.#less = less;
    this.#pages = mapLists(eachKind, (kind) =>
      less === undefined
        ? new ListPages(
            kind,
            entries(kind, false).map(({ text }) => text),
            pageSize,
          )
        : this.#lessOf(less, less.of.#pages[kind], kind, false),
    );
    this.versions = mapLists(this.#pages, ({ version }) => version);
  }

  /** The lists of the common view. @param leaveOut called with each invalid entry, and the reason. */
  static of(contents: Contents, pageSize: number, leaveOut: (server: ServerName, problem: string) => void): ViewLists {
    return new ViewLists((kind, isModern) => entriesOf(contents, kind, isModern, leaveOut), pageSize);
  }

  /** The same lists with only the entries that a caller sees. */
  seenBy(seenAs: SeenAs): ViewLists {
    return new ViewLists(this.#entries, this.#pageSize, { of: this, seenAs });
  }

  /** @returns undefined when the cursor is not one of this list (2025-11-25 pagination: -32602). */
  page(kind: ListKind, cursor: string | undefined): string | undefined {
    return this.#pages[kind].page(cursor);
  }

  /** The page for a client of 2026-07-28. */
  modernPage(kind: ListKind, cursor: string | undefined): string | undefined {
    if (kind !== 'tools') return this.page(kind, cursor);
    const less = this.#less;
    this.#modernTools ??=
      less === undefined
        ? new ListPages(
            'tools',
            this.#entries('tools', true).map(({ text }) => text),
            this.#pageSize,
            this.versions.tools,
          )
        : this.#lessOf(
            less,
            { version: this.versions.tools, page: (asked) => less.of.modernPage('tools', asked) },
            'tools',
            true,
          );
    return this.#modernTools.page(cursor);
  }

  /** The entries of a list. @param isModern in the form for clients of 2026-07-28. */
  entries(kind: ListKind, isModern: boolean): readonly Listed[] {
    const all = this.#less === undefined ? this.#keptEntries(kind, isModern) : this.#less.of.entries(kind, isModern);
    const less = this.#less;
    return less === undefined ? all : all.flatMap((entry) => less.seenAs(kind, entry) ?? []);
  }

  /** Keeps pages with fewer entries from now on, once they were requested. @param pages counts their characters. */
  keep(pages: KeptPages): void {
    this.#keeping.pages = pages;
  }

  /** Drops such pages; they are computed again at each request. */
  drop(): void {
    for (const pages of [...Object.values(this.#pages), this.#modernTools])
      if (pages instanceof LazyPages) pages.drop();
    this.#keeping.pages = undefined;
  }

  /** The pages of a list with fewer entries; the given pages where no entry is missing. */
  #lessOf({ of, seenAs }: Less, pages: Pages, kind: ListKind, isModern: boolean): Pages {
    const all = of.#keptEntries(kind, isModern);
    const entries = all.flatMap((entry) => seenAs(kind, entry) ?? []);
    if (entries.length === all.length && entries.every((entry, index) => entry === all[index])) return pages;
    const texts = entries.map(({ text }) => text);
    const version = isModern ? this.versions[kind] : digestOf(texts);
    return new LazyPages(version, this.#keeping, () => new ListPages(kind, texts, this.#pageSize, version));
  }

  #keptEntries(kind: ListKind, isModern: boolean): readonly Listed[] {
    const key = `${kind} ${String(isModern)}`;
    const kept = this.#kept.get(key) ?? this.#entries(kind, isModern);
    this.#kept.set(key, kept);
    return kept;
  }
}

/**
 * An entry under the URIs of a caller that does not see all servers, and so not why it has an alias.
 * @param resources of the caller.
 */
export function underUrisOf(resources: ResourceIndex, kind: ListKind, entry: Listed): Listed {
  const { server, original, text } = entry;
  if ((kind !== 'resources' && kind !== 'tools') || !resources.hasAliases(server) || !mayHoldAlias(text)) return entry;
  const shown = parseJson(text) as JsonObject;
  const uri = resources.publicUri(server, original);
  const made =
    kind === 'tools'
      ? withPublicPages(shown, (page) => {
          const alias = parseAlias(page);
          return alias?.server === server ? resources.publicUri(server, alias.uri) : page;
        })
      : shown['uri'] === uri
        ? shown
        : { ...shown, uri };
  return made === shown ? entry : { ...entry, text: JSON.stringify(made) };
}

/** The entries of one list in order. An invalid entry does not affect others. */
function entriesOf(
  { tools, prompts, resources, up, shown }: Contents,
  kind: ListKind,
  isModern: boolean,
  leaveOut: (server: ServerName, problem: string) => void,
): Listed[] {
  const listed = (server: ServerName, original: string, show: () => JsonObject, publicName?: string): Listed[] => {
    try {
      const text = entryText(show());
      if (typeof text === 'string')
        return [{ server, original, ...(publicName === undefined ? {} : { publicName }), text }];
      leaveOut(server, text.problem);
    } catch (error) {
      leaveOut(server, `an entry cannot be shown: ${(error as Error).message}`);
    }
    return [];
  };
  const named = (names: ReadonlyMap<string, Named>, show: (named: Named, publicName: string) => JsonObject): Listed[] =>
    [...names]
      .filter(([, { isUp }]) => isUp)
      .flatMap(([publicName, each]) => listed(each.server, each.original, () => show(each, publicName), publicName));
  switch (kind) {
    case 'tools':
      return named(tools, (tool, name) => {
        const seen = shown(tool, name, isModern);
        return tool.hasPage === true && resources.hasAliases(tool.server)
          ? withPublicPages(seen, (uri) => resources.publicUri(tool.server, uri))
          : seen;
      });
    case 'prompts':
      return named(prompts, ({ entry }, name) => ({ ...entry, name }));
    case 'resources':
      return up.flatMap(({ server, lists }) =>
        lists.resources.flatMap((entry) =>
          listed(server, entry.uri, () => ({ ...entry, uri: resources.publicUri(server, entry.uri) })),
        ),
      );
    case 'resourceTemplates':
      return up.flatMap(({ server, lists }) =>
        lists.resourceTemplates.flatMap((entry) => listed(server, entry.uriTemplate, () => entry)),
      );
  }
}

export function mapLists<From, To>(
  lists: Record<ListKind, From>,
  map: (list: From, kind: ListKind) => To,
): Record<ListKind, To> {
  return {
    tools: map(lists.tools, 'tools'),
    prompts: map(lists.prompts, 'prompts'),
    resources: map(lists.resources, 'resources'),
    resourceTemplates: map(lists.resourceTemplates, 'resourceTemplates'),
  };
}

export const eachKind: Record<ListKind, ListKind> = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  resourceTemplates: 'resourceTemplates',
};
