/** A third-party authorization server with its own users and without questions: every visitor is signed in, and every request of a client is allowed. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Provider, type Configuration } from 'oidc-provider';
import { StandInServer } from './stand-in-server.ts';

interface ForeignOptions {
  /** The user that is signed in. */
  readonly user: string;
  /** Redirect addresses of the client `omnibus`, which has the secret `omnibus-secret`. */
  readonly redirectUris: readonly string[];
  /** Resources for which it issues tokens. */
  readonly resources: readonly string[];
  /** Addresses of web pages, which are the public client `page` and may ask from their origins; registration is off for pages. Default: none. */
  readonly pages?: readonly string[];
}

const secret = 'omnibus-secret-of-the-test';

/** Seconds. */
const ttl = {
  AccessToken: 3_600,
  AuthorizationCode: 60,
  Grant: 3_600,
  IdToken: 3_600,
  Interaction: 600,
  RefreshToken: 3_600,
  Session: 3_600,
};

function clientsOf(redirectUris: readonly string[], pages: readonly string[]): NonNullable<Configuration['clients']> {
  const common = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code' as const] };
  return [
    { ...common, client_id: 'omnibus', client_secret: secret, redirect_uris: [...redirectUris] },
    ...(pages.length === 0
      ? []
      : [{ ...common, client_id: 'page', token_endpoint_auth_method: 'none' as const, redirect_uris: [...pages] }]),
  ];
}

export class ForeignProvider extends StandInServer {
  #provider: Provider | undefined;
  readonly clientSecret = secret;
  /** Set when its user has signed out: it refreshes no tokens then. */
  isSignedOut = false;
  /** Whether it has only OpenID metadata, as Entra and Google have. */
  hasOpenIdAlone = false;

  /** Requests are answered only after `serve`. */
  static start(): Promise<ForeignProvider> {
    return new ForeignProvider().listen();
  }

  serve(options: ForeignOptions): void {
    this.#provider = this.#make(options);
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
    const provider = this.#provider as Provider;
    const uid = /^\/interaction\/([\w-]+)$/.exec(request.url ?? '')?.[1];
    if (this.hasOpenIdAlone && request.url?.startsWith('/.well-known/oauth-authorization-server') === true)
      response.writeHead(404).end();
    else if (uid === undefined) void provider.callback()(request, response);
    else void this.#decide(provider, request, response);
  }

  /** Under another host name than the gateway, since cookies are shared between ports of one host. */
  get issuer(): string {
    return `http://localhost:${this.port}`;
  }

  #user = '';

  #make({ user, redirectUris, resources, pages = [] }: ForeignOptions): Provider {
    this.#user = user;
    const configuration = {
      clients: clientsOf(redirectUris, pages),
      clientBasedCORS: (_ctx, origin, { clientId }) =>
        clientId === 'page' && pages.some((page) => new URL(page).origin === origin),
      features: {
        devInteractions: { enabled: false },
        registration: { enabled: true, initialAccessToken: false, issueRegistrationAccessToken: false },
        rpInitiatedLogout: { enabled: false },
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: (_ctx, resource) => {
            if (!resources.includes(resource)) throw new Error(`unknown resource ${resource}`);
            return { scope: 'mcp', audience: resource, accessTokenFormat: 'jwt' as const };
          },
        },
      },
      scopes: ['openid', 'profile', 'offline_access', 'mcp'],
      claims: { openid: ['sub', 'groups'], profile: ['name'] },
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      findAccount: (_ctx, sub) =>
        this.isSignedOut
          ? undefined
          : {
              accountId: sub,
              claims: () => Promise.resolve({ sub, name: 'Una from elsewhere', groups: ['strangers'] }),
            },
      issueRefreshToken: () => true,
      expiresWithSession: () => false,
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      cookies: { keys: ['not a secret'] },
      ttl,
      renderError: (ctx, out) => {
        ctx.body = JSON.stringify(out);
      },
    } satisfies Configuration;
    const provider = new Provider(this.issuer, configuration);
    return provider;
  }

  async #decide(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const {
      prompt: { name, details },
      params,
      session,
      grantId,
    } = await provider.interactionDetails(request, response);
    if (name === 'login') return provider.interactionFinished(request, response, { login: { accountId: this.#user } });
    const grant =
      (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
      new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params['client_id']) });
    interface Missing {
      readonly missingOIDCScope?: string[];
      readonly missingOIDCClaims?: string[];
      readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>;
    }
    const {
      missingOIDCScope: oidc,
      missingOIDCClaims: claims,
      missingResourceScopes: resources = {},
    } = details as Missing;
    if (oidc !== undefined) grant.addOIDCScope(oidc.join(' '));
    if (claims !== undefined) grant.addOIDCClaims(claims);
    for (const [resource, scopes] of Object.entries(resources)) grant.addResourceScope(resource, scopes.join(' '));
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  }
}
