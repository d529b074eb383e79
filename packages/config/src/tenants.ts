/** Which servers and profiles exist for callers of a tenant. Those of another tenant do not exist for them, not even by name. */
import type { Config } from './schema.ts';
import { enabledServers } from './diff.ts';

/**
 * @param tenants of a server or profile; undefined: it is for all.
 * @param tenant of a caller; undefined: it has none.
 */
export function isForTenant(tenants: readonly string[] | undefined, tenant: string | undefined): boolean {
  return tenants === undefined || (tenant !== undefined && tenants.includes(tenant));
}

/** Whether anything is for callers of some tenants alone. */
export function hasTenants(config: Config): boolean {
  return [...Object.values(config.mcpServers), ...Object.values(config.profiles)].some(
    ({ tenants }) => tenants !== undefined,
  );
}

/** The enabled servers that callers of a tenant may see, in the order of the configuration. */
export function serversFor(config: Config, tenant: string | undefined): readonly string[] {
  return [...enabledServers(config)].filter(([, { tenants }]) => isForTenant(tenants, tenant)).map(([name]) => name);
}

/** Whether there is an endpoint of a name for callers of a tenant. @param name of a server or profile; empty for all servers. */
export function hasEndpoint(config: Config, name: string, tenant: string | undefined): boolean {
  if (name === '') return true;
  const profile = Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
  if (profile !== undefined) return isForTenant(profile.tenants, tenant);
  const server = Object.hasOwn(config.mcpServers, name) ? config.mcpServers[name] : undefined;
  return server !== undefined && !server.disabled && isForTenant(server.tenants, tenant);
}
