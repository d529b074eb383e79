/**
 * A guard before a keeper: its users sign in there, and each request needs a token of theirs. Tokens are refreshed after a second, so some are always
 * being refreshed while clients work. It notes the token of each client's secret.
 */
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** The gateway takes a token for expired half a minute before. */
const expiresSeconds = 31;

export class Guard {
  readonly #codes = new Map<string, string>();
  readonly #access = new Map<string, string>();
  readonly #refresh = new Map<string, string>();

  /** Signs a user in, in the place of a browser. */
  static signsInAs(user: string): (to: string) => string {
    return (to) => (new URL(to).pathname === '/authorize' ? `${to}&login=${user}` : to);
  }

  /** Serves what belongs to the sign-in, and refuses requests without a token. @returns the user of a request that may pass. */
  async admit(request: IncomingMessage, response: ServerResponse): Promise<string | undefined> {
    const origin = `http://${request.headers.host ?? ''}`;
    const url = new URL(request.url ?? '/', origin);
    const json = (status: number, value: object): undefined =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    switch (url.pathname) {
      case '/meta':
        return json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
      case '/.well-known/oauth-authorization-server':
        return json(200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          code_challenge_methods_supported: ['S256'],
        });
      case '/register':
        return json(201, {
          ...(JSON.parse(await text(request)) as object),
          client_id: 'registered',
          token_endpoint_auth_method: 'none',
        });
      case '/authorize': {
        const [to, code] = [new URL(url.searchParams.get('redirect_uri') ?? ''), secret()];
        this.#codes.set(code, url.searchParams.get('login') ?? '');
        to.searchParams.set('code', code);
        to.searchParams.set('state', url.searchParams.get('state') ?? '');
        return void response.writeHead(302, { location: to.href }).end();
      }
      case '/token':
        return this.#give(new URLSearchParams(await text(request)), json);
      default:
    }
    const user = this.#access.get(/^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '');
    if (user !== undefined) return user;
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${origin}/meta"` }).end();
    return undefined;
  }

  #give(form: URLSearchParams, json: (status: number, value: object) => undefined): undefined {
    const user =
      form.get('grant_type') === 'refresh_token'
        ? this.#refresh.get(form.get('refresh_token') ?? '')
        : this.#codes.get(form.get('code') ?? '');
    if (user === undefined) return json(400, { error: 'invalid_grant' });
    const [access, refresh] = [secret(), form.get('refresh_token') ?? secret()];
    this.#access.set(access, user);
    this.#refresh.set(refresh, user);
    return json(200, {
      access_token: access,
      refresh_token: refresh,
      token_type: 'Bearer',
      expires_in: expiresSeconds,
    });
  }
}

function secret(): string {
  return randomBytes(16).toString('hex');
}
