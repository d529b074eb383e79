/**
 * What one endpoint offers, computed once from the catalogue and answered from memory; the pages of each list are JSON already. A view is immutable: a
 * change of the catalogue makes a new one.
 *
 * Invariants
 *  V1  The same records and definition give the same bytes, in every process and whatever order servers connected in.
 *  V2  Lists show only servers that are up; routes also know the tools of servers that are down.
 *  V3  `route(publicName)` and the list agree: each listed name leads to exactly one server and original name.
 *  V4  An invalid entry is left out, with a reason in `problems`, and does not affect others.
 *  V5  The view of a caller is the common view without the entries that the caller may not see; these change no name of a tool or prompt in it, and give no URI an alias.
 */
import {
  changeKinds,
  extensionsOf,
  featuresOf,
  isObject,
  searchExtension,
  servesTasks,
  unfitWords,
  type CatalogRecord,
  type ChangeKind,
  type Declared,
  type JsonObject,
  type ListKind,
  type ServerName,
} from '@omnibus/protocol';
import { isSoundRecord } from './entry.ts';
import { differenceFor, offeredTo } from './offers.ts';
import { bare, bareNamesOf } from './bare-names.ts';
import { instructionsOf } from './instructions.ts';
import {
  freshness,
  listHead,
  missingServers,
  notFresh,
  type Freshness,
  type LeftOut,
  type MissingServer,
} from './list-head.ts';
import { withMembers, type KeptPages } from './list-pages.ts';
import { namedPrompts, namedTools } from './named.ts';
import { isForPages, pageUris } from './pages.ts';
import { isPrefixed, ownerByName, type EndpointDefinition } from './profile.ts';
import { ShortTools } from './short-tools.ts';
import { isInSight, type Sight } from './sight.ts';
import { offeredComposites, offeredTool, searchedWith, shownTool, type OfferedTool } from './shown-tool.ts';
import type { Named, Route } from './tools.ts';
import { parseAlias, ResourceIndex } from './uris.ts';
import { eachKind, mapLists, underUrisOf, ViewLists, type Contents } from './view-lists.ts';

/** Capabilities of servers that are offered to clients. */
export type Capability = 'tools' | 'prompts' | 'resources' | 'resources.subscribe' | 'logging' | 'completions';

/** Why an entry of a server is not in a list. */
export interface ViewProblem {
  readonly server: ServerName;
  readonly problem: string;
}

/** The view that a narrowed one is made from, and what its caller sees. */
type Narrowed = Readonly<{ base: View; sight: Sight }>;

const maxProblems = 100;
/** Bound on entries that a list names as left out. */
const maxLeftOut = 20;
/** Characters of a name that no list has and that is passed on. */
const maxUnlistedLength = 256;

const hasOwn = (short: ShortTools | undefined): boolean =>
  short !== undefined && (short.isShort || short.composites.size > 0);

export class View {
  readonly definition: EndpointDefinition;
  /** Whether names have their server's name before them. */
  readonly isPrefixed: boolean;
  /** Records of the endpoint's servers, in its order, without servers that never published one. */
  readonly records: readonly CatalogRecord[];
  readonly #byServer: ReadonlyMap<ServerName, CatalogRecord>;
  readonly #tools: ReadonlyMap<string, Named>;
  readonly #prompts: ReadonlyMap<string, Named>;
  readonly resources: ResourceIndex;
  /** All entries that the caller sees. */
  readonly lists: ViewLists;
  /** Whether a call may be of one of the gateway's own tools. */
  readonly hasOwnTools: boolean;
  /** The list of tools where it shows a part of them. */
  readonly #short: ShortTools | undefined;
  /** Members of each list's first page besides its entries. */
  readonly #heads: Record<ListKind, JsonObject>;
  readonly #missing: Record<ListKind, readonly MissingServer[]>;
  /** The common view and the caller's sight; undefined in the common view itself. */
  readonly #narrowed: Narrowed | undefined;
  readonly #problems: ViewProblem[] = [];
  /** By the server's own name; made when a page first calls. */
  #pageTools: ReturnType<typeof pageTools> | undefined;
  /** Whether offers depend on the client: on its capabilities, or also on its user. */
  readonly dependsOnCaller: false | 'declared' | 'owner';

  /** @param narrowed used by `seenBy` only. */
  constructor(definition: EndpointDefinition, catalog: ReadonlyMap<ServerName, CatalogRecord>, narrowed?: Narrowed) {
    this.#narrowed = narrowed;
    if (narrowed !== undefined) {
      const { base, sight } = narrowed;
      this.#tools = only(base.#tools, ({ server, original, entry }) => sight.sees('tool', server, original, entry));
      this.#prompts = only(base.#prompts, ({ server, original }) => sight.sees('prompt', server, original));
      this.resources = base.resources.seenBy((server, uri) => sight.sees('resource', server, uri));
      const shown = new Set([...this.#tools.values(), ...this.#prompts.values()].map(({ server }) => server));
      const servers = definition.servers.filter(
        (server) => shown.has(server) || isInSight(sight, server, base.record(server)),
      );
      this.definition = { ...definition, servers, isForKnown: true };
      this.records = base.records.filter(({ server }) => servers.includes(server));
      this.#byServer = new Map(this.records.map((record) => [record.server, record]));
      this.isPrefixed = base.isPrefixed;
      this.dependsOnCaller = base.dependsOnCaller;
      this.lists = base.lists.seenBy((kind, entry) => {
        const { server, original, publicName } = entry;
        const isSeen =
          kind === 'tools' || kind === 'prompts'
            ? (kind === 'tools' ? this.#tools : this.#prompts).has(publicName as string)
            : this.mayHave(server, original);
        return isSeen ? underUrisOf(this.resources, kind, entry) : undefined;
      });
      this.#short = this.#shortTools();
      this.hasOwnTools = hasOwn(this.#short);
      this.#missing = mapLists(base.#missing, (missing) => missing.filter(({ server }) => servers.includes(server)));
      this.#heads = mapLists(this.#missing, (missing, kind) =>
        listHead(kind, this.#up(), missing, this.#leftOutOf(kind)),
      );
      return;
    }
    this.definition = definition;
    this.records = definition.servers.flatMap((server) => this.#sound(server, catalog.get(server)));
    this.#byServer = new Map(this.records.map((record) => [record.server, record]));
    this.isPrefixed = isPrefixed(definition);
    const isOwned = this.records.some(({ owners }) => owners !== undefined);
    this.dependsOnCaller = isOwned
      ? 'owner'
      : this.records.some(({ offers = [] }) => offers.some(({ lists }) => Object.keys(lists).length > 0)) && 'declared';
    this.#tools = namedTools(definition, this.records);
    this.#prompts = namedPrompts(definition, this.records);
    this.resources = resourcesOf(this.records);
    this.lists = ViewLists.of(this.#contents(), definition.pageSize, (server, problem) =>
      this.#leaveOut(server, problem),
    );
    this.#short = this.#shortTools();
    this.hasOwnTools = hasOwn(this.#short);
    for (const { server, unfit = [] } of this.records)
      for (const each of unfit) this.#leaveOut(server, unfitWords(each));
    this.#missing = mapLists(eachKind, (_kind, kind) =>
      missingServers(kind, definition.servers, (server) => this.record(server)),
    );
    this.#heads = mapLists(this.#missing, (missing, kind) =>
      listHead(kind, this.#up(), missing, this.#leftOutOf(kind)),
    );
  }

  /** The view of a caller: without hidden entries, and with the same names (V5). */
  seenBy(sight: Sight): View {
    return new View(this.definition, this.#byServer, { base: this, sight });
  }

  /** Whether the caller may see the resource of a URI at a server, whether or not a list has it. */
  mayHave(server: ServerName, uri: string): boolean {
    return (
      this.#narrowed === undefined ||
      (this.definition.servers.includes(server) && this.#narrowed.sight.sees('resource', server, uri))
    );
  }

  /** Whether the caller may see a task of a server. @param tool the server's own name of its tool; undefined or empty where that is unknown. */
  mayHaveTask(server: ServerName, tool: string | undefined): boolean {
    if (this.#narrowed === undefined) return true;
    const { sight } = this.#narrowed;
    return tool === undefined || tool === ''
      ? sight.mayEverythingOf(server)
      : sight.sees('tool', server, tool, this.toolOf(server, tool));
  }

  /** The server's definition of a tool, by the server's own name, whether or not the caller sees it. */
  toolOf(server: ServerName, tool: string): JsonObject | undefined {
    return this.record(server)?.lists.tools.find(({ name }) => name === tool);
  }

  /** Whether the caller may use everything of a server, including methods that no revision defines. */
  mayEverythingOf(server: ServerName): boolean {
    return this.#narrowed?.sight.mayEverythingOf(server) ?? true;
  }

  /** The entry of a public name that the caller may not see; undefined where there is none. */
  hidden(kind: 'tool' | 'prompt', publicName: string): (Route & { readonly entry: JsonObject }) | undefined {
    if (this.#narrowed === undefined) return undefined;
    const { base } = this.#narrowed;
    const [all, seen] = kind === 'tool' ? [base.#tools, this.#tools] : [base.#prompts, this.#prompts];
    return seen.has(publicName) ? undefined : all.get(publicName);
  }

  /**
   * The server that gets requests for unlisted names and undeclared capabilities: the only one of the endpoint, if no option restricts requests to it.
   * Undefined elsewhere, while the server is down, and if one of its entries is withheld or the caller may not use all of it.
   */
  get open(): ServerName | undefined {
    const { isOpen, servers } = this.definition;
    const [only] = servers;
    if (isOpen !== true || only === undefined || this.isPrefixed || !this.mayEverythingOf(only)) return undefined;
    const record = this.record(only);
    return record?.status === 'up' && (record.held ?? []).length === 0 ? only : undefined;
  }

  /** Where a name leads that no list has; undefined where `open` is. A server may read names loosely, so a name that resembles a listed one leads nowhere. */
  unlisted(kind: 'tools' | 'prompts', name: string): Route | undefined {
    const server = this.open;
    if (server === undefined || name.length > maxUnlistedLength) return undefined;
    const listed = this.record(server)?.lists[kind];
    return listed !== undefined && bareNamesOf(listed).has(bare(name)) ? undefined : { server, original: name };
  }

  /** Whether the only server itself answers a list request: it does not declare that list, or it did not answer for its templates. */
  isUnreadHere(kind: ListKind): boolean {
    const server = this.open;
    const record = server === undefined ? undefined : this.record(server);
    if (record === undefined) return false;
    if (!((kind === 'resourceTemplates' ? 'resources' : kind) in record.capabilities)) return true;
    return kind === 'resourceTemplates' && record.unread?.includes(kind) === true;
  }

  /** Keeps pages that belong to this view alone from now on, once they were requested. @param pages counts their characters. */
  keepPages(pages: KeptPages): void {
    this.lists.keep(pages);
  }

  /** Drops such pages; they are computed again at each request. */
  dropPages(): void {
    this.lists.drop();
  }

  /** The view for clients that declared these capabilities, with a name for its differences; undefined where they are offered the same as all clients. */
  differing(declared: Declared): { readonly name: string; readonly make: () => View } | undefined {
    const { listing } = this.definition;
    const wantsSearch = listing?.mode === 'full' && searchExtension in declared.extensions;
    const offers = this.records.flatMap((record) => differenceFor(record, declared) ?? []);
    if (offers.length === 0 && !wantsSearch) return undefined;
    const definition = wantsSearch
      ? { ...this.definition, listing: { ...listing, mode: 'search' as const } }
      : this.definition;
    return {
      name: [...offers, ...(wantsSearch ? [searchExtension] : [])].join('\n'),
      make: () =>
        new View(definition, new Map(this.records.map((record) => [record.server, offeredTo(record, declared)]))),
    };
  }

  /** The `result` of a list request as JSON, or undefined when the cursor is not one of this view (2025-11-25 pagination: -32602). */
  list(kind: ListKind, cursor: string | undefined, reading: readonly MissingServer[] = []): string | undefined {
    const page =
      kind === 'tools' && this.#short !== undefined ? this.#short.page(cursor) : this.lists.page(kind, cursor);
    return page === undefined || cursor !== undefined ? page : withMembers(page, this.head(kind, reading));
  }

  /**
   * Members of a list's first page other than its entries.
   * @param reading servers whose lists for the client are still being read; those outside this view are not named.
   */
  head(kind: ListKind, reading: readonly MissingServer[] = []): JsonObject {
    const shown = reading.filter(
      ({ server }) => this.#byServer.has(server) && !this.#missing[kind].some((missing) => missing.server === server),
    );
    return shown.length === 0
      ? this.#heads[kind]
      : listHead(kind, this.#up(), [...this.#missing[kind], ...shown], this.#leftOutOf(kind));
  }

  /**
   * @param now milliseconds since 1970.
   * @param reading as for `head`.
   */
  freshness(kind: ListKind, now: number, reading: readonly MissingServer[] = []): Freshness {
    const isForAll =
      this.definition.isForKnown !== true &&
      this.dependsOnCaller !== 'owner' &&
      this.records.every(({ offers = [] }) => offers.every(({ lists }) => lists[kind] === undefined));
    return this.#missing[kind].length > 0 || reading.length > 0 ? notFresh : freshness(kind, this.#up(), isForAll, now);
  }

  /** A digest of each list, the same in every process. */
  get versions(): Readonly<Record<ListKind, string>> {
    return this.#short === undefined ? this.lists.versions : { ...this.lists.versions, tools: this.#short.version };
  }

  /** Invalid entries, for operators; the first hundred. */
  get problems(): readonly ViewProblem[] {
    return this.#problems;
  }

  /** The page for a client of 2026-07-28, the first without `head`. */
  modernList(kind: ListKind, cursor: string | undefined): string | undefined {
    return kind === 'tools' && this.#short !== undefined
      ? this.#short.modernPage(cursor)
      : this.lists.modernPage(kind, cursor);
  }

  /** The server's definition of a tool, by its public name. */
  tool(publicName: string): JsonObject | undefined {
    return this.#tools.get(publicName)?.entry;
  }

  /** The extensions of the endpoint's servers with their settings; of what two servers say of one, that of the earlier. */
  get extensions(): Readonly<Record<string, JsonObject>> {
    return Object.assign(
      {},
      ...this.records.toReversed().map(({ capabilities }) => extensionsOf(capabilities)),
    ) as Readonly<Record<string, JsonObject>>;
  }

  /** Servers that have an extension, in the endpoint's order. */
  serversWithExtension(name: string): readonly ServerName[] {
    return this.records
      .filter(({ capabilities }) => Object.hasOwn(extensionsOf(capabilities), name))
      .map(({ server }) => server);
  }

  /**
   * Tools that a page may mean by its server's own name for a tool: a page does not know the names of this endpoint. Only servers with pages are searched,
   * and tools that the caller sees and that are not kept from pages.
   */
  pageTools(ownName: string): readonly (Route & { readonly publicName: string })[] {
    this.#pageTools ??= pageTools(this.#tools);
    return this.#pageTools.get(ownName) ?? [];
  }

  toolRoute(publicName: string): Route | undefined {
    return this.#tools.get(publicName);
  }

  /** The server that a tool, prompt or resource would belong to, if the lists of that server are not known. @param publicName of a tool or prompt. */
  missingOwner(kind: ListKind, publicName?: string): MissingServer | undefined {
    const owner = ownerByName(this.definition, kind, publicName);
    return this.#missing[kind].find(({ server }) => server === owner);
  }

  /** Servers with unknown entries of a list. */
  missing(kind: ListKind): readonly MissingServer[] {
    return this.#missing[kind];
  }

  /** Whether a server of the endpoint has a capability, according to its last record. `tools` is always offered, since there may be some at any time. */
  offers(capability: Capability): boolean {
    switch (capability) {
      case 'tools':
        return true;
      case 'completions':
        return this.records.some(({ server }) => this.canComplete(server));
      case 'resources.subscribe':
        return this.records.some(
          ({ capabilities: { resources } }) => isObject(resources) && resources['subscribe'] === true,
        );
      // Stored results are resources.
      case 'resources':
        return this.definition.results !== undefined || this.serversWith(capability).length > 0;
      case 'prompts':
      case 'logging':
        return this.serversWith(capability).length > 0;
    }
  }

  promptRoute(publicName: string): Route | undefined {
    return this.#prompts.get(publicName);
  }

  /** The server and its own URI for a URI of a client, as far as the catalogue has it. */
  resourceRoute(uri: string): Route | undefined {
    const alias = parseAlias(uri);
    if (
      alias !== undefined &&
      this.definition.servers.includes(alias.server as ServerName) &&
      this.mayHave(alias.server as ServerName, alias.uri)
    ) {
      return { server: alias.server as ServerName, original: alias.uri };
    }
    const server = this.resources.ownerOf(uri);
    return server === undefined ? undefined : { server, original: uri };
  }

  record(server: ServerName): CatalogRecord | undefined {
    return this.#byServer.get(server);
  }

  /** Servers with a capability, in the endpoint's order. */
  serversWith(capability: string): readonly ServerName[] {
    return this.records.filter(({ capabilities }) => capability in capabilities).map(({ server }) => server);
  }

  canComplete(server: ServerName): boolean {
    const record = this.record(server);
    if (record === undefined) return false;
    const { capabilities, revision } = record;
    return (
      'completions' in capabilities ||
      (revision !== undefined &&
        !featuresOf(revision).completionCapability &&
        ('prompts' in capabilities || 'resources' in capabilities))
    );
  }

  /** Servers that support calls as tasks, in the endpoint's order. */
  taskServers(): readonly ServerName[] {
    return this.records.filter(({ capabilities }) => servesTasks(capabilities)).map(({ server }) => server);
  }

  /** Whether calls at the endpoint run as tasks: those of a server, or scripts (`listing: code`). */
  get runsTasks(): boolean {
    return this.definition.listing?.mode === 'code' || this.taskServers().length > 0;
  }

  /** The instructions of the servers, each under its name, and the servers that cannot be used now. */
  instructions(): string | undefined {
    return instructionsOf(this.definition.servers, (server) => this.record(server));
  }

  /** The changed lists to announce to a client of the older view: those that differ, and those that a server has announced. */
  changesSince(older: View): ChangeKind[] {
    return changeKinds.filter((kind) => {
      const kinds: readonly ListKind[] = kind === 'resources' ? ['resources', 'resourceTemplates'] : [kind];
      // What a list does not show is found as it is now, so a client need not hear of it.
      const isQuiet = kind === 'tools' && this.isShort;
      return (
        kinds.some((each) => this.versions[each] !== older.versions[each]) || (!isQuiet && this.#announced(older, kind))
      );
    });
  }

  #announced(older: View, kind: ChangeKind): boolean {
    return this.records.some((record) => {
      const before = older.record(record.server);
      return before !== undefined && before.announcements[kind] < record.announcements[kind];
    });
  }

  /** The public name of a server's tool; undefined for one that the caller does not see. */
  nameOf(server: string, original: string): string | undefined {
    for (const [name, tool] of this.#tools) if (tool.original === original && tool.server === server) return name;
    return undefined;
  }

  /** Whether the caller sees a composite tool. */
  hasComposite(name: string): boolean {
    return this.#short?.composites.has(name) === true;
  }

  /** Whether the list of tools shows a part of them, behind tools by which the others are found. */
  get isShort(): boolean {
    return this.#short?.isShort === true;
  }

  /**
   * All tools that the caller sees, also those of servers that are down, and those that are held back, of which only the name is known.
   * @param how the measures that change their definitions; default: those of the endpoint.
   */
  everyTool(how: Pick<EndpointDefinition, 'listing' | 'results'> = this.definition): readonly OfferedTool[] {
    return [...this.#tools].map(([name, tool]) => offeredTool(how, tool, name));
  }

  /** The composite tools that the caller sees. */
  compositeTools(): readonly OfferedTool[] {
    return offeredComposites(this.definition.composites, this.#short?.composites);
  }

  /** The tools that a search finds: composite tools, and all others but those that are steps of composite tools which hide them. */
  searchedTools(): readonly OfferedTool[] {
    return searchedWith(this.compositeTools(), this.everyTool(), this.#short?.inside);
  }

  #contents(): Contents {
    return {
      tools: this.#tools,
      prompts: this.#prompts,
      resources: this.resources,
      up: this.#up(),
      shown: (tool, name, isModern) => shownTool(this.definition, tool, name, isModern),
    };
  }

  #shortTools(): ShortTools | undefined {
    return ShortTools.of(this.lists, this.definition, this.taskServers().length > 0);
  }

  /** Tools or prompts of servers that are up, which the caller may see and clients would refuse the list over. */
  #leftOutOf(kind: ListKind): readonly LeftOut[] {
    if (kind !== 'tools' && kind !== 'prompts') return [];
    return [...(kind === 'tools' ? this.#tools : this.#prompts)]
      .flatMap(([name, { server, unfit }]) =>
        unfit === undefined || this.record(server)?.status !== 'up' ? [] : [{ name, server, problem: unfit }],
      )
      .slice(0, maxLeftOut);
  }

  #up(): CatalogRecord[] {
    return this.records.filter(({ status }) => status === 'up'); // V2
  }

  /** The record as a list of one, if it is valid; empty otherwise. It comes over the bus, perhaps from another version. */
  #sound(server: ServerName, record: CatalogRecord | undefined): CatalogRecord[] {
    if (record === undefined) return [];
    if (isSoundRecord(record)) return [record];
    this.#leaveOut(server, 'its record in the catalogue is not one');
    return [];
  }

  #leaveOut(server: ServerName, problem: string): void {
    if (
      this.#problems.length < maxProblems &&
      !this.#problems.some((each) => each.server === server && each.problem === problem)
    )
      this.#problems.push({ server, problem });
  }
}

function pageTools(
  tools: ReadonlyMap<string, Named>,
): ReadonlyMap<string, (Named & { readonly publicName: string })[]> {
  const withPages = new Set([...tools.values()].filter(({ hasPage }) => hasPage === true).map(({ server }) => server));
  return Map.groupBy(
    [...tools]
      .map(([publicName, tool]) => ({ ...tool, publicName }))
      .filter(({ server, entry }) => withPages.has(server) && isForPages(entry)),
    ({ original }) => original,
  );
}

const only = (names: ReadonlyMap<string, Named>, isShown: (named: Named) => boolean): ReadonlyMap<string, Named> =>
  new Map([...names].filter(([, named]) => isShown(named)));

/** The resources, pages of tools and templates of all servers. */
function resourcesOf(records: readonly CatalogRecord[]): ResourceIndex {
  return new ResourceIndex(
    records.flatMap(({ server, lists }) =>
      [...lists.resources.map(({ uri }) => uri), ...lists.tools.flatMap(pageUris)].map((uri) => ({ server, uri })),
    ),
    records.flatMap(({ server, lists }) => lists.resourceTemplates.map(({ uriTemplate }) => ({ server, uriTemplate }))),
  );
}
