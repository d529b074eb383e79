/** The endpoints there are, as far as an edge can know: a path that nobody serves is refused before anything else is asked of its client. */
import { enabledServers, hasEndpoint, hasTenants, type Config } from '@omnibus/config';

export class Endpoints {
  /** Only an edge by itself: servers are looked for by the other roles, so here no name is known not to be one. */
  readonly #areElsewhere: boolean;
  readonly #mustBeKnown: boolean;
  #config: Config;
  #names: ReadonlySet<string> = new Set();
  #areForSome = false;

  /** @param isShared other processes serve what clients ask for. */
  constructor(config: Config, isShared: boolean) {
    this.#areElsewhere = isShared && config.discovery.kubernetes.enabled;
    this.#mustBeKnown = config.auth !== undefined && config.auth !== 'none';
    this.#config = config;
    this.apply(config);
  }

  apply(config: Config): void {
    this.#config = config;
    this.#areForSome = hasTenants(config);
    this.#names = new Set(['', ...enabledServers(config).keys(), ...Object.keys(config.profiles)]);
  }

  /**
   * Whether a name may be one, for a client of which nothing is known yet. Where some are for callers of some tenants, strangers learn of none.
   * @param name of a server or profile; empty for all servers.
   */
  has(name: string): boolean {
    return this.#areElsewhere || this.#names.has(name) || (this.#areForSome && this.#mustBeKnown);
  }

  /** Whether there is such an endpoint for a caller. @param tenant that it is proven to be of. */
  isFor(name: string, tenant: string | undefined): boolean {
    if (!this.#areForSome) return true;
    return hasEndpoint(this.#config, name, tenant) || (this.#areElsewhere && !this.#names.has(name));
  }
}
