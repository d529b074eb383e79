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
import { hash } from 'node:crypto';
import {
  changeKinds, featuresOf, isObject, listKinds, servesTasks,
  type CatalogRecord, type ChangeKind, type JsonObject, type ListKind, type ServerName, type TaskSupport, type ToolEntry,
} from '@omnibus/protocol';
import { entryText, hasIdentities } from './entry.ts';
import { needsWrapping, wrapSchema } from './output-schema.ts';
import { publicNames, type NamedEntry } from './names.ts';
import { isPrefixed, toolFilter, type EndpointDefinition } from './profile.ts';
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
}

interface Page {
  readonly json: string;
}

/** An entry with its route. */
interface Named extends NamedEntry, Route {
  readonly server: ServerName;
  readonly entry: JsonObject;
  readonly isUp: boolean;
}

/** What a server's entries kept out of the lists. */
export interface ViewProblem {
  readonly server: ServerName;
  readonly problem: string;
}

const maxInstructionsLength = 16 * 1024;
/** A page ends with the entry that makes it longer than this, so that nobody is sent a hundred of the longest at once. */
const maxPageLength = 4 * 1024 * 1024;
const maxProblems = 100;
/** Cursors of ours are shorter; a longer one is not even looked at. */
const maxCursorLength = 100;

export class View {
  readonly definition: EndpointDefinition;
  /** Of the endpoint's servers, in its order; a server that never published is missing. */
  readonly records: readonly CatalogRecord[];
  /** Every server of the endpoint is up: nothing is missing from the lists. */
  readonly isWhole: boolean;
  readonly #tools: ReadonlyMap<string, Named>;
  readonly #prompts: ReadonlyMap<string, Named>;
  readonly resources: ResourceIndex;
  readonly #pages: Record<ListKind, readonly Page[]>;
  /** Made when the first client of 2026-07-28 asks. */
  #modernTools: readonly Page[] | undefined;
  readonly #problems: ViewProblem[] = [];
  /** A digest of each list, the same in every process. */
  readonly versions: Readonly<Record<ListKind, string>>;

  constructor(definition: EndpointDefinition, catalog: ReadonlyMap<ServerName, CatalogRecord>) {
    this.definition = definition;
    this.records = definition.servers.flatMap((server) => this.#sound(server, catalog.get(server)));
    this.isWhole = this.#up().length === definition.servers.length;
    const prefixed = isPrefixed(definition);
    const isShown = toolFilter(definition.tools);
    const named = (kind: 'tools' | 'prompts'): Named[] => this.records.flatMap((record) =>
      record.lists[kind].map((entry) => ({ server: record.server, original: entry.name, entry, isUp: record.status === 'up' })));
    // What a tool says of tasks counts for nothing when its server does not take any (2025-11-25 basic/utilities/tasks).
    const runningTasks = new Set(this.taskServers());
    const tools = named('tools').filter(({ server, original }) => isShown(`${server}/${original}`)).map((tool) => {
      const pinned = definition.pin.get(`${tool.server}/${tool.original}`);
      const withSupport = { ...tool, taskSupport: runningTasks.has(tool.server) ? taskSupportOf(tool.entry) : 'forbidden' as const, wrapsOutput: needsWrapping(tool.entry['outputSchema']), isRepeatable: isRepeatable(tool.entry) };
      return pinned === undefined ? withSupport : { ...withSupport, pinned };
    });
    this.#tools = publicNames(tools, prefixed, definition.rename);
    this.#prompts = publicNames(named('prompts'), prefixed, new Map());
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
    this.versions = mapLists(texts, (entries) => hash('sha256', entries.join('\n'), 'base64url').slice(0, 12));
    this.#pages = mapLists(texts, (entries, kind) => this.#paginate(kind, entries));
  }

  /** The `result` of a list request as JSON, or undefined when the cursor is not one of this view (2025-11-25 pagination: -32602). */
  list(kind: ListKind, cursor: string | undefined): string | undefined {
    return this.#page(kind, this.#pages[kind], cursor);
  }

  /** What could not be shown, for whoever runs the gateway. The first hundred. */
  get problems(): readonly ViewProblem[] {
    return this.#problems;
  }

  #page(kind: ListKind, pages: readonly Page[], cursor: string | undefined): string | undefined {
    if (cursor === undefined) return pages[0]?.json;
    if (cursor.length > maxCursorLength) return undefined;
    const [cursorKind, version, index] = cursor.split('.');
    if (cursorKind !== kind || version !== this.versions[kind] || !/^[1-9]\d*$/.test(index ?? '')) return undefined;
    return pages[Number(index)]?.json;
  }

  /** The same for a client of 2026-07-28. */
  modernList(kind: ListKind, cursor: string | undefined): string | undefined {
    if (kind !== 'tools') return this.list(kind, cursor);
    this.#modernTools ??= this.#paginate('tools', this.#listed(this.#tools, (tool, name) => publicTool(tool, name, true)));
    return this.#page('tools', this.#modernTools, cursor);
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

  /** The server that a tool of this name would be of, when its tools are not known because they could not be read yet. */
  unreadOwner(publicName: string): CatalogRecord | undefined {
    const isOnly = !isPrefixed(this.definition) && this.definition.servers.length === 1;
    return this.records.find(({ server, problem, lists }) => problem !== undefined && lists.tools.length === 0 && (isOnly || publicName.startsWith(`${server}__`)));
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
    return this.records.find((record) => record.server === server);
  }

  /** Servers with a capability, in the endpoint's order. */
  serversWith(capability: string): readonly ServerName[] {
    return this.records.filter(({ capabilities }) => capability in capabilities).map(({ server }) => server);
  }

  canComplete(server: ServerName): boolean {
    const record = this.record(server);
    return record !== undefined && ('completions' in record.capabilities || (record.revision !== undefined && !featuresOf(record.revision).completionCapability));
  }

  /** Servers that take calls as tasks, in the endpoint's order. */
  taskServers(): readonly ServerName[] {
    return this.records.filter(({ capabilities }) => servesTasks(capabilities)).map(({ server }) => server);
  }

  /** What the servers say about themselves, each under its name, and which of them cannot be used now. */
  instructions(): string | undefined {
    const parts = this.records.flatMap(({ server, status, problem, instructions }) => {
      if (status === 'down') return [`# ${server}\n\nThis server is not available now: ${problem ?? 'it is not connected'}`];
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

  #paginate(kind: ListKind, entries: readonly string[]): Page[] {
    const { pageSize } = this.definition;
    const pages: Page[] = [];
    for (let start = 0; start === 0 || start < entries.length;) {
      let end = start;
      for (let length = 0; end < entries.length && end - start < pageSize && length <= maxPageLength; end += 1) length += (entries[end] as string).length;
      const next = end < entries.length ? `,"nextCursor":${JSON.stringify(`${kind}.${this.versions[kind]}.${pages.length + 1}`)}` : '';
      pages.push({ json: `{"${kind}":[${entries.slice(start, end).join(',')}]${next}}` });
      start = Math.max(end, 1);
    }
    return pages;
  }
}

function publicTool({ entry, pinned, taskSupport, wrapsOutput }: Named, name: string, isModern: boolean): JsonObject {
  const { execution, ...plain } = entry as ToolEntry;
  const shown = wrapsOutput === true && !isModern ? { ...plain, outputSchema: wrapSchema(entry['outputSchema'] as JsonObject) } : plain;
  const tool = taskSupport === 'forbidden' || isModern ? shown : { ...shown, execution };
  return pinned === undefined ? { ...tool, name } : { ...tool, name, inputSchema: withoutArguments(tool['inputSchema'] as JsonObject, pinned) };
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
