/** An authorization server of somebody else, which has its own users and asks nobody: whoever comes is signed in, and what a client wants is allowed. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type Configuration } from 'oidc-provider';

interface ForeignOptions {
  /** Who is signed in. */
  readonly user: string;
  /** Redirect addresses of the client `omnibus`, which has the secret `omnibus-secret`. */
  readonly redirectUris: readonly string[];
  /** Addresses that its tokens may be for. */
  readonly resources: readonly string[];
}

const secret = 'omnibus-secret-of-the-test';

export class ForeignProvider {
  readonly #server: Server;
  #provider: Provider | undefined;
  readonly clientSecret = secret;
  /** Its user is gone: it refreshes nothing. */
  isSignedOut = false;
  /** It has OpenID metadata alone, as Entra and Google. */
  hasOpenIdAlone = false;

  /** Answers nothing before `serve`. */
  static async start(): Promise<ForeignProvider> {
    const foreign = new ForeignProvider();
    foreign.#server.listen(0, '127.0.0.1');
    await once(foreign.#server, 'listening');
    return foreign;
  }

  serve(options: ForeignOptions): void {
    this.#provider = this.#make(options);
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      const provider = this.#provider as Provider;
      const uid = /^\/interaction\/([\w-]+)$/.exec(request.url ?? '')?.[1];
      if (this.hasOpenIdAlone && request.url?.startsWith('/.well-known/oauth-authorization-server') === true) response.writeHead(404).end();
      else if (uid === undefined) void provider.callback()(request, response);
      else void this.#decide(provider, request, response);
    });
  }

  /** By another name of this machine than the gateway's: cookies do not tell ports apart. */
  get issuer(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  #user = '';

  #make({ user, redirectUris, resources }: ForeignOptions): Provider {
    this.#user = user;
    const configuration = {
      clients: [{ client_id: 'omnibus', client_secret: secret, redirect_uris: [...redirectUris], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }],
      features: {
        devInteractions: { enabled: false }, registration: { enabled: true, initialAccessToken: false, issueRegistrationAccessToken: false }, rpInitiatedLogout: { enabled: false },
        resourceIndicators: {
          enabled: true, useGrantedResource: () => true,
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
      findAccount: (_ctx, sub) => (this.isSignedOut ? undefined : { accountId: sub, claims: () => Promise.resolve({ sub, name: 'Una from elsewhere', groups: ['strangers'] }) }),
      issueRefreshToken: () => true,
      expiresWithSession: () => false,
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      cookies: { keys: ['not a secret'] },
      ttl: { AccessToken: 3_600, AuthorizationCode: 60, Grant: 3_600, IdToken: 3_600, Interaction: 600, RefreshToken: 3_600, Session: 3_600 },
      renderError: (ctx, out) => {
        ctx.body = JSON.stringify(out);
      },
    } satisfies Configuration;
    const provider = new Provider(this.issuer, configuration);
    return provider;
  }

  async #decide(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt: { name, details }, params, session, grantId } = await provider.interactionDetails(request, response);
    if (name === 'login') return provider.interactionFinished(request, response, { login: { accountId: this.#user } });
    const grant = (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ?? new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params['client_id']) });
    interface Missing { readonly missingOIDCScope?: string[]; readonly missingOIDCClaims?: string[]; readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>> }
    const { missingOIDCScope: oidc, missingOIDCClaims: claims, missingResourceScopes: resources = {} } = details as Missing;
    if (oidc !== undefined) grant.addOIDCScope(oidc.join(' '));
    if (claims !== undefined) grant.addOIDCClaims(claims);
    for (const [resource, scopes] of Object.entries(resources)) grant.addResourceScope(resource, scopes.join(' '));
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
