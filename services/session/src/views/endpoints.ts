/** The endpoints a configuration makes: `/mcp` for all servers, `/mcp/<server>` for one, `/mcp/<profile>` for a selection. */
import type { EndpointDefinition } from '@omnibus/catalog';
import { enabledServers, type Config } from '@omnibus/config';
import { parseEndpointName, parseServerName, rootEndpoint, type EndpointName, type JsonObject } from '@omnibus/protocol';

export function endpointDefinitions(config: Config): ReadonlyMap<EndpointName, EndpointDefinition> {
  const all = [...enabledServers(config).keys()].map(parseServerName);
  const { pageSize, prefix } = config;
  const common = { pageSize, isForKnown: config.auth !== undefined && config.auth !== 'none' };
  const plain = { rename: new Map<string, string>(), pin: new Map<string, JsonObject>(), ...common };
  const definitions = new Map<EndpointName, EndpointDefinition>([[rootEndpoint, { endpoint: rootEndpoint, servers: all, prefix, ...plain }]]);
  for (const server of all) {
    const endpoint = parseEndpointName(server);
    definitions.set(endpoint, { endpoint, servers: [server], prefix: 'never', ...plain });
  }
  for (const [name, profile] of Object.entries(config.profiles)) {
    const endpoint = parseEndpointName(name);
    definitions.set(endpoint, {
      endpoint,
      servers: profile.servers === undefined ? all : profile.servers.map(parseServerName).filter((server) => all.includes(server)),
      prefix: profile.prefix ?? prefix,
      ...(profile.tools === undefined ? {} : { tools: profile.tools }),
      rename: new Map(Object.entries(profile.rename)),
      pin: new Map(Object.entries(profile.pin)),
      ...common,
    });
  }
  return definitions;
}
