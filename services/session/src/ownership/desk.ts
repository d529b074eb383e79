/** Information about a session worker, and operations on it, for operators. Nothing here is on the path of a call. */
import { setImmediate } from 'node:timers/promises';
import { tokenCosts, type TokenCosts, type View } from '@omnibus/catalog';
import { enabledServers, type Config } from '@omnibus/config';
import {
  isObject,
  listKinds,
  parseEndpointName,
  type EndpointName,
  type JsonObject,
  type ListKind,
  type WorkerId,
  type WorkerOfRole,
} from '@omnibus/protocol';
import type { Peers } from './peers.ts';
import type { SessionRow, Sessions } from './sessions.ts';

export interface DeskOptions {
  readonly worker: WorkerId;
  readonly config: () => Config;
  readonly sessions: () => Sessions;
  /** Clients without a session that asked something a short while ago. */
  readonly clients: () => readonly object[];
  readonly peers: Pick<Peers, 'others'>;
  /** Edges that are there or may be. */
  readonly edges: { readonly expected: readonly WorkerId[] };
  /** Backend workers that are there or may be, and by server the number of those that calls may go to. */
  readonly watch: { readonly expected: readonly WorkerId[]; readonly adapters: Readonly<Record<string, number>> };
  /** Calls that wait for approvers. */
  readonly waiting: () => number;
  readonly views: { readonly leftOut: readonly string[]; get(endpoint: EndpointName): View | undefined };
  /** The known lists for clients with these capabilities. Further servers get the request now. */
  readonly offered: (endpoint: EndpointName, capabilities: JsonObject) => View | undefined;
}

/** A search in the lists of one endpoint. */
export interface Looked {
  readonly endpoint: string;
  readonly q?: string | undefined;
  readonly kind?: string | undefined;
  readonly server?: string | undefined;
  readonly from: number;
  readonly limit: number;
}

interface Entry {
  readonly kind: (typeof kinds)[ListKind];
  readonly name: string;
  readonly ownName: string;
  readonly server: string;
  readonly renamed?: Renamed;
  /** Whether only clients are offered it that servers can ask something. */
  readonly isForAskable?: true;
  readonly text: string;
}
type Renamed = 'prefixed' | 'shortened' | 'configured' | 'cleaned' | 'alias';

const kinds = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'template',
} as const satisfies Record<ListKind, string>;

/** The capabilities of the console's view "Try", which the catalogue uses too: some servers list tools for such clients only. */
const askable: JsonObject = { elicitation: { form: {}, url: {} }, roots: {}, sampling: {} };

export class Desk {
  readonly worker: WorkerId;
  readonly #options: DeskOptions;

  constructor(options: DeskOptions) {
    this.worker = options.worker;
    this.#options = options;
  }

  /** Sessions by state. */
  counts(): Record<string, number> {
    return this.#options.sessions().counts();
  }

  /** How many calls it holds for approvers. */
  get waiting(): number {
    return this.#options.waiting();
  }

  /** The first sessions, and the clients without one. It shows only the beginning of each key, which gives no access. */
  list(): {
    readonly sessions: readonly SessionRow[];
    readonly total: number;
    readonly clients: readonly object[];
  } {
    return { ...this.#options.sessions().list(), clients: this.#options.clients() };
  }

  end(key: string): boolean {
    return this.#options.sessions().end(key);
  }

  /** Invalid entries of servers, as messages. */
  get leftOut(): readonly string[] {
    return this.#options.views.leftOut;
  }

  /** By server, the number of backend workers that calls of this worker's sessions may go to. */
  get adapters(): Readonly<Record<string, number>> {
    return this.#options.watch.adapters;
  }

  /** Workers of all roles with recent signs of life. */
  get known(): readonly WorkerOfRole[] {
    const { peers, edges, watch } = this.#options;
    const of = (role: string, workers: readonly WorkerId[]): WorkerOfRole[] =>
      workers.map((worker) => ({ worker, role }));
    return [...of('session', peers.others), ...of('edge', edges.expected), ...of('backend', watch.expected)];
  }

  /** The lists of an endpoint, under the public names; undefined when there is no such endpoint. */
  catalogue({ endpoint, q, kind, server, from, limit }: Looked): object | undefined {
    const both = this.#viewsOf(endpoint);
    if (both === undefined) return undefined;
    const { view, plain } = both;
    const wanted = q?.toLowerCase();
    const found = listKinds
      .flatMap((each) => entriesOf(view, each, plain))
      .filter(
        (entry) =>
          (kind === undefined || entry.kind === kind) &&
          (server === undefined || entry.server === server) &&
          (wanted === undefined || `${entry.name}\n${entry.ownName}\n${entry.text}`.toLowerCase().includes(wanted)),
      );
    const missing = new Map(listKinds.flatMap((each) => view.missing(each)).map((each) => [each.server, each.problem]));
    return {
      total: found.length,
      entries: found.slice(from, from + limit).map(shownEntry),
      ...(found.length > from + limit ? { next: String(from + limit) } : {}),
      problems: view.problems.map((each) => `${each.server}: ${each.problem}`),
      unreachable: [...missing].map(([name, problem]) => ({ server: name, problem })),
    };
  }

  /** The cost of an endpoint's tools for a model, by server or by tool of one; undefined when there is no such endpoint. */
  async tokens(endpoint: string, server: string | undefined): Promise<TokenCosts | undefined> {
    const both = this.#viewsOf(endpoint);
    return both === undefined ? undefined : tokenCosts(both.view, server, () => setImmediate());
  }

  /** The view for clients that answer questions, and that for others; undefined when there is no such endpoint. */
  #viewsOf(endpoint: string): { readonly view: View; readonly plain: View } | undefined {
    const { config, views, offered } = this.#options;
    const { mcpServers, profiles } = config();
    if (endpoint !== '' && !Object.hasOwn(mcpServers, endpoint) && !Object.hasOwn(profiles, endpoint)) return undefined;
    const at = endpoint === '' ? ('' as EndpointName) : parseEndpointName(endpoint);
    const plain = views.get(at);
    return plain === undefined ? undefined : { view: offered(at, askable) ?? plain, plain };
  }

  /** Names of the endpoints; that of the endpoint of all servers is empty. */
  get endpoints(): readonly string[] {
    const config = this.#options.config();
    return ['', ...enabledServers(config).keys(), ...Object.keys(config.profiles)];
  }
}

/** @param plain the lists for clients without questions. */
function entriesOf(view: View, kind: ListKind, plain: View): Entry[] {
  const common =
    view === plain
      ? undefined
      : new Set(plain.lists.entries(kind, false).map(({ server, original }) => `${server}/${original}`));
  return view.lists.entries(kind, false).map(({ server, original, publicName, text }) => {
    const name = publicName ?? (kind === 'resources' ? view.resources.publicUri(server, original) : original);
    const renamed = renamedOf(view, kind, name, `${server}/${original}`);
    return {
      kind: kinds[kind],
      name,
      ownName: original,
      server,
      ...(renamed === undefined ? {} : { renamed }),
      ...(common === undefined || common.has(`${server}/${original}`) ? {} : { isForAskable: true as const }),
      text,
    };
  });
}

/** @param own `server/name`. */
function renamedOf(view: View, kind: ListKind, name: string, own: string): Renamed | undefined {
  const original = own.slice(own.indexOf('/') + 1);
  if (name === original) return undefined;
  if (kind === 'resources') return 'alias';
  if (kind === 'tools' && view.definition.rename.get(own) === name) return 'configured';
  if (name === own.replace('/', '__')) return 'prefixed';
  return name.length >= 64 ? 'shortened' : 'cleaned';
}

function shownEntry({ text, ...entry }: Entry): object {
  const said = JSON.parse(text) as Record<string, unknown>;
  const texts = Object.fromEntries(
    (['title', 'description', 'mimeType'] as const).flatMap((member) =>
      typeof said[member] === 'string' ? [[member, said[member]]] : [],
    ),
  );
  const objects = Object.fromEntries(
    (['annotations', 'inputSchema', 'outputSchema'] as const).flatMap((member) =>
      isObject(said[member]) ? [[member, said[member]]] : [],
    ),
  );
  return {
    ...entry,
    ...texts,
    ...objects,
    ...(Array.isArray(said['arguments']) ? { arguments: said['arguments'] } : {}),
  };
}
