/**
 * What one endpoint offers, computed once from the catalogue and answered from memory: the pages of each list are JSON
 * already. A view never changes; a change of the catalogue makes a new one.
 *
 * Invariants
 *  V1  The same records and definition give the same bytes, in every process and whatever order servers connected in.
 *  V2  Lists show only servers that are up; routes also know the tools of servers that are down.
 *  V3  `route(publicName)` and the list agree: each listed name leads to exactly one server and original name.
 *  V4  What of one server cannot be shown is left out, with a reason in `problems`; it takes nothing else with it.
 *  V5  What somebody may not see is not in his view, and changes no name in it: his view is everybody's with less in it.
 */
import { changeKinds, featuresOf, isObject, servesTasks, type CatalogRecord, type ChangeKind, type Declared, type JsonObject, type ListKind, type ServerName } from '@omnibus/protocol';
import { isSoundRecord } from './entry.ts';
import { offerFor, offeredTo } from './offers.ts';
import { instructionsOf } from './instructions.ts';
import { freshness, listHead, missingServers, notFresh, type Freshness, type MissingServer } from './list-head.ts';
import { withMembers, type KeptPages } from './list-pages.ts';
import { namedPrompts, namedTools } from './named.ts';
import { isPrefixed, ownerByName, type EndpointDefinition } from './profile.ts';
import { isInSight, type Sight } from './sight.ts';
import type { Named, Route } from './tools.ts';
import { parseAlias, ResourceIndex } from './uris.ts';
import { eachKind, mapLists, ViewLists } from './view-lists.ts';

/** What a server may have, as clients are told of it. */
export type Capability = 'tools' | 'prompts' | 'resources' | 'resources.subscribe' | 'logging' | 'completions';

/** What a server's entries kept out of the lists. */
export interface ViewProblem {
  readonly server: ServerName;
  readonly problem: string;
}

/** A view with less in it than another. */
type Narrowed = Readonly<{ base: View; sight: Sight }>;

const maxProblems = 100;

export class View {
  readonly definition: EndpointDefinition;
  /** Names carry their server's. */
  readonly isPrefixed: boolean;
  /** Of the endpoint's servers, in its order; a server that never published is missing. */
  readonly records: readonly CatalogRecord[];
  readonly #byServer: ReadonlyMap<ServerName, CatalogRecord>;
  readonly #tools: ReadonlyMap<string, Named>;
  readonly #prompts: ReadonlyMap<string, Named>;
  readonly resources: ResourceIndex;
  readonly lists: ViewLists;
  /** Members of each list's first page besides its entries. */
  readonly #heads: Record<ListKind, JsonObject>;
  readonly #missing: Record<ListKind, readonly MissingServer[]>;
  /** What is seen of everybody's view, by whom; undefined for everybody's. */
  readonly #narrowed: Narrowed | undefined;
  readonly #problems: ViewProblem[] = [];
  /** Whether some clients are offered something else than others: by what they declared, or also by who they are. */
  readonly dependsOnCaller: false | 'declared' | 'owner';

  /** @param narrowed is for `seenBy` alone. */
  constructor(definition: EndpointDefinition, catalog: ReadonlyMap<ServerName, CatalogRecord>, narrowed?: Narrowed) {
    this.#narrowed = narrowed;
    if (narrowed !== undefined) {
      const { base, sight } = narrowed;
      this.#tools = only(base.#tools, ({ server, original, entry }) => sight.sees('tool', server, original, entry));
      this.#prompts = only(base.#prompts, ({ server, original }) => sight.sees('prompt', server, original));
      this.resources = base.resources.seenBy((server, uri) => sight.sees('resource', server, uri));
      const shown = new Set([...this.#tools.values(), ...this.#prompts.values()].map(({ server }) => server));
      const servers = definition.servers.filter((server) => shown.has(server) || isInSight(sight, server, base.record(server)));
      this.definition = { ...definition, servers, isForKnown: true };
      this.records = base.records.filter(({ server }) => servers.includes(server));
      this.#byServer = new Map(this.records.map((record) => [record.server, record]));
      this.isPrefixed = base.isPrefixed;
      this.dependsOnCaller = base.dependsOnCaller;
      this.lists = base.lists.seenBy((kind, { server, original, publicName }) => {
        if (kind === 'tools' || kind === 'prompts') return (kind === 'tools' ? this.#tools : this.#prompts).has(publicName as string);
        return this.mayHave(server, original);
      });
      this.#missing = mapLists(base.#missing, (missing) => missing.filter(({ server }) => servers.includes(server)));
      this.#heads = mapLists(this.#missing, (missing, kind) => listHead(kind, this.#up(), missing));
      return;
    }
    this.definition = definition;
    this.records = definition.servers.flatMap((server) => this.#sound(server, catalog.get(server)));
    this.#byServer = new Map(this.records.map((record) => [record.server, record]));
    this.isPrefixed = isPrefixed(definition);
    const isOwned = this.records.some(({ owners }) => owners !== undefined);
    this.dependsOnCaller = isOwned ? 'owner' : this.records.some(({ offers = [] }) => offers.some(({ lists }) => Object.keys(lists).length > 0)) && 'declared';
    this.#tools = namedTools(definition, this.records);
    this.#prompts = namedPrompts(definition, this.records);
    this.resources = new ResourceIndex(
      this.records.flatMap(({ server, lists }) => lists.resources.map(({ uri }) => ({ server, uri }))),
      this.records.flatMap(({ server, lists }) => lists.resourceTemplates.map(({ uriTemplate }) => ({ server, uriTemplate }))),
    );
    this.lists = ViewLists.of({ tools: this.#tools, prompts: this.#prompts, resources: this.resources, up: this.#up() }, definition.pageSize, (server, problem) => this.#leaveOut(server, problem));
    this.#missing = mapLists(eachKind, (_kind, kind) => missingServers(kind, definition.servers, (server) => this.record(server)));
    this.#heads = mapLists(this.#missing, (missing, kind) => listHead(kind, this.#up(), missing));
  }

  /** The same with nothing in it that somebody may not see. Names stay what they are for everybody (V5). */
  seenBy(sight: Sight): View {
    return new View(this.definition, this.#byServer, { base: this, sight });
  }

  /** Whether somebody may see what a server has under a URI, if it has it: also one that no list has. */
  mayHave(server: ServerName, uri: string): boolean {
    return this.#narrowed === undefined || (this.definition.servers.includes(server) && this.#narrowed.sight.sees('resource', server, uri));
  }

  /** Whether somebody may see a task of a server. @param tool that it runs, by the server's own name; undefined or empty where nobody knows. */
  mayHaveTask(server: ServerName, tool: string | undefined): boolean {
    if (this.#narrowed === undefined) return true;
    const { sight } = this.#narrowed;
    return tool === undefined || tool === '' ? sight.mayEverythingOf(server) : sight.sees('tool', server, tool, this.toolOf(server, tool));
  }

  /** A tool as its server describes it, by the server's own name; also one that is not seen. */
  toolOf(server: ServerName, tool: string): JsonObject | undefined {
    return this.record(server)?.lists.tools.find(({ name }) => name === tool);
  }

  /** Whether anything at all may be asked of a server, also what nobody has a name for. */
  mayEverythingOf(server: ServerName): boolean {
    return this.#narrowed?.sight.mayEverythingOf(server) ?? true;
  }

  /** What others have under a public name that is not in this view. */
  hidden(kind: 'tool' | 'prompt', publicName: string): (Route & { readonly entry: JsonObject }) | undefined {
    if (this.#narrowed === undefined) return undefined;
    const { base } = this.#narrowed;
    const [all, seen] = kind === 'tool' ? [base.#tools, this.#tools] : [base.#prompts, this.#prompts];
    return seen.has(publicName) ? undefined : all.get(publicName);
  }

  /** From now on pages that are of this view alone are kept once they were asked for. @param pages counts their characters. */
  keepPages(pages: KeptPages): void {
    this.lists.keep(pages);
  }

  /** What is on such pages is made again whenever it is asked for. */
  dropPages(): void {
    this.lists.drop();
  }

  /** The view of clients that declared these capabilities, named by what differs in it; undefined where they are offered what everybody is. */
  differing(declared: Declared): { readonly name: string; readonly make: () => View } | undefined {
    const offers = this.records.flatMap((record) => {
      const offer = offerFor(record, declared);
      return offer === undefined || Object.keys(offer.lists).length === 0 ? [] : [`${record.server} ${offer.key}`];
    });
    if (offers.length === 0) return undefined;
    return { name: offers.join('\n'), make: () => new View(this.definition, new Map(this.records.map((record) => [record.server, offeredTo(record, declared)]))) };
  }

  /** The `result` of a list request as JSON, or undefined when the cursor is not one of this view (2025-11-25 pagination: -32602). */
  list(kind: ListKind, cursor: string | undefined): string | undefined {
    const page = this.lists.page(kind, cursor);
    return page === undefined || cursor !== undefined ? page : withMembers(page, this.#heads[kind]);
  }

  /** Members of a list's first page besides its entries. */
  head(kind: ListKind): JsonObject {
    return this.#heads[kind];
  }

  /** @param now milliseconds since 1970. */
  freshness(kind: ListKind, now: number): Freshness {
    const isForAll = this.definition.isForKnown !== true && this.dependsOnCaller !== 'owner' && this.records.every(({ offers = [] }) => offers.every(({ lists }) => lists[kind] === undefined));
    return this.#missing[kind].length > 0 ? notFresh : freshness(kind, this.#up(), isForAll, now);
  }

  /** A digest of each list, the same in every process. */
  get versions(): Readonly<Record<ListKind, string>> {
    return this.lists.versions;
  }

  /** What could not be shown, for whoever runs the gateway. The first hundred. */
  get problems(): readonly ViewProblem[] {
    return this.#problems;
  }

  /** The page for a client of 2026-07-28, the first without `head`. */
  modernList(kind: ListKind, cursor: string | undefined): string | undefined {
    return this.lists.modernPage(kind, cursor);
  }

  /** A tool as its server describes it. */
  tool(publicName: string): JsonObject | undefined {
    return this.#tools.get(publicName)?.entry;
  }

  /** Whether a server behind the endpoint has an extension. */
  offersExtension(name: string): boolean {
    return this.serversWithExtension(name).length > 0;
  }

  /** Servers that have an extension, in the endpoint's order. */
  serversWithExtension(name: string): readonly ServerName[] {
    return this.records.filter(({ capabilities }) => isObject(capabilities['extensions']) && name in capabilities['extensions']).map(({ server }) => server);
  }

  toolRoute(publicName: string): Route | undefined {
    return this.#tools.get(publicName);
  }

  /** The server that a tool, prompt or resource would be of, when its own are not known. @param publicName of a tool or prompt. */
  missingOwner(kind: ListKind, publicName?: string): MissingServer | undefined {
    const owner = ownerByName(this.definition, kind, publicName);
    return this.#missing[kind].find(({ server }) => server === owner);
  }

  /** Servers whose entries of a list are not known. */
  missing(kind: ListKind): readonly MissingServer[] {
    return this.#missing[kind];
  }

  /** Whether a server behind the endpoint has a capability, by what is known of it last. `tools` is offered always: there may be some at any time. */
  offers(capability: Capability): boolean {
    switch (capability) {
      case 'tools': return true;
      case 'completions': return this.records.some(({ server }) => this.canComplete(server));
      case 'resources.subscribe': return this.records.some(({ capabilities: { resources } }) => isObject(resources) && resources['subscribe'] === true);
      case 'prompts':
      case 'resources':
      case 'logging': return this.serversWith(capability).length > 0;
    }
  }

  promptRoute(publicName: string): Route | undefined {
    return this.#prompts.get(publicName);
  }

  /** The server and its own URI for one a client names, as far as the catalogue tells. */
  resourceRoute(uri: string): Route | undefined {
    const alias = parseAlias(uri);
    if (alias !== undefined && this.definition.servers.includes(alias.server as ServerName) && this.mayHave(alias.server as ServerName, alias.uri)) {
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
    return 'completions' in capabilities || (revision !== undefined && !featuresOf(revision).completionCapability && ('prompts' in capabilities || 'resources' in capabilities));
  }

  /** Servers that take calls as tasks, in the endpoint's order. */
  taskServers(): readonly ServerName[] {
    return this.records.filter(({ capabilities }) => servesTasks(capabilities)).map(({ server }) => server);
  }

  /** What the servers say about themselves, each under its name, and which of them cannot be used now. */
  instructions(): string | undefined {
    return instructionsOf(this.definition.servers, (server) => this.record(server));
  }

  /** The lists that a client of the older view must be told about: those that read differently, and those a server announced. */
  changesSince(older: View): ChangeKind[] {
    return changeKinds.filter((kind) => {
      const kinds: readonly ListKind[] = kind === 'resources' ? ['resources', 'resourceTemplates'] : [kind];
      return kinds.some((each) => this.versions[each] !== older.versions[each]) || this.#announced(older, kind);
    });
  }

  #announced(older: View, kind: ChangeKind): boolean {
    return this.records.some((record) => {
      const before = older.record(record.server);
      return before !== undefined && before.announcements[kind] < record.announcements[kind];
    });
  }

  #up(): CatalogRecord[] {
    return this.records.filter(({ status }) => status === 'up'); // V2
  }

  /** The record, if it is one: it comes over the bus, perhaps from another version. */
  #sound(server: ServerName, record: CatalogRecord | undefined): CatalogRecord[] {
    if (record === undefined) return [];
    if (isSoundRecord(record)) return [record];
    this.#leaveOut(server, 'its record in the catalogue is not one');
    return [];
  }

  #leaveOut(server: ServerName, problem: string): void {
    if (this.#problems.length < maxProblems && !this.#problems.some((each) => each.server === server && each.problem === problem)) this.#problems.push({ server, problem });
  }
}

const only = (names: ReadonlyMap<string, Named>, isShown: (named: Named) => boolean): ReadonlyMap<string, Named> => new Map([...names].filter(([, named]) => isShown(named)));
