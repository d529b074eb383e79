/** Scopes that endpoints need beyond those of every token (`auth.stepUp`), as the configuration is now. */
import { hasEndpoint, serversFor, type Config } from '@omnibus/config';
import type { Facts } from '@omnibus/identity';
import { WantedScopes } from '@omnibus/policy';
import { fault, type EndpointName, type GatewayFault } from '@omnibus/protocol';
import type { EndpointScopes } from './resource-metadata.ts';

export class ScopesOfEndpoints implements EndpointScopes {
  readonly #scopes: WantedScopes;
  readonly #config: () => Config;

  /** @param config as it is now; a change of scopes themselves needs a restart. */
  constructor(config: () => Config) {
    this.#scopes = WantedScopes.of(config().auth);
    this.#config = config;
  }

  /** Why a caller may not use an endpoint that exists for it; any other is reported as unknown, and nothing else. */
  problemOf(facts: Facts, endpoint: EndpointName): GatewayFault | undefined {
    const requiredScopes =
      this.#scopes.isEmpty || this.#isOfOthers(endpoint, facts.tenant)
        ? undefined
        : this.#scopes.missing(facts, endpoint);
    return requiredScopes === undefined
      ? undefined
      : fault('auth.scope', `this endpoint needs a token with the scope ${requiredScopes.join(' ')}`, {
          requiredScopes,
        });
  }

  neededAt(endpoint: string): readonly string[] {
    return this.#scopes.atEndpoint(this.#isPublic(endpoint) ? endpoint : '');
  }

  supportedAt(endpoint: string): readonly string[] {
    const config = this.#config();
    const everybodys = serversFor(config, undefined);
    const isPublic = this.#isPublic(endpoint);
    const profile = Object.hasOwn(config.profiles, endpoint) ? config.profiles[endpoint] : undefined;
    const servers = !isPublic
      ? []
      : endpoint === ''
        ? everybodys
        : profile === undefined
          ? [endpoint]
          : (profile.servers ?? everybodys).filter((server) => everybodys.includes(server));
    // Only the author of the patterns knows the names of discovered servers.
    const mayBeElsewhere = config.discovery.kubernetes.enabled && endpoint === '';
    return this.#scopes.supportedAt(
      isPublic ? endpoint : '',
      (selector) =>
        servers.some((server) => selector.mayCover(server)) ||
        (mayBeElsewhere && (selector.server === undefined || !Object.hasOwn(config.mcpServers, selector.server))),
    );
  }

  /** Whether there is such an endpoint, for other tenants. One that is found elsewhere may be for all. */
  #isOfOthers(endpoint: string, tenant: string | undefined): boolean {
    const config = this.#config();
    return (
      (Object.hasOwn(config.profiles, endpoint) || Object.hasOwn(config.mcpServers, endpoint)) &&
      !hasEndpoint(config, endpoint, tenant)
    );
  }

  /** Whether an endpoint is for callers without a tenant too: others are not disclosed. */
  #isPublic(endpoint: string): boolean {
    return hasEndpoint(this.#config(), endpoint, undefined);
  }
}
