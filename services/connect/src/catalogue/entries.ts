/** The entries of the gateway's own catalogue. */
import { enabledServers, hasEndpoint, serversFor, type Config } from '@omnibus/config';
import { version, type JsonObject } from '@omnibus/protocol';

export interface Found {
  /** With the host of the gateway, in the order of reverse DNS. */
  readonly name: string;
  readonly endpoint: string;
  /** The address of the endpoint. */
  readonly url: string;
  /** Its `server.json`. */
  readonly server: JsonObject;
}

const schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

/** The endpoints of servers and profiles that a caller may use, by name. */
export function entriesOf(
  config: Config,
  tenant: string | undefined,
  sees: (server: string) => boolean,
  base: string,
): readonly Found[] {
  const servers = serversFor(config, tenant).filter(sees);
  const profiles = Object.entries(config.profiles).flatMap(([name, profile]) => {
    const own = profile.servers ?? [...enabledServers(config).keys()];
    return hasEndpoint(config, name, tenant) && own.some((each) => servers.includes(each)) ? [name] : [];
  });
  const origin = base.replace(/\/$/, '');
  const space = new URL(base).hostname
    .replaceAll(/[[\]:]/g, '-')
    .split('.')
    .toReversed()
    .join('.');
  const found = [
    ...servers.map((name) => [name, 'MCP server'] as const),
    ...profiles.map((name) => [name, 'Selection of MCP servers'] as const),
  ].map(([endpoint, what]) => {
    const name = `${space}/${endpoint}`;
    const url = `${origin}/mcp/${endpoint}`;
    return {
      name,
      endpoint,
      url,
      server: {
        $schema: schema,
        name,
        title: endpoint,
        description: `${what} behind an MCP gateway`,
        version,
        remotes: [{ type: 'streamable-http', url, ...authorizationOf(config) }],
      },
    };
  });
  return found.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** The header that callers need; none where a client finds out by itself how its user signs in. */
function authorizationOf({ auth }: Config): JsonObject {
  const needsKey = auth !== undefined && auth !== 'none' && auth.server === undefined && auth.issuers.length === 0;
  return needsKey
    ? {
        headers: [
          {
            name: 'Authorization',
            value: 'Bearer {key}',
            isRequired: true,
            variables: { key: { description: 'API key of the gateway', isRequired: true, isSecret: true } },
          },
        ],
      }
    : {};
}
