/** The edge's pages other than its endpoints: the pages of the authorization server, and those on which users sign in for servers. */
import type { AuthorizationServer } from '@omnibus/authorization';
import { askBackends, type Bus } from '@omnibus/bus';
import type { Callers, Site } from '@omnibus/edge';
import { principalOf } from '@omnibus/identity';
import { anonymous, type EndpointName } from '@omnibus/protocol';
import { mayBeConnected, type Config, type Configs } from '@omnibus/config';
import type { Logger } from '@omnibus/telemetry';
import { GoneUsers } from './gone-users.ts';
import { CatalogueSite, type CatalogueOptions } from './catalogue/site.ts';
import type { ScimSiteOptions } from './scim/site.ts';
import { ConnectSite, type ConnectSiteOptions } from './site.ts';

interface SitesOptions {
  readonly authorization: AuthorizationServer | undefined;
  readonly bus: Bus;
  readonly log: Logger;
  /** Base URL at which browsers reach the gateway. */
  readonly base: () => string;
  /** Whether only the one user of this machine can reach the gateway. */
  readonly isForOne: boolean;
  /** Admits callers as at the endpoints; undefined where callers are not authenticated. */
  readonly callers: Pick<Callers, 'admit'> | undefined;
  /** Left out where no clients connect. */
  readonly catalogue?: CatalogueSite;
  /** Left out where no directory is configured. */
  readonly scim?: Site | undefined;
}

interface ScimOptions
  extends
    Omit<ScimSiteOptions, 'directories' | 'publicUrl' | 'takeBack' | 'forget'>,
    Pick<SitesOptions, 'bus'>,
    Configs {
  readonly authorization: Pick<AuthorizationServer, 'issuer' | 'takeBack'> | undefined;
}

/** @returns undefined where no directory is configured. */
export async function openScim({
  authorization,
  bus,
  config,
  started,
  ...options
}: ScimOptions): Promise<Site | undefined> {
  const { auth, publicUrl } = started;
  if (auth === undefined || auth === 'none' || auth.scim.length === 0 || publicUrl === undefined) return undefined;
  const { ScimSite } = await import('./scim/site.ts');
  /** The authorization server, for an issuer whose users sign in through the gateway; there they are `ISSUER|SUBJECT`. */
  const serverFor = (issuer: string): ScimOptions['authorization'] =>
    auth.server?.signIn?.issuer === issuer ? authorization : undefined;
  return new ScimSite({
    ...options,
    publicUrl,
    directories: auth.scim,
    takeBack: async (issuer, subject) => serverFor(issuer)?.takeBack(subject),
    async forget(user) {
      const own = serverFor(user.issuer);
      const here =
        own === undefined ? [] : [{ ...user, issuer: own.issuer, subject: `${user.issuer}|${user.subject}` }];
      await endConnections(bus, { config, started }, [user, ...here]);
    },
  });
}

export function openCatalogue(options: CatalogueOptions): CatalogueSite {
  return new CatalogueSite(options);
}

export function openSites({ authorization, bus, log, base, isForOne, callers, catalogue, scim }: SitesOptions): Site {
  const connect = new ConnectSite({
    bus,
    log,
    base,
    proofOf: isForOne
      ? ({ principal }) => Promise.resolve(principal === anonymous ? 'proven' : 'other')
      : proofBy(authorization),
    async callerOf(request) {
      if (callers === undefined) return isForOne ? anonymous : undefined;
      const verdict = await callers.admit(request, request.url ?? '/', '' as EndpointName, true);
      return 'fault' in verdict ? verdict.fault : verdict.caller.principal;
    },
    clientDocument: () => ({
      client_id: `${base()}/connect/client.json`,
      client_name: 'Omnibus',
      client_uri: base(),
      redirect_uris: [`${base()}/connect/callback`],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'web',
    }),
  });
  return {
    handles: (path) =>
      connect.handles(path) ||
      catalogue?.handles(path) === true ||
      scim?.handles(path) === true ||
      authorization?.handles(path) === true,
    handle: (request, response, address) => {
      if (catalogue?.handles(request.url ?? '/') === true) catalogue.handle(request, response, address);
      else if (connect.handles(request.url ?? '/')) connect.handle(request, response, address);
      else if (scim?.handles(request.url ?? '/') === true) scim.handle(request, response, address);
      else authorization?.handle(request, response, address);
    },
  };
}

/** @param users one person, by the issuers whose tokens name it. @throws {Error} in words, when no backend worker has done it. */
export async function endConnections(
  bus: Bus,
  configs: Configs,
  users: readonly Parameters<ScimSiteOptions['forget']>[0][],
): Promise<void> {
  if (!mayBeConnected(bus.isDurable, configs)) return;
  for (const user of users) {
    const principal = principalOf(user, user.tenant);
    const said = await askBackends(bus, { kind: 'forget-directed', ...user, principal });
    if (said.kind === 'failed') throw new Error(said.problem);
  }
}

/** @returns undefined where users are not those of a file. */
export function openGoneUsers({
  authorization,
  bus,
  log,
  config,
}: Pick<SitesOptions, 'authorization' | 'bus' | 'log'> & { readonly config: () => Config }): GoneUsers | undefined {
  const started = config();
  const { auth } = started;
  if (authorization === undefined || auth === undefined || auth === 'none' || auth.server?.users === undefined)
    return undefined;
  return new GoneUsers({
    bus,
    log,
    issuer: authorization.issuer,
    find: (subject) => authorization.userOfFile(subject),
    isWhole: !bus.isShared && auth.server.signIn === undefined,
    isUsed: () => mayBeConnected(bus.isDurable, { config, started }),
  });
}

/** Users of the gateway's own authorization server can authenticate in the browser; callers with another issuer or an API key cannot. */
function proofBy(authorization: AuthorizationServer | undefined): ConnectSiteOptions['proofOf'] {
  return async ({ principal, who, ticket }, request, response) => {
    if (principal === anonymous) return 'other';
    const isOfOurs =
      authorization !== undefined &&
      who?.issuer === authorization.issuer &&
      principalOf(who, who.tenant, [], authorization.userOfFile(who.subject)?.id) === principal;
    if (!isOfOurs) return 'unproven';
    const user = await authorization.userOf(request, response);
    if (user === undefined) return { signInAt: authorization.signInAddress(ticket) };
    const proven = principalOf({ issuer: authorization.issuer, subject: user.subject }, user.tenant, [], user.record);
    return proven === principal ? 'proven' : 'other';
  };
}
