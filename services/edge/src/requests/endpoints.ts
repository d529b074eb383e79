/** The endpoints there are, as far as an edge can know: a path that nobody serves is refused before anything else is asked of its client. */
import { enabledServers, type Config } from '@omnibus/config';

export class Endpoints {
  /** Only an edge by itself: servers are looked for by the other roles, so here no name is known not to be one. */
  readonly #areElsewhere: boolean;
  #names: ReadonlySet<string> = new Set();

  /** @param isShared other processes serve what clients ask for. */
  constructor(config: Config, isShared: boolean) {
    this.#areElsewhere = isShared && config.discovery.kubernetes.enabled;
    this.apply(config);
  }

  apply(config: Config): void {
    this.#names = new Set(['', ...enabledServers(config).keys(), ...Object.keys(config.profiles)]);
  }

  /** @param name of a server or profile; empty for all servers. */
  has(name: string): boolean {
    return this.#areElsewhere || this.#names.has(name);
  }
}
