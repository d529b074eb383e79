/** The endpoints, as far as an edge knows them: a path without an endpoint is refused before authentication. */
import { enabledServers, hasEndpoint, hasTenants, type Config } from '@omnibus/config';
import { isToken, rootEndpoint, type EndpointName } from '@omnibus/protocol';

export class Endpoints {
  /** Whether other roles discover servers in Kubernetes, so that this edge cannot rule out any name. */
  readonly #areElsewhere: boolean;
  readonly #mustBeKnown: boolean;
  #config: Config;
  #names: ReadonlySet<string> = new Set();
  /** The endpoints that there are, by their paths as nearly all clients write them; only `apply` writes it. */
  byPath: ReadonlyMap<string, EndpointName> = new Map();
  /** Whether some endpoints are for certain tenants only, so that `isFor` must be asked; only `apply` writes it. */
  areForSome = false;

  /** @param isShared whether other processes have the other roles. */
  constructor(config: Config, isShared: boolean) {
    this.#areElsewhere = isShared && config.discovery.kubernetes.enabled;
    this.#mustBeKnown = config.auth !== undefined && config.auth !== 'none';
    this.#config = config;
    this.apply(config);
  }

  apply(config: Config): void {
    this.#config = config;
    this.areForSome = hasTenants(config);
    this.#names = new Set(['', ...enabledServers(config).keys(), ...Object.keys(config.profiles)]);
    this.byPath = new Map(
      [...this.#names].map((name) => [name === '' ? '/mcp' : `/mcp/${name}`, name as EndpointName]),
    );
  }

  /**
   * Whether there may be an endpoint of a name, for a client that is not authenticated yet. If some are for certain tenants only, every name is accepted, so that
   * no client learns which exist.
   * @param name of a server or profile; empty for all servers.
   */
  has(name: string): boolean {
    return this.#areElsewhere || this.#names.has(name) || (this.areForSome && this.#mustBeKnown);
  }

  /** Whether there is such an endpoint for a caller. @param tenant of the authenticated caller. */
  isFor(name: string, tenant: string | undefined): boolean {
    if (!this.areForSome) return true;
    return hasEndpoint(this.#config, name, tenant) || (this.#areElsewhere && !this.#names.has(name));
  }
}

/** First parts of the paths at which clients come in. */
type Front = '/mcp' | '/sse' | '/messages' | '/ws';

/**
 * The endpoint of a path such as `/mcp` or `/mcp/<name>`; undefined for any other path. The path is read as it was sent, since a name has no characters that
 * are ever encoded. `Endpoints` knows whether one of that name exists.
 */
export function findEndpoint(url: string, front: Front = '/mcp'): EndpointName | undefined {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (path === front || path === `${front}/`) return rootEndpoint;
  if (!path.startsWith(`${front}/`)) return undefined;
  const name = path.slice(front.length + 1).replace(/\/$/, '');
  return isToken(name) ? (name as EndpointName) : undefined;
}
