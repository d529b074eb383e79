/** Stand-ins for common identity providers with their peculiarities: several at one address, each under its own path. Every visitor is signed in. */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { StandInServer } from './stand-in-server.ts';

type Claims = Readonly<Record<string, unknown>>;

export interface StandInProvider {
  /** The path of its issuer, and of all its addresses. */
  readonly path: string;
  readonly clientId: string;
  readonly secret: string;
  /** Makes the claims of each ID token; undefined for a provider without OpenID Connect. */
  readonly idToken?: () => Claims;
  /** The reason why it refuses a user with such parameters. */
  readonly refuses?: (query: URLSearchParams) => string | undefined;
  /** Whether it gives a refresh token. */
  readonly refreshes?: (query: URLSearchParams) => boolean;
  /** The answer of its API, by path; undefined where it refuses the token. */
  readonly api?: (path: string) => { readonly body: unknown; readonly link?: string } | undefined;
}

interface Code {
  readonly provider: StandInProvider;
  readonly query: URLSearchParams;
}

export class StandIns extends StandInServer {
  readonly #codes = new Map<string, Code>();
  readonly #tokens = new Map<string, Code>();
  readonly #keys: Awaited<ReturnType<typeof generateKeyPair>>;
  providers: readonly StandInProvider[] = [];

  static async start(): Promise<StandIns> {
    return new StandIns(await generateKeyPair('RS256')).listen();
  }

  private constructor(keys: Awaited<ReturnType<typeof generateKeyPair>>) {
    super();
    this.#keys = keys;
  }

  /** Under another host name than the gateway, since cookies are shared between ports of one host. */
  get url(): string {
    return `http://localhost:${this.port}`;
  }

  /** Signs claims; `iss` is the path of a provider. The tokens do not follow RFC 9068. */
  sign(path: string, claims: Claims, header: Claims = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({ iss: `${this.url}${path}`, iat: now, exp: now + 3_600, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'JWT', ...header })
      .sign(this.#keys.privateKey);
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    };
    const provider = this.providers.find(({ path }) => url.pathname.startsWith(`${path}/`));
    if (provider === undefined) return json(404, {});
    const base = `${this.url}${provider.path}`;
    switch (url.pathname.slice(provider.path.length)) {
      // Only providers with OpenID Connect have metadata.
      case '/.well-known/openid-configuration':
        return provider.idToken === undefined
          ? json(404, {})
          : json(200, {
              issuer: base,
              authorization_endpoint: `${base}/authorize`,
              token_endpoint: `${base}/token`,
              jwks_uri: `${base}/keys`,
              response_types_supported: ['code'],
              subject_types_supported: ['public'],
              id_token_signing_alg_values_supported: ['RS256'],
            });
      case '/keys':
        return json(200, { keys: [{ ...(await exportJWK(this.#keys.publicKey)), kid: 'one', use: 'sig' }] });
      case '/authorize':
        return this.#authorize(provider, url.searchParams, response);
      case '/token':
        return this.#token(provider, new URLSearchParams(await text(request)), json);
      default:
        return this.#api(provider, request, url, json);
    }
  }

  #authorize(provider: StandInProvider, query: URLSearchParams, response: ServerResponse): void {
    const problem = query.get('client_id') === provider.clientId ? provider.refuses?.(query) : 'unauthorized_client';
    const to = new URL(query.get('redirect_uri') ?? '');
    to.searchParams.set('state', query.get('state') ?? '');
    if (problem === undefined) {
      const code = randomBytes(9).toString('hex');
      this.#codes.set(code, { provider, query });
      to.searchParams.set('code', code);
    } else {
      to.searchParams.set('error', problem);
    }
    response.writeHead(302, { location: to.href }).end();
  }

  async #token(
    provider: StandInProvider,
    form: URLSearchParams,
    json: (status: number, body: unknown) => void,
  ): Promise<void> {
    if (form.get('client_id') !== provider.clientId || form.get('client_secret') !== provider.secret)
      return json(401, { error: 'invalid_client' });
    const isRefresh = form.get('grant_type') === 'refresh_token';
    const [table, key] = isRefresh
      ? [this.#tokens, form.get('refresh_token') ?? '']
      : [this.#codes, form.get('code') ?? ''];
    const found = table.get(key);
    if (!isRefresh) table.delete(key);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (found?.provider !== provider || (!isRefresh && found.query.get('code_challenge') !== challenge))
      return json(400, { error: 'invalid_grant' });
    const [access, refresh] = [`opaque-${randomBytes(9).toString('hex')}`, randomBytes(9).toString('hex')];
    this.#tokens.set(access, found);
    const gives = provider.refreshes?.(found.query) === true;
    if (gives && !isRefresh) this.#tokens.set(refresh, found);
    const nonce = isRefresh ? undefined : (found.query.get('nonce') ?? undefined);
    return json(200, {
      access_token: access,
      token_type: 'bearer',
      ...(provider.idToken === undefined
        ? {}
        : {
            expires_in: 3_600,
            id_token: await this.sign(provider.path, {
              aud: provider.clientId,
              ...(nonce === undefined ? {} : { nonce }),
              ...provider.idToken(),
            }),
          }),
      ...(gives && !isRefresh ? { refresh_token: refresh } : {}),
    });
  }

  #api(
    provider: StandInProvider,
    request: IncomingMessage,
    url: URL,
    json: (status: number, body: unknown, headers?: Readonly<Record<string, string>>) => void,
  ): void {
    const { authorization = '', 'user-agent': agent } = request.headers;
    // GitHub's API demands a `User-Agent`.
    if (agent === undefined) return json(403, { message: 'who are you?' });
    const answer =
      this.#tokens.get(authorization.replace(/^Bearer /, ''))?.provider === provider
        ? provider.api?.(url.pathname.slice(provider.path.length))
        : undefined;
    return answer === undefined
      ? json(401, { message: 'Bad credentials' })
      : json(200, answer.body, answer.link === undefined ? {} : { link: answer.link });
  }
}
