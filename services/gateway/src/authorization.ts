/** The authorization server of the gateway's own, as the configuration says. Its libraries are loaded only where there is one. */
import { resolve } from 'node:path';
import type { AuthorizationServer } from '@omnibus/authorization';
import type { Audit } from '@omnibus/audit';
import type { Bus } from '@omnibus/bus';
import { hasEndpoint, hasTenants, serversFor, type Config } from '@omnibus/config';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { SealingKeys } from './sealing-key.ts';

interface AuthorizationOptions {
  /** The configuration as it is now. */
  readonly config: () => Config;
  readonly baseFolder: string;
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly sealingKeys: SealingKeys | undefined;
  readonly audit: Audit | undefined;
}

/** What each token can be for, where the configuration names no scopes: the use of the gateway. */
const useScope = 'mcp';
/** Addresses of endpoints, and what may be left out of them. */
const fronts = /^\/(?:mcp|sse|ws)(?:\/([^/]+))?\/?$/;

/**
 * @returns undefined where there is none.
 * @throws {Error} in words for the operator.
 */
export async function openAuthorization({ config, baseFolder, bus, log, metrics, sealingKeys, audit }: AuthorizationOptions): Promise<AuthorizationServer | undefined> {
  const { auth, publicUrl } = config();
  if (auth === undefined || auth === 'none' || auth.server === undefined || publicUrl === undefined) return undefined;
  const { server, scopes } = auth;
  const library = await import('@omnibus/authorization');
  return library.AuthorizationServer.open({
    publicUrl, bus, log, metrics, sealingKeys, audit,
    scopes: scopes.length === 0 ? [useScope] : scopes,
    moreScopes: auth.admin === undefined || auth.admin.scope === false ? [] : [auth.admin.scope],
    accessTokenMs: server.accessTokenLife, signInMs: server.signInLife, refreshGraceMs: server.refreshGrace,
    registration: server.registration, registrationToken: server.registrationToken, clients: server.clients,
    clientDocuments: server.clientDocuments, documentHosts: server.documentHosts,
    usersFile: server.users === undefined ? undefined : resolve(baseFolder, server.users.file),
    signIn: server.signIn,
    serversAt: (resource, tenant) => serversAt(resource, publicUrl, config(), tenant),
  });
}

/** The servers behind an address of the gateway, as there are for users of a tenant; undefined for one that is no address of it. */
function serversAt(resource: string, publicUrl: string, config: Config, tenant: string | undefined): readonly string[] | undefined {
  if (!URL.canParse(resource)) return undefined;
  const { origin, pathname, search, hash } = new URL(resource);
  if (origin !== new URL(publicUrl).origin || search !== '' || hash !== '') return undefined;
  const all = serversFor(config, tenant);
  const match = fronts.exec(pathname);
  if (match === null) return pathname === '/' ? all : undefined;
  const name = match[1];
  if (name === undefined) return all;
  if (!hasEndpoint(config, name, tenant)) {
    // Of servers that are found elsewhere an edge knows nothing but their names, from addresses; and whether a name is another tenant's is told nobody.
    return config.discovery.kubernetes.enabled || hasTenants(config) ? [name] : undefined;
  }
  const profile = Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
  return profile === undefined ? [name] : (profile.servers?.filter((server) => all.includes(server)) ?? all);
}
