/** The endpoints of a configuration, `/mcp` for all servers, `/mcp/<server>` for one and `/mcp/<profile>` for a selection, each as it is for callers of a given tenant. */
import { setLast } from '@omnibus/collections';
import type { CompositeTool, EndpointDefinition, OfferedTools } from '@omnibus/catalog';
import { hasEndpoint, serversFor, type Config } from '@omnibus/config';
import { parseServerName, type EndpointName, type JsonObject, type ServerName } from '@omnibus/protocol';
import { partsOf, type Place } from './place.ts';

/** Bound on cached definitions of places. The names of tenants come from issuers, so there may be any number of tenants without a server. */
const maxPlaces = 10_000;

export class Endpoints {
  readonly #config: Config;
  /** The place that was asked for first comes first. */
  readonly #known = new Map<Place, EndpointDefinition>();
  /** Definitions by their content, so that tenants that see the same servers share everything that is computed from a definition. */
  readonly #distinct = new Map<string, EndpointDefinition>();

  /** The selection of tools of each server that does not show all of them (`includeTools`, `excludeTools`). */
  readonly #offered: ReadonlyMap<ServerName, OfferedTools>;

  constructor(config: Config) {
    this.#config = config;
    this.#offered = new Map(
      Object.entries(config.mcpServers).flatMap(([name, { includeTools, excludeTools }]) =>
        includeTools === undefined && excludeTools.length === 0
          ? []
          : [[parseServerName(name), { only: includeTools, not: excludeTools }] as const],
      ),
    );
  }

  /** Finds the definition of a place. It is the same object for the whole life of the configuration, and for all places with the same servers. @returns undefined where there is no such endpoint. */
  get(place: Place): EndpointDefinition | undefined {
    const known = this.#known.get(place);
    if (known !== undefined) return known;
    const { endpoint, tenant } = partsOf(place);
    if (!hasEndpoint(this.#config, endpoint, tenant)) return undefined;
    const servers = this.#serversOf(endpoint, serversFor(this.#config, tenant));
    const name = JSON.stringify([endpoint, ...servers]);
    const definition = this.#distinct.get(name) ?? this.#define(endpoint, servers);
    this.#distinct.set(name, definition);
    return setLast(this.#known, place, definition, maxPlaces);
  }

  #serversOf(endpoint: EndpointName, visible: readonly string[]): readonly ServerName[] {
    const { profiles } = this.#config;
    const selected = Object.hasOwn(profiles, endpoint)
      ? profiles[endpoint]?.servers
      : endpoint === ''
        ? undefined
        : [endpoint];
    return (selected?.filter((server) => visible.includes(server)) ?? visible).map(parseServerName);
  }

  /** Whether only the rights of callers restrict requests to a server: those are decided for each (`View.open`). */
  #isOpen(server: ServerName): boolean {
    const { mcpServers, guardrails, access, auth } = this.#config;
    const { definitions, validation, tools = {} } = mcpServers[server] ?? {};
    return (
      !this.#offered.has(server) &&
      definitions === 'off' &&
      // A shape that does not fit takes its tool off the list, and the server may read the name of the tool loosely.
      Object.values(tools).every(({ arguments: shapes }) => Object.keys(shapes).length === 0) &&
      validation !== 'enforce' &&
      guardrails.length === 0 &&
      access?.rules.some(({ redact }) => redact !== undefined) !== true &&
      (typeof auth !== 'object' || auth.stepUp.length === 0)
    );
  }

  #define(endpoint: EndpointName, servers: readonly ServerName[]): EndpointDefinition {
    const { pageSize, prefix, nameLength, auth, access, profiles, listing, results } = this.#config;
    const profile = Object.hasOwn(profiles, endpoint) ? profiles[endpoint] : undefined;
    const common = {
      listing: listingOf(profile?.listing ?? listing),
      results: resultsOf(profile?.results ?? results),
      composites: compositesOf(this.#config, profile?.composites),
      endpoint,
      servers,
      offered: this.#offered,
      pageSize,
      nameLength,
      isForKnown: (auth !== undefined && auth !== 'none') || access !== undefined,
    };
    const isOpen = servers.length === 1 && servers.every((server) => this.#isOpen(server));
    if (profile === undefined)
      return {
        ...common,
        isOpen,
        prefix: endpoint === '' ? prefix : 'never',
        rename: new Map<string, string>(),
        pin: new Map<string, JsonObject>(),
      };
    return {
      ...common,
      isOpen:
        isOpen &&
        profile.tools === undefined &&
        Object.keys(profile.pin).length === 0 &&
        Object.keys(profile.rename).length === 0,
      prefix: profile.prefix ?? prefix,
      ...(profile.tools === undefined ? {} : { tools: profile.tools }),
      rename: new Map(Object.entries(profile.rename)),
      pin: new Map(Object.entries(profile.pin)),
    };
  }
}

function listingOf({ slim, descriptions, ...how }: Config['listing']): NonNullable<EndpointDefinition['listing']> {
  return { ...how, isSlim: slim, descriptions: new Map(Object.entries(descriptions)) };
}

/** @returns undefined where there are none, so that lists stay as they are. */
function compositesOf(
  { composites }: Config,
  chosen: readonly string[] | undefined,
): readonly CompositeTool[] | undefined {
  const found = Object.entries(composites).flatMap(
    ([name, { title, description, inputSchema, annotations, steps, hideSteps }]) =>
      chosen?.includes(name) === false
        ? []
        : [
            {
              name,
              entry: {
                name,
                ...(title === undefined ? {} : { title }),
                description,
                inputSchema,
                ...(annotations === undefined ? {} : { annotations }),
              },
              needs: steps.map(({ call }) => call),
              hidesSteps: hideSteps,
            },
          ],
  );
  return found.length === 0 ? undefined : found;
}

function resultsOf(results: Config['results']): EndpointDefinition['results'] {
  if (results === 'off') return undefined;
  const { maxTokens, tools, clients, structured, keep, maxBytes, maxResults } = results;
  return {
    maxTokens,
    tools: Object.entries(tools).map(([glob, tokens]) => [glob, tokens === 'off' ? undefined : tokens]),
    clients: Object.entries(clients),
    keepsStructured: structured === 'whole',
    keepMs: keep,
    maxBytes,
    maxResults,
  };
}
