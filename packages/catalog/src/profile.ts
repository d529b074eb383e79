/** What an endpoint shows: which servers, which of their tools, under which names. */
import { compileGlob, type EndpointName, type JsonObject, type ListKind, type ServerName } from '@omnibus/protocol';
import type { CompositeTool } from './composites.ts';
import { separator } from './names.ts';
import type { ResultBounds } from './result-bounds.ts';

type PrefixMode = 'auto' | 'always' | 'never';

/** The visible tools of one server. */
export interface OfferedTools {
  /** Undefined: all. */
  readonly only: readonly string[] | undefined;
  readonly not: readonly string[];
}

/** How many of the servers' tools a list shows. */
export interface Listing {
  readonly mode: 'full' | 'search' | 'code';
  /** Globs over `server/tool`: those tools are shown first, and are the only ones of servers with `search` and `code`. */
  readonly show: readonly string[];
  readonly budget: { readonly tools?: number | undefined; readonly tokens?: number | undefined };
  /** Descriptions that replace those of servers, by `server/tool`. */
  readonly descriptions: ReadonlyMap<string, string>;
  /** Whether definitions lose characters that say nothing. */
  readonly isSlim: boolean;
}

/** Whether lists with such a definition may show a part only; then no tool of a server has the name of a finder. */
export function mayBeShort({ mode, budget }: Listing): boolean {
  return mode !== 'full' || budget.tools !== undefined || budget.tokens !== undefined;
}

export interface EndpointDefinition {
  readonly endpoint: EndpointName;
  /** Servers, in the order in which their entries stand in lists. */
  readonly servers: readonly ServerName[];
  readonly prefix: PrefixMode;
  /** Globs over `server/tool`; one that begins with "!" takes away. Undefined: all tools. */
  readonly tools?: readonly string[];
  /** Of servers that do not show all their tools, which: globs over names that the server gives them. */
  readonly offered?: ReadonlyMap<ServerName, OfferedTools>;
  /** New public names by `server/tool`. */
  readonly rename: ReadonlyMap<string, string>;
  /** Fixed argument values by `server/tool`. */
  readonly pin: ReadonlyMap<string, JsonObject>;
  readonly pageSize: number;
  /** Most characters of a name; default: 64. */
  readonly nameLength?: number;
  /** Only authenticated callers may use it: its contents are not public. */
  readonly isForKnown?: boolean;
  /** How many of the servers' tools its list shows; default: all. */
  readonly listing?: Listing;
  /** Its composite tools; default: none. */
  readonly composites?: readonly CompositeTool[] | undefined;
  /** Bounds on the results of its tools; default: none. */
  readonly results?: ResultBounds | undefined;
  /** Whether nothing in the configuration restricts by its name what a caller may ask of the only server. */
  readonly isOpen?: boolean;
}

/** Names carry their server's when the endpoint has several servers, whether or not all of them are up: lists stay stable. */
export function isPrefixed({ prefix, servers }: EndpointDefinition): boolean {
  return prefix === 'always' || (prefix === 'auto' && servers.length > 1);
}

/**
 * The server whose tool or prompt a public name would be, by the configuration alone: the one with its name in front, the one of
 * which an operator gave a tool that name, or the only one. Undefined where nothing tells, and for a tool the endpoint does not show.
 * @param publicName of a tool or prompt; undefined for a resource: its address names no server.
 */
export function ownerByName(
  definition: EndpointDefinition,
  kind: ListKind,
  publicName: string | undefined,
): ServerName | undefined {
  const { servers, rename } = definition;
  const only = servers.length === 1 ? servers[0] : undefined;
  if (publicName === undefined) return only;
  const renamed =
    kind === 'tools'
      ? [...rename].find(
          ([key, name]) => name === publicName && servers.some((server) => key.startsWith(`${server}/`)),
        )?.[0]
      : undefined;
  const named = servers
    .filter((server) => publicName.startsWith(`${server}${separator}`))
    .toSorted((one, other) => other.length - one.length)[0];
  const key =
    renamed ??
    (named === undefined ? `${only}/${publicName}` : `${named}/${publicName.slice(named.length + separator.length)}`);
  if (kind === 'tools' && !toolFilter(definition)(key)) return undefined;
  return renamed === undefined ? (named ?? only) : (renamed.split('/', 1)[0] as ServerName);
}

/** The test for `server/tool` that an endpoint's globs make, and those of its servers. */
export function toolFilter({
  tools,
  offered = new Map<ServerName, OfferedTools>(),
}: Pick<EndpointDefinition, 'tools' | 'offered'>): (key: string) => boolean {
  const isSelected = globTest(tools);
  if (offered.size === 0) return isSelected;
  const byServer = new Map<string, (tool: string) => boolean>(
    [...offered].map(([server, { only, not }]) => [
      server,
      globTest([...(only ?? []), ...not.map((glob) => `!${glob}`)], only !== undefined),
    ]),
  );
  return (key) => {
    const at = key.indexOf('/');
    const isOffered = byServer.get(key.slice(0, at));
    return (isOffered === undefined || isOffered(key.slice(at + 1))) && isSelected(key);
  };
}

/** @param isClosed whether a list that gives nothing gives nothing. */
export function globTest(globs: readonly string[] | undefined, isClosed = false): (text: string) => boolean {
  if (globs === undefined) return () => true;
  const isGiven = globs.filter((glob) => !glob.startsWith('!')).map((glob) => compileGlob(glob));
  const isTaken = globs.filter((glob) => glob.startsWith('!')).map((glob) => compileGlob(glob.slice(1)));
  return (text) =>
    ((isGiven.length === 0 && !isClosed) || isGiven.some((matches) => matches(text))) &&
    !isTaken.some((matches) => matches(text));
}
