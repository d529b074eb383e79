/**
 * Profiles as Kubernetes objects: an `McpProfile` in a team's own namespace is an endpoint `/mcp/NAMESPACE_NAME`. It selects among the servers of its
 * own namespace only: callers that may use an endpoint may use the servers behind it, and each team decides that for its own servers.
 */
import { loadConfig, type ProfileConfig } from '@omnibus/config';
import { isObject, isToken, type JsonObject } from '@omnibus/protocol';
import { serverNameOf } from './objects.ts';
import type { ServerObject } from './server-object.ts';

export type ReadProfile =
  /** `missing`: servers it names that are not there. */
  | { readonly profile: string; readonly config: ProfileConfig; readonly missing: readonly string[] }
  | { readonly profile: string; readonly problem: string };

/** @param servers names, as the gateway gives them, of the servers in its namespace. */
export function readProfile(object: ServerObject, servers: readonly string[]): ReadProfile {
  const profile = serverNameOf(object);
  if (!isToken(profile))
    return {
      profile,
      problem: `"${profile}" is no name for an endpoint: namespace and name together may have 63 characters`,
    };
  const { spec, namespace } = object;
  const full = (server: string): string => serverNameOf({ namespace, name: server });
  const named = Array.isArray(spec['servers']) ? spec['servers'].map(String) : undefined;
  const missing = (named ?? []).filter((server) => !servers.includes(full(server)));
  const known = new Set(servers);
  const keyed = (given: unknown): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(isObject(given) ? given : {})
        .map(([key, value]) => [inNamespace(key, full), value] as const)
        .filter(([key]) => known.has(key.split('/', 1)[0] as string)),
    );
  const globs = (given: readonly unknown[]): string[] => given.map((glob) => inNamespace(String(glob), full));
  const { description, prefix, tenants, tools, listing, results, flow } = spec;
  // A team may add protection to its endpoint, and not take away that of the gateway.
  if (flow !== undefined && flow !== 'guarded')
    return {
      profile,
      problem: 'spec.flow: expected "guarded"; leave it out for the `flow` of the gateway, which a team cannot weaken',
    };
  const given = {
    ...(description === undefined ? {} : { description }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(tenants === undefined ? {} : { tenants }),
    ...(flow === undefined ? {} : { flow }),
    servers: named?.filter((server) => !missing.includes(server)).map(full) ?? servers,
    ...(Array.isArray(tools) ? { tools: globs(tools) } : {}),
    ...(isObject(listing) ? { listing: listingOf(listing, globs, keyed) } : {}),
    ...(isObject(results) ? { results: resultsOf(results, full) } : {}),
    rename: keyed(spec['rename']),
    pin: keyed(spec['pin']),
  };
  const mcpServers = Object.fromEntries(servers.map((server) => [server, { url: 'http://server' }]));
  const result = loadConfig({
    file: profile,
    text: JSON.stringify({ mcpServers, profiles: { [profile]: given } }),
    env: {},
    readFile: () => '',
  });
  if ('problems' in result)
    return {
      profile,
      problem: result.problems
        .map(({ path, message }) => `${path.replace(`profiles.${profile}`, 'spec')}: ${message}`)
        .join('; '),
    };
  return { profile, config: result.config.profiles[profile] as ProfileConfig, missing };
}

/** The list of tools of an endpoint, whose globs and names of tools are about servers of the namespace too. */
function listingOf(
  { show, descriptions, ...rest }: JsonObject,
  globs: (given: readonly unknown[]) => string[],
  keyed: (given: unknown) => Record<string, unknown>,
): JsonObject {
  return {
    ...rest,
    ...(Array.isArray(show) ? { show: globs(show) } : {}),
    ...(descriptions === undefined ? {} : { descriptions: keyed(descriptions) }),
  };
}

/** Bounds on results, whose globs are about servers of the namespace. */
function resultsOf({ tools, ...rest }: JsonObject, full: (server: string) => string): JsonObject {
  if (!isObject(tools)) return rest;
  return {
    ...rest,
    tools: Object.fromEntries(Object.entries(tools).map(([glob, bound]) => [inNamespace(glob, full), bound])),
  };
}

/** Puts the namespace before the server of a selector: `wiki/get_*` becomes `docs_wiki/get_*`. A text without `/` stays as it is, and is refused later where one is required. */
function inNamespace(key: string, full: (server: string) => string): string {
  const [, not = '', server, rest] = /^(!?)([^/]*)(\/.*)$/.exec(key) ?? [];
  return server === undefined || rest === undefined ? key : `${not}${full(server)}${rest}`;
}
