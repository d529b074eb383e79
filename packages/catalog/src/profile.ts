/** What an endpoint shows: which servers, which of their tools, under which names. */
import type { EndpointName, JsonObject, ServerName } from '@omnibus/protocol';
import { compileGlob } from './glob.ts';

type PrefixMode = 'auto' | 'always' | 'never';

export interface EndpointDefinition {
  readonly endpoint: EndpointName;
  /** In the order of the lists. */
  readonly servers: readonly ServerName[];
  readonly prefix: PrefixMode;
  /** Globs over `server/tool`; one that begins with "!" takes away. Undefined: all tools. */
  readonly tools?: readonly string[];
  /** New public names by `server/tool`. */
  readonly rename: ReadonlyMap<string, string>;
  /** Fixed argument values by `server/tool`. */
  readonly pin: ReadonlyMap<string, JsonObject>;
  readonly pageSize: number;
}

/** Names carry their server's when the endpoint has several servers, whether or not all of them are up: lists stay stable. */
export function isPrefixed({ prefix, servers }: EndpointDefinition): boolean {
  return prefix === 'always' || (prefix === 'auto' && servers.length > 1);
}

/** The test for `server/tool` that an endpoint's globs make. */
export function toolFilter(globs: readonly string[] | undefined): (key: string) => boolean {
  if (globs === undefined) return () => true;
  const isGiven = globs.filter((glob) => !glob.startsWith('!')).map((glob) => compileGlob(glob));
  const isTaken = globs.filter((glob) => glob.startsWith('!')).map((glob) => compileGlob(glob.slice(1)));
  return (key) => (isGiven.length === 0 || isGiven.some((matches) => matches(key))) && !isTaken.some((matches) => matches(key));
}
