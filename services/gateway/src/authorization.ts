/** Opens the gateway's own authorization server as configured in `auth.server`. `@omnibus/authorization` is loaded only where one is configured. */
import { basePathOf, pathBelow } from '@omnibus/protocol';
import { resolve } from 'node:path';
import type { ActingRule, AuthorizationServer, FurtherScope } from '@omnibus/authorization';
import type { Audit } from '@omnibus/audit';
import type { Blocks, Bus, Directory } from '@omnibus/bus';
import { enabledServers, hasEndpoint, hasTenants, serversFor, type Config } from '@omnibus/config';
import { compileSelector, matchesWho } from '@omnibus/policy';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { DirectoryGroups, type Facts, type SealingKeys } from '@omnibus/identity';

interface AuthorizationOptions {
  /** The configuration in force, which a reload changes. */
  readonly config: () => Config;
  readonly baseFolder: string;
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly sealingKeys: SealingKeys | undefined;
  readonly audit: Audit | undefined;
  readonly blocks: Blocks | undefined;
  /** Undefined where no directory is configured. */
  readonly directory: Directory | undefined;
}

/** The scope of access tokens where the configuration names none. */
const useScope = 'mcp';
/** Paths of endpoints; without a name, that of all servers. */
const fronts = /^\/(?:mcp|sse|ws)(?:\/([^/]+))?\/?$/;

/**
 * @returns undefined where none is configured.
 * @throws {Error} in words for the operator.
 */
export async function openAuthorization({
  config,
  baseFolder,
  bus,
  log,
  metrics,
  sealingKeys,
  audit,
  blocks,
  directory,
}: AuthorizationOptions): Promise<AuthorizationServer | undefined> {
  const { auth, publicUrl } = config();
  if (auth === undefined || auth === 'none' || auth.server === undefined || publicUrl === undefined) return undefined;
  const { server, scopes } = auth;
  const library = await import('@omnibus/authorization');
  return library.AuthorizationServer.open({
    publicUrl,
    bus,
    log,
    metrics,
    sealingKeys,
    audit,
    scopes: scopes.length === 0 ? [useScope] : scopes,
    moreScopes: furtherScopes(config()),
    accessTokenMs: server.accessTokenLife,
    signInMs: server.signInLife,
    refreshGraceMs: server.refreshGrace,
    registration: server.registration,
    registrationToken: server.registrationToken,
    clients: server.clients,
    clientDocuments: server.clientDocuments,
    documentHosts: server.documentHosts,
    usersFile: server.users === undefined ? undefined : resolve(baseFolder, server.users.file),
    needsNonce: auth.dpop.nonce,
    workloads: server.workloads,
    isBlocked: (agent) => blocks?.has('user', `agent:${agent}`) === true,
    agentsFile: server.agents === undefined ? undefined : resolve(baseFolder, server.agents.file),
    acting: {
      rules: actingRules(config(), directory),
      issuers: auth.issuers,
      audience: auth.audience,
      refusal: (user) => blocks?.callerProblem(user)?.message,
    },
    signIn:
      server.signIn === undefined
        ? undefined
        : {
            ...server.signIn,
            isAnyCase: auth.scim.some(
              ({ issuer, subject }) => issuer === server.signIn?.issuer && subject === 'userName',
            ),
            keepsIdTokens: () =>
              [...enabledServers(config()).values()].some(({ credentials }) => credentials?.kind === 'enterprise'),
          },
    serversAt: (resource, tenant) => serversAt(resource, publicUrl, config(), tenant),
  });
}

/** Which agents may act for which users: those with the groups that their token names, and that their directory gives them now. */
function actingRules({ auth, publicUrl }: Config, directory: Directory | undefined): readonly ActingRule[] {
  if (auth === undefined || auth === 'none') return [];
  const ofDirectories = directory === undefined ? undefined : new DirectoryGroups(auth.scim, publicUrl, directory);
  const whole = (user: Facts): Facts => {
    const more = ofDirectories?.of(user) ?? [];
    return more.length === 0 ? user : { ...user, groups: [...new Set([...user.groups, ...more])] };
  };
  return (auth.server?.actors ?? []).map(({ agent, for: who, chained }) => {
    const matches = matchesWho(who, false);
    return { agent, isFor: (user) => matches(whole(user)), chained };
  });
}

/** Scopes that not every token has: for administering the gateway, and those of `auth.stepUp`. One that is about what other tenants have only is not announced. */
function furtherScopes(config: Config): readonly FurtherScope[] {
  const { auth } = config;
  if (auth === undefined || auth === 'none') return [];
  const everybodys = serversFor(config, undefined);
  const isForEverybody = ({ for: what, endpoints }: (typeof auth.stepUp)[number]): boolean =>
    !hasTenants(config) ||
    endpoints.some((name) => hasEndpoint(config, name, undefined)) ||
    what.some((text) => everybodys.some((server) => compileSelector(text).mayCover(server)));
  const known = new Map(
    auth.stepUp
      .filter(({ scope }) => !auth.scopes.includes(scope))
      .map((each) => [
        each.scope,
        { name: each.scope, isAnnounced: isForEverybody(each), administers: false, description: each.description },
      ]),
  );
  const { admin } = auth;
  return [
    ...known.values(),
    ...(admin === undefined || admin.scope === false
      ? []
      : [{ name: admin.scope, isAnnounced: false, administers: true }]),
  ];
}

/** The servers that users of a tenant have at an address of the gateway. @returns undefined where `resource` is not an address of the gateway. */
function serversAt(
  resource: string,
  publicUrl: string,
  config: Config,
  tenant: string | undefined,
): readonly string[] | undefined {
  if (!URL.canParse(resource)) return undefined;
  const { origin, pathname, search, hash } = new URL(resource);
  const below = pathBelow(pathname, basePathOf(publicUrl));
  if (origin !== new URL(publicUrl).origin || search !== '' || hash !== '' || below === undefined) return undefined;
  const all = serversFor(config, tenant);
  const match = fronts.exec(below);
  if (match === null) return below === '/' ? all : undefined;
  const name = match[1];
  if (name === undefined) return all;
  if (!hasEndpoint(config, name, tenant)) {
    // An edge does not know which servers are found in Kubernetes, and callers must not learn whether another tenant has a server of this name: the name in the address is accepted.
    return config.discovery.kubernetes.enabled || hasTenants(config) ? [name] : undefined;
  }
  const profile = Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
  return profile === undefined ? [name] : (profile.servers?.filter((server) => all.includes(server)) ?? all);
}
