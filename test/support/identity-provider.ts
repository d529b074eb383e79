/**
 * An enterprise's identity provider: its user signs in without questions, and it makes assertions about its users for the issuers of servers (ID-JAG), as the
 * extension `enterprise-managed-authorization` of MCP has it.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { decodeJwt, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { StandInServer } from './stand-in-server.ts';

const tokenType = 'urn:ietf:params:oauth:token-type:';

export class IdentityProvider extends StandInServer {
  readonly #keys = generateKeyPair('ES256', { extractable: true });
  readonly #nonces = new Map<string, string>();
  /** The next user to sign in. */
  user = 'una';
  /** An error code that it answers to requests for assertions. */
  refuses: string | undefined;
  /** The requests for assertions so far. */
  readonly asked: URLSearchParams[] = [];
  /** All tokens and assertions so far. */
  readonly secrets: string[] = [];
  readonly clientSecret = 'secret-at-the-identity-provider';

  static start(): Promise<IdentityProvider> {
    return new IdentityProvider().listen();
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The user of an assertion that it has made for an issuer. @throws {Error} for any other. */
  async userOf(assertion: string, audience: string): Promise<string> {
    const { payload } = await jwtVerify(assertion, (await this.#keys).publicKey, {
      issuer: this.issuer,
      audience,
      typ: 'oauth-id-jag+jwt',
    });
    return String(payload.sub);
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const json = (status: number, value: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const { issuer } = this;
    const url = new URL(request.url ?? '/', issuer);
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return json(200, {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          id_token_signing_alg_values_supported: ['ES256'],
          subject_types_supported: ['public'],
        });
      case '/keys':
        return json(200, {
          keys: [{ ...(await exportJWK((await this.#keys).publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }],
        });
      case '/authorize': {
        const code = `${this.user}-${randomBytes(6).toString('hex')}`;
        this.#nonces.set(code, url.searchParams.get('nonce') ?? '');
        const to = new URL(url.searchParams.get('redirect_uri') ?? '');
        for (const [name, value] of [
          ['code', code],
          ['state', url.searchParams.get('state') ?? ''],
        ] as const)
          to.searchParams.set(name, value);
        return void response.writeHead(302, { location: to.href }).end();
      }
      case '/token': {
        const form = new URLSearchParams(body);
        return form.get('grant_type') === 'authorization_code'
          ? json(200, await this.#signedIn(form.get('code') ?? ''))
          : this.#assert(form, request.headers.authorization ?? '', json);
      }
      default:
        return json(404, {});
    }
  }

  async #signedIn(code: string): Promise<object> {
    const idToken = await this.#token(
      { sub: code.split('-', 1)[0], aud: 'omnibus', nonce: this.#nonces.get(code) },
      'JWT',
    );
    return { access_token: 'at', token_type: 'Bearer', expires_in: 600, id_token: idToken };
  }

  async #assert(
    form: URLSearchParams,
    authorization: string,
    json: (status: number, value: object) => void,
  ): Promise<void> {
    this.asked.push(form);
    if (this.refuses !== undefined)
      return json(400, { error: this.refuses, error_description: `no, ${form.get('subject_token') ?? ''}` });
    const isClient = authorization === `Basic ${Buffer.from(`omnibus:${this.clientSecret}`).toString('base64')}`;
    if (!isClient) return json(401, { error: 'invalid_client' });
    const { sub, aud } = decodeJwt(form.get('subject_token') ?? '');
    if (
      aud !== 'omnibus' ||
      form.get('subject_token_type') !== `${tokenType}id_token` ||
      form.get('requested_token_type') !== `${tokenType}id-jag`
    )
      return json(400, { error: 'invalid_request' });
    const assertion = await this.#token(
      { sub, aud: form.get('audience') ?? '', resource: form.get('resource'), client_id: 'gateway' },
      'oauth-id-jag+jwt',
    );
    return json(200, { access_token: assertion, issued_token_type: `${tokenType}id-jag`, token_type: 'N_A' });
  }

  async #token(claims: object, typ: string): Promise<string> {
    const made = await new SignJWT({ iss: this.issuer, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k', typ })
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign((await this.#keys).privateKey);
    this.secrets.push(made);
    return made;
  }
}
