/** What an endpoint shows: which servers, which of their tools, under which names. */
import { compileGlob, type EndpointName, type JsonObject, type ListKind, type ServerName } from '@omnibus/protocol';
import { separator } from './names.ts';

type PrefixMode = 'auto' | 'always' | 'never';

export interface EndpointDefinition {
  readonly endpoint: EndpointName;
  /** Servers, in the order in which their entries stand in lists. */
  readonly servers: readonly ServerName[];
  readonly prefix: PrefixMode;
  /** Globs over `server/tool`; one that begins with "!" takes away. Undefined: all tools. */
  readonly tools?: readonly string[];
  /** New public names by `server/tool`. */
  readonly rename: ReadonlyMap<string, string>;
  /** Fixed argument values by `server/tool`. */
  readonly pin: ReadonlyMap<string, JsonObject>;
  readonly pageSize: number;
  /** Only callers that are known come in: what is said there is not for everybody. */
  readonly isForKnown?: boolean;
}

/** Names carry their server's when the endpoint has several servers, whether or not all of them are up: lists stay stable. */
export function isPrefixed({ prefix, servers }: EndpointDefinition): boolean {
  return prefix === 'always' || (prefix === 'auto' && servers.length > 1);
}

/**
 * The server whose tool or prompt a public name would be, by the configuration alone: the one whose name stands in front, the one of
 * which an operator gave a tool that name, or the only one. Undefined where nothing tells, and for a tool the endpoint does not show.
 * @param publicName of a tool or prompt; undefined for a resource, whose address tells nothing.
 */
export function ownerByName({ servers, rename, tools }: EndpointDefinition, kind: ListKind, publicName: string | undefined): ServerName | undefined {
  const only = servers.length === 1 ? servers[0] : undefined;
  if (publicName === undefined) return only;
  const renamed = kind === 'tools' ? [...rename].find(([key, name]) => name === publicName && servers.some((server) => key.startsWith(`${server}/`)))?.[0] : undefined;
  const named = servers.filter((server) => publicName.startsWith(`${server}${separator}`)).toSorted((one, other) => other.length - one.length)[0];
  const key = renamed ?? (named === undefined ? `${only}/${publicName}` : `${named}/${publicName.slice(named.length + separator.length)}`);
  if (kind === 'tools' && !toolFilter(tools)(key)) return undefined;
  return renamed === undefined ? (named ?? only) : (renamed.split('/', 1)[0] as ServerName);
}

/** The test for `server/tool` that an endpoint's globs make. */
export function toolFilter(globs: readonly string[] | undefined): (key: string) => boolean {
  if (globs === undefined) return () => true;
  const isGiven = globs.filter((glob) => !glob.startsWith('!')).map((glob) => compileGlob(glob));
  const isTaken = globs.filter((glob) => glob.startsWith('!')).map((glob) => compileGlob(glob.slice(1)));
  return (key) => (isGiven.length === 0 || isGiven.some((matches) => matches(key))) && !isTaken.some((matches) => matches(key));
}
