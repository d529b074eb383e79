/** All that the edge serves beside its endpoints: the pages of the authorization server, and those on which users sign in for servers. */
import { TLSSocket } from 'node:tls';
import type { AuthorizationServer } from '@omnibus/authorization';
import type { Bus } from '@omnibus/bus';
import type { Site } from '@omnibus/edge';
import { principalOf, type Authenticator } from '@omnibus/identity';
import { anonymous, type EndpointName } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { ConnectSite, type ConnectSiteOptions } from './site.ts';

interface SitesOptions {
  readonly authorization: AuthorizationServer | undefined;
  readonly bus: Bus;
  readonly log: Logger;
  /** Where browsers find the gateway. */
  readonly base: () => string;
  /** Everybody who can reach the gateway is the one user of this machine. */
  readonly isForOne: boolean;
  /** Undefined where callers need not be known. */
  readonly authenticator: Authenticator | undefined;
}

export function openSites({ authorization, bus, log, base, isForOne, authenticator }: SitesOptions): Site {
  const connect = new ConnectSite({
    bus, log, base,
    proofOf: isForOne ? ({ principal }) => Promise.resolve(principal === anonymous ? 'proven' : 'other') : proofBy(authorization),
    async callerOf(request, address) {
      if (authenticator === undefined) return isForOne ? anonymous : undefined;
      const { socket, url = '/' } = request;
      const verdict = await authenticator.authenticate(request, { url, endpoint: '' as EndpointName, peer: socket.remoteAddress, secure: socket instanceof TLSSocket ? socket : undefined, address: () => address });
      return 'fault' in verdict ? undefined : verdict.principal;
    },
    clientDocument: () => ({
      client_id: `${base()}/connect/client.json`, client_name: 'Omnibus', client_uri: base(), redirect_uris: [`${base()}/connect/callback`],
      grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none', application_type: 'web',
    }),
  });
  return {
    handles: (path) => connect.handles(path) || authorization?.handles(path) === true,
    handle: (request, response, address) => {
      if (connect.handles(request.url ?? '/')) connect.handle(request, response, address);
      else authorization?.handle(request, response, address);
    },
  };
}

/** Users of our own authorization server show who they are in the browser; those who are known by something else have nothing to show there. */
function proofBy(authorization: AuthorizationServer | undefined): ConnectSiteOptions['proofOf'] {
  return async ({ principal, who, ticket }, request, response) => {
    if (principal === anonymous) return 'other';
    const isOfOurs = authorization !== undefined && who?.issuer === authorization.issuer && principalOf(who, who.tenant) === principal;
    if (!isOfOurs) return 'unproven';
    const user = await authorization.userOf(request, response);
    if (user === undefined) return { signInAt: authorization.signInAddress(ticket) };
    return principalOf({ issuer: authorization.issuer, subject: user.subject }, user.tenant) === principal ? 'proven' : 'other';
  };
}
