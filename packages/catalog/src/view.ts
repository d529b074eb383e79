/**
 * What one endpoint offers, computed once from the catalogue and answered from memory: the pages of each list are JSON
 * already. A view never changes; a change of the catalogue makes a new one.
 *
 * Invariants
 *  V1  The same records and definition give the same bytes, in every process and whatever order servers connected in.
 *  V2  Lists show only servers that are up; routes also know the tools of servers that are down.
 *  V3  `route(publicName)` and the list agree: each listed name leads to exactly one server and original name.
 *  V4  What of one server cannot be shown is left out, with a reason in `problems`; it takes nothing else with it.
 */
import {
  changeKinds, featuresOf, isModernRevision, isObject, listKinds, servesTasks,
  type CatalogRecord, type ChangeKind, type Declared, type JsonObject, type ListKind, type ServerName, type TaskSupport, type ToolEntry,
} from '@omnibus/protocol';
import { entryText, hasIdentities } from './entry.ts';
import { offerFor, offeredTo } from './offers.ts';
import { needsWrapping, wrapSchema } from './output-schema.ts';
import { freshness, listHead, missingServers, notFresh, type Freshness, type MissingServer } from './list-head.ts';
import { ListPages, withMembers } from './list-pages.ts';
import { publicNames, type NamedEntry } from './names.ts';
import { isPrefixed, ownerByName, toolFilter, type EndpointDefinition } from './profile.ts';
import { parseAlias, ResourceIndex } from './uris.ts';

/** Where a public name leads. */
export interface Route {
  readonly server: ServerName;
  readonly original: string;
  /** Arguments the operator fixed; they replace the client's. */
  readonly pinned?: JsonObject;
  /** Of a tool: its server says that calling it again does no more than calling it once. */
  readonly isRepeatable?: boolean;
  /** Of a tool: clients of older revisions see its output inside an object. */
  readonly wrapsOutput?: boolean;
  /** Of a tool: whether it runs as a task. */
  readonly taskSupport?: TaskSupport;
  /** Its definition waits to be approved. */
  readonly isHeld?: boolean;
}

/** An entry with its route. */
interface Named extends NamedEntry, Route {
  readonly server: ServerName;
  readonly entry: JsonObject;
  readonly isUp: boolean;
  /** Its server is of 2026-07-28. */
  readonly isModern: boolean;
  /** Its server takes calls as tasks. */
  readonly runsTasks?: boolean;
}

/** Something that is not shown, and keeps its name. */
const heldEntry = (name: string): JsonObject & { readonly name: string } => ({ name, inputSchema: { type: 'object' } });

/** What a server may have, as clients are told of it. */
export type Capability = 'tools' | 'prompts' | 'resources' | 'resources.subscribe' | 'logging' | 'completions';

/** What a server's entries kept out of the lists. */
export interface ViewProblem {
  readonly server: ServerName;
  readonly problem: string;
}

const maxInstructionsLength = 16 * 1024;
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
  readonly #pages: Record<ListKind, ListPages>;
  /** Members of each list's first page besides its entries. */
  readonly #heads: Record<ListKind, JsonObject>;
  readonly #missing: Record<ListKind, readonly MissingServer[]>;
  /** Made when the first client of 2026-07-28 asks. */
  #modernTools: ListPages | undefined;
  readonly #problems: ViewProblem[] = [];
  /** Some clients are offered something else than others, by what they declared. */
  readonly dependsOnCaller: boolean;
  /** A digest of each list, the same in every process. */
  readonly versions: Readonly<Record<ListKind, string>>;

  constructor(definition: EndpointDefinition, catalog: ReadonlyMap<ServerName, CatalogRecord>) {
    this.definition = definition;
    this.records = definition.servers.flatMap((server) => this.#sound(server, catalog.get(server)));
    this.#byServer = new Map(this.records.map((record) => [record.server, record]));
    this.isPrefixed = isPrefixed(definition);
    this.dependsOnCaller = this.records.some(({ offers = [] }) => offers.some(({ lists }) => Object.keys(lists).length > 0));
    const isShown = toolFilter(definition.tools);
    const named = (kind: 'tools' | 'prompts'): Named[] => this.records.flatMap((record) => {
      const { server, held = [] } = record;
      const isModern = isModernRevision(record.revision);
      const listed = record.lists[kind].map((entry) => ({ server, original: entry.name, entry, isUp: record.status === 'up', isModern }));
      const names = new Set(listed.map(({ original }) => original));
      // Names depend on nothing that is held or not.
      const kept = held.filter((each) => each.kind === kind && !names.has(each.name)).map(({ name }) => ({ server, original: name, entry: heldEntry(name), isUp: false, isModern, isHeld: true }));
      return [...listed, ...kept];
    });
    // What a tool says of tasks counts for nothing when its server does not take any (2025-11-25 basic/utilities/tasks).
    const runningTasks = new Set(this.taskServers());
    const tools = named('tools').filter(({ server, original }) => isShown(`${server}/${original}`)).map((tool) => {
      const pinned = definition.pin.get(`${tool.server}/${tool.original}`);
      const withSupport = { ...tool, taskSupport: runningTasks.has(tool.server) ? taskSupportOf(tool.entry) : 'forbidden' as const, runsTasks: runningTasks.has(tool.server), wrapsOutput: needsWrapping(tool.entry['outputSchema']), isRepeatable: isRepeatable(tool.entry) };
      return pinned === undefined ? withSupport : { ...withSupport, pinned };
    });
    this.#tools = publicNames(tools, this.isPrefixed, definition.rename);
    this.#prompts = publicNames(named('prompts'), this.isPrefixed, new Map());
    this.resources = new ResourceIndex(
      this.records.flatMap(({ server, lists }) => lists.resources.map(({ uri }) => ({ server, uri }))),
      this.records.flatMap(({ server, lists }) => lists.resourceTemplates.map(({ uriTemplate }) => ({ server, uriTemplate }))),
    );
    const texts = {
      tools: this.#listed(this.#tools, (tool, name) => publicTool(tool, name, false)),
      prompts: this.#listed(this.#prompts, ({ entry }, name) => ({ ...entry, name })),
      resources: this.#up().flatMap(({ server, lists: { resources } }) => resources.flatMap((entry) => this.#text(server, () => ({ ...entry, uri: this.resources.publicUri(server, entry.uri) })))),
      resourceTemplates: this.#up().flatMap(({ server, lists: { resourceTemplates } }) => resourceTemplates.flatMap((entry) => this.#text(server, () => entry))),
    };
    this.#pages = mapLists(texts, (entries, kind) => new ListPages(kind, entries, definition.pageSize));
    this.versions = mapLists(this.#pages, ({ version }) => version);
    this.#missing = mapLists(texts, (_entries, kind) => missingServers(kind, definition.servers, (server) => this.record(server)));
    this.#heads = mapLists(this.#missing, (missing, kind) => listHead(kind, this.#up(), missing));
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
    const page = this.#pages[kind].page(cursor);
    return page === undefined || cursor !== undefined ? page : withMembers(page, this.#heads[kind]);
  }

  /** Members of a list's first page besides its entries. */
  head(kind: ListKind): JsonObject {
    return this.#heads[kind];
  }

  /** @param now milliseconds since 1970. */
  freshness(kind: ListKind, now: number): Freshness {
    const isForAll = this.definition.isForKnown !== true && this.records.every(({ offers = [] }) => offers.every(({ lists }) => lists[kind] === undefined));
    return this.#missing[kind].length > 0 ? notFresh : freshness(kind, this.#up(), isForAll, now);
  }

  /** What could not be shown, for whoever runs the gateway. The first hundred. */
  get problems(): readonly ViewProblem[] {
    return this.#problems;
  }

  /** The page for a client of 2026-07-28, the first without `head`. */
  modernList(kind: ListKind, cursor: string | undefined): string | undefined {
    if (kind !== 'tools') return this.#pages[kind].page(cursor);
    this.#modernTools ??= new ListPages('tools', this.#listed(this.#tools, (tool, name) => publicTool(tool, name, true)), this.definition.pageSize, this.versions.tools);
    return this.#modernTools.page(cursor);
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
    if (alias !== undefined && this.definition.servers.includes(alias.server as ServerName)) {
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
    const parts = this.definition.servers.flatMap((server) => {
      const { status, instructions, problem = 'it is not connected' } = this.record(server) ?? { problem: 'it has not been reached yet' };
      if (status !== 'up') return [`# ${server}\n\nThis server is not available now: ${problem}`];
      if (instructions === undefined || instructions === '') return [];
      return [this.definition.servers.length > 1 ? `# ${server}\n\n${instructions}` : instructions];
    });
    const share = Math.floor(maxInstructionsLength / parts.length);
    return parts.length === 0 ? undefined : parts.map((part) => part.slice(0, share)).join('\n\n');
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

  #listed(names: ReadonlyMap<string, Named>, show: (named: Named, publicName: string) => JsonObject): string[] {
    return [...names].filter(([, { isUp }]) => isUp).flatMap(([publicName, named]) => this.#text(named.server, () => show(named, publicName)));
  }

  /** An entry as a client sees it, or nothing (V4). */
  #text(server: ServerName, show: () => JsonObject): string[] {
    try {
      const text = entryText(show());
      if (typeof text === 'string') return [text];
      this.#leaveOut(server, text.problem);
    } catch (error) {
      this.#leaveOut(server, `an entry cannot be shown: ${(error as Error).message}`);
    }
    return [];
  }

  /** The record, if its shape is one: it comes over the bus, perhaps from another version. */
  #sound(server: ServerName, record: CatalogRecord | undefined): CatalogRecord[] {
    if (record === undefined) return [];
    const isSound = isObject(record.capabilities) && isObject(record.lists) && isObject(record.announcements) && listKinds.every((kind) => hasIdentities(kind, record.lists[kind]));
    if (!isSound) this.#leaveOut(server, 'its record in the catalogue is not one');
    return isSound ? [record] : [];
  }

  #leaveOut(server: ServerName, problem: string): void {
    if (this.#problems.length < maxProblems) this.#problems.push({ server, problem });
  }
}

function publicTool({ entry, pinned, wrapsOutput, runsTasks, isModern: isOfModern }: Named, name: string, isModern: boolean): JsonObject {
  const { execution, ...plain } = entry as ToolEntry;
  const shown = wrapsOutput === true && !isModern ? { ...plain, outputSchema: wrapSchema(entry['outputSchema'] as JsonObject) } : plain;
  // 2026-07-28 has none; what a server of that revision says there is carried as what it does not know is.
  const carried = isModern ? (isOfModern ? execution : undefined) : executionOf(execution, runsTasks === true);
  const tool = carried === undefined ? shown : { ...shown, execution: carried };
  return pinned === undefined ? { ...tool, name } : { ...tool, name, inputSchema: withoutArguments(tool['inputSchema'] as JsonObject, pinned) };
}

/** A client may take it that a tool runs as a task when any server of the endpoint takes tasks; that of one that takes none does not (2025-11-25 basic/utilities/tasks). */
function executionOf(execution: unknown, runsTasks: boolean): unknown {
  if (runsTasks || !isObject(execution) || (execution['taskSupport'] !== 'optional' && execution['taskSupport'] !== 'required')) return execution;
  const { taskSupport: _support, ...others } = execution;
  return Object.keys(others).length === 0 ? undefined : others;
}

function taskSupportOf({ execution }: JsonObject): TaskSupport {
  const support = isObject(execution) ? execution['taskSupport'] : undefined;
  return support === 'optional' || support === 'required' ? support : 'forbidden';
}

/** Hints of the server (2025-03-26 server/tools, Tool Annotations). */
function isRepeatable({ annotations }: JsonObject): boolean {
  return isObject(annotations) && (annotations['readOnlyHint'] === true || annotations['idempotentHint'] === true);
}

function withoutArguments(schema: JsonObject, pinned: JsonObject): JsonObject {
  const isFree = (name: string): boolean => !Object.hasOwn(pinned, name);
  const properties = Object.fromEntries(Object.entries(isObject(schema['properties']) ? schema['properties'] : {}).filter(([name]) => isFree(name)));
  const required = Array.isArray(schema['required']) ? { required: (schema['required'] as unknown[]).filter((name) => typeof name !== 'string' || isFree(name)) } : {};
  return { ...schema, properties, ...required };
}

function mapLists<From, To>(lists: Record<ListKind, From>, map: (list: From, kind: ListKind) => To): Record<ListKind, To> {
  return {
    tools: map(lists.tools, 'tools'),
    prompts: map(lists.prompts, 'prompts'),
    resources: map(lists.resources, 'resources'),
    resourceTemplates: map(lists.resourceTemplates, 'resourceTemplates'),
  };
}
